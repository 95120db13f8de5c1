"""Code completion: predict type and value of the next node from those before it (paper, section 4.1; Kim et al. 2021).

Reading order: dataset (what is learned from), collate, model, loss, predict, metrics, task.
"""
