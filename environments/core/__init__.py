"""Values, algorithms and ports; no Django, network, file, clock or global randomness."""
