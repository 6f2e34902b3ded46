"""Inference: what operations mean together, as planned environments (`environments.core.compile.semantics`)."""

from environments.core.compile.inference.compiling import compile_operations

__all__ = ["compile_operations"]
