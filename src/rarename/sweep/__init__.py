"""Sweeps: all trials of an experiment file, trained, evaluated and kept as result files."""
