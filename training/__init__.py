"""Training runs, checkpoints, evaluations and their reports."""
