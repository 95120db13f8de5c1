"""Variable misuse: find the node that holds the wrong variable, and point at the correct one.

Reading order: functions, injection, dataset (what is learned from), collate, model, loss, predict, metrics, task.
"""
