"""Clients of things outside the process: models, embeddings, fetching, servers."""
