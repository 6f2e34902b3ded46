"""The REST API of the environments app."""
