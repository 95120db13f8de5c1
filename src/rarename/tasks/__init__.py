"""What is asked of a model, and how its answer is judged. Examples load without torch."""
