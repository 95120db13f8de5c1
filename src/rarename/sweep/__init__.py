"""All trials of an experiment file, trained and evaluated side by side."""
