"""Weights from batches: the training loop, its checkpoints, and training in several processes."""
