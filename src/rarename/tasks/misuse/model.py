"""The model of variable misuse: a Transformer with a head that points at nodes."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rarename.config import ModelConfig
from rarename.model.transformer import Transformer
from rarename.tasks.misuse.collate import NUM_USAGES
from rarename.tasks.misuse.predict import MisuseOutput


class IndependentPointers(nn.Module):
    """The paper's head: one pointer to the bug, one to the correct name."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.pointers = nn.Linear(d_model, 2)
        self.no_bug = nn.Parameter(torch.zeros(1))

    def forward(self, hidden_states: Tensor) -> MisuseOutput:
        location, repair = self.pointers(hidden_states).unbind(dim=-1)  # (B, L) each
        return MisuseOutput(_with_no_bug(location, self.no_bug), repair[:, None], is_conditional=False)


class ConditionalPointers(nn.Module):
    """A pointer to the bug, and from each possible location a pointer to the name that belongs there."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.location = nn.Linear(d_model, 1)
        self.qk_proj = nn.Linear(d_model, 2 * d_model)
        self.no_bug = nn.Parameter(torch.zeros(1))

    def forward(self, hidden_states: Tensor) -> MisuseOutput:
        q, k = self.qk_proj(hidden_states).chunk(2, dim=-1)  # (B, L, D) each
        repair = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (B, L, L)
        return MisuseOutput(_with_no_bug(self.location(hidden_states)[..., 0], self.no_bug), repair, True)


POINTER_HEADS: dict[str, type[nn.Module]] = {"independent": IndependentPointers, "conditional": ConditionalPointers}


class MisuseModel(nn.Module):
    """A Transformer and a pointer head, with optional embeddings of usages and subtokens (not in the paper)."""

    def __init__(
        self,
        config: ModelConfig,
        num_types: int,
        num_values: int,
        pointer_head: str = "independent",
        usage_features: bool = False,
        num_subtokens: int = 0,
        max_length: int = 250,
    ) -> None:
        super().__init__()
        self.transformer = Transformer(config, num_types, num_values, max_length=max_length)
        self.head = POINTER_HEADS[pointer_head](config.d_model)
        self.usages = nn.Embedding(NUM_USAGES, config.d_model) if usage_features else None
        self.subtokens = (
            nn.EmbeddingBag(num_subtokens + 1, config.d_model, mode="sum", padding_idx=0) if num_subtokens else None
        )
        for embedding in (self.usages, self.subtokens):
            if embedding is not None:
                nn.init.normal_(embedding.weight, std=config.d_model**-0.5)
        if self.subtokens is not None:
            nn.init.zeros_(self.subtokens.weight[0].detach())  # padding adds nothing

    def forward(
        self,
        types: Tensor,
        values: Tensor,
        attention_mask: Tensor,
        usages: Tensor | None = None,
        subtokens: Tensor | None = None,
        nodes: Tensor | None = None,
    ) -> MisuseOutput:
        """Predict location and repair as logits, without masks; the arguments are `MisuseBatch.inputs()`.

        With `nodes` (B, N), the logits are those of these nodes only, which takes less time.
        """
        extra = None
        if self.usages is not None:
            extra = self.usages(usages)
        if self.subtokens is not None and subtokens is not None:
            summed = self._sum_subtokens(subtokens)
            extra = summed if extra is None else extra + summed
        output: MisuseOutput = self.head(self.transformer(types, values, attention_mask, extra, nodes=nodes))
        return output

    def _sum_subtokens(self, subtokens: Tensor) -> Tensor:
        """(B, L, S) to (B, L, D)."""
        assert self.subtokens is not None
        if torch.compiler.is_exporting():  # ONNX would get a loop over all nodes; the vector of the padding is zero
            return F.embedding(subtokens, self.subtokens.weight).sum(dim=2)
        summed: Tensor = self.subtokens(subtokens.flatten(0, 1))
        return summed.view(*subtokens.shape[:2], -1)


def _with_no_bug(location: Tensor, no_bug: Tensor) -> Tensor:
    """Put the logit of "no bug" before those of the nodes: (B, 1 + L)."""
    return torch.cat([no_bug.expand(location.shape[0], 1), location], dim=1)  # `len` would fix the size of an export
