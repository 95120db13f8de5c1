"""Many source files as one corpus on disk, encoded once for every vocabulary size and strategy."""
