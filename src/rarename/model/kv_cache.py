"""Keys and values of the nodes that a causal layer has read, so that they are not computed again."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass
class KVCache:
    """Keys and values of one layer; empty before the first node."""

    keys: Tensor | None = None  # (B, H, S, K)
    values: Tensor | None = None  # (B, H, S, K)

    def update(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Append the keys and values of new nodes; return those of all nodes."""
        if self.keys is not None and self.values is not None:
            keys, values = torch.cat([self.keys, keys], dim=2), torch.cat([self.values, values], dim=2)
        self.keys, self.values = keys, values
        return keys, values

    def crop(self, length: int) -> None:
        """Keep only the first nodes."""
        if self.keys is not None and self.values is not None:
            self.keys, self.values = self.keys[:, :, :length], self.values[:, :, :length]
