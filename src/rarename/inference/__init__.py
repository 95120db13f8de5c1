"""Trained models, ready to predict: folders on disk, and the backends that compute."""
