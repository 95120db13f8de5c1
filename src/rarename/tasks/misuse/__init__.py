"""Variable misuse: find the place where the wrong variable stands, and point at the right one.

Reading order: examples (functions, and the misuses put into them), batch (to tensors), scoring (loss and scores).
"""
