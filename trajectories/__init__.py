"""Tasks, conversations, reviews and datasets."""
