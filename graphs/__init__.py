"""The tool graph: parameters, dependency edges with their proof, domains."""
