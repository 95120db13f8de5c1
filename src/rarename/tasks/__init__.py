"""Tasks: examples, model, loss and metrics. Examples load without torch."""
