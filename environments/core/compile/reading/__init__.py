"""Reading one operation by itself: its path, verb, inputs and answer, as far as they are certain without others."""
