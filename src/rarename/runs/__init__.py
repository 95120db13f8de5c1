"""Runs: one config, trained and evaluated in one folder."""
