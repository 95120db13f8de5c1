"""One experiment: its setting, and its run."""
