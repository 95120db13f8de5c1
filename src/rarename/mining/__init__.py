"""Real fixes of misused variables, from the histories of git repositories. Reading order: history, fixes, mine."""
