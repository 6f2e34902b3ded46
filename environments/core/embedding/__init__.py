"""Vectors of texts: the interface, and the back-end that needs nothing but itself."""

from environments.core.embedding.embedder import Embedder, Vectors
from environments.core.embedding.lexical import LexicalEmbedder

__all__ = ["Embedder", "LexicalEmbedder", "Vectors"]
