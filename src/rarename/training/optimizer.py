"""Optimizers: Adam, AdamW, or Muon (Jordan et al. 2024) for the matrices of the layers and AdamW for everything else.

A gradient is large in a few directions, and a step along it learns little in the others. Muon sets all singular values
of a step to about one. Small models then need about half as many examples. Steps have the root mean square of AdamW's
(Liu et al. 2025), so learning rates are comparable.

Unlike `torch.optim.Muon`, the iteration runs in float32, because bfloat16 is slow on most CPUs. Matrices of one shape
are stacked, and most products are of Gram matrices, whose side is the shorter one.
"""

import math
from collections import defaultdict
from typing import Any

import torch
from torch import Tensor, nn

from rarename.config import TrainingConfig

BETAS = {"adamw": (0.9, 0.98), "muon": (0.9, 0.98), "adam": (0.9, 0.999)}
"""Of AdamW, by `training.optimizer`. Without weight decay, AdamW is Adam."""
MOMENTUM = 0.95
NUM_ITERATIONS = 4
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Of x, x³ and x⁵ in a polynomial that moves singular values towards one; steep at zero, so few iterations suffice."""


def build_optimizers(model: nn.Module, config: TrainingConfig) -> list[torch.optim.Optimizer]:
    """Make the optimizers of all parameters; each group has its peak learning rate in `peak_lr`."""
    matrices = [p for name, p in model.named_parameters() if config.optimizer == "muon" and is_layer_matrix(name, p)]
    in_layers = set(matrices)
    others = [parameter for parameter in model.parameters() if parameter not in in_layers]
    groups = [{"params": others, "peak_lr": config.learning_rate}]
    adamw = torch.optim.AdamW(groups, betas=BETAS[config.optimizer], weight_decay=config.weight_decay, fused=True)
    return [adamw, Muon(matrices, config.muon_learning_rate, config.weight_decay)] if matrices else [adamw]


def is_layer_matrix(name: str, parameter: Tensor) -> bool:
    """Whether a parameter is a matrix of attention or feed-forward, not an embedding, offset, norm, bias or head."""
    return ".layers." in f".{name}" and parameter.ndim == 2


class Muon(torch.optim.Optimizer):
    """Nesterov momentum with orthogonalized steps; the state of a parameter is one tensor, `momentum`."""

    def __init__(self, matrices: list[nn.Parameter], learning_rate: float, weight_decay: float) -> None:
        super().__init__([{"params": matrices, "peak_lr": learning_rate}], {"lr": learning_rate})
        self.weight_decay = weight_decay

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        (group,) = self.param_groups
        by_shape: dict[torch.Size, list[Tensor]] = defaultdict(list)
        for parameter in group["params"]:
            if parameter.grad is not None:
                by_shape[parameter.shape].append(parameter)
        for shape, parameters in by_shape.items():
            steps = orthogonalize(torch.stack([self._momentum(parameter) for parameter in parameters]))
            # The entries of an orthogonal matrix have a root mean square of 1/√(longer side), those of AdamW about 0.2.
            scale = 0.2 * math.sqrt(max(shape))
            for parameter, step in zip(parameters, steps, strict=True):
                parameter.mul_(1 - group["lr"] * self.weight_decay).sub_(step, alpha=group["lr"] * scale)

    def _momentum(self, parameter: Tensor) -> Tensor:
        assert parameter.grad is not None
        state = self.state[parameter]
        if not state:
            state["momentum"] = torch.zeros_like(parameter)
        return parameter.grad.lerp(state["momentum"].lerp_(parameter.grad, 1 - MOMENTUM), MOMENTUM)


def orthogonalize(matrices: Tensor, num_iterations: int = NUM_ITERATIONS) -> Tensor:
    """Set the singular values of matrices (N, rows, columns) to about one, by Newton–Schulz iterations.

    An iteration multiplies X by the polynomial a + b G + c G² of its Gram matrix G = X Xᵀ. These matrices commute, so
    the next G follows without X, and X is multiplied once, by the product of all polynomials.
    """
    a, b, c = COEFFICIENTS
    is_tall = matrices.shape[-2] > matrices.shape[-1]
    wide = matrices.mT if is_tall else matrices
    wide = wide / (torch.linalg.matrix_norm(wide, keepdim=True) + 1e-7)
    gram = wide @ wide.mT
    product = torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device).expand_as(gram)
    for _ in range(num_iterations):
        polynomial = torch.baddbmm(gram, gram, gram, beta=b, alpha=c)
        polynomial.diagonal(dim1=-2, dim2=-1).add_(a)
        product = polynomial @ product
        gram = polynomial @ gram @ polynomial
    orthogonal: Tensor = product @ wide
    return orthogonal.mT if is_tall else orthogonal
