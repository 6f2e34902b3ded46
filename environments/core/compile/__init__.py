"""The compiler: authentic API documents into environments, without a model (docs/compiler.md)."""
