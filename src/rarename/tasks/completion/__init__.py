"""Code completion: the type and the value of the next node, from those before it (paper, section 4.1; Kim et al. 2021).

The steps: `examples` (windows of a file), `batch` (tensors, and what counts), `model`, `scoring` (loss, ranks), `task`.
"""
