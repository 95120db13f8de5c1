"""Trained models for prediction: their folders on disk, and the backends that compute."""
