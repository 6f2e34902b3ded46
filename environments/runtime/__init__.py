"""Environments that run: packs, their state, the locked sandbox, sessions, conformance and equality.

Knows nothing of Django or of the rest of the project, so trainers and exported packages carry it as it is.
"""
