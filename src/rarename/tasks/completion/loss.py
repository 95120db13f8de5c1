"""The training loss of code completion (paper, section 4.1; Kim et al. 2021).

What counts, rule by rule:

                                  loss of the value     rank of the value
    no value, padding             -                     does not count
    UNK                           -                     none: scores 0, and counts
    first occurrence of VARn      -                     none: scores 0, and counts
    anything else                 cross entropy         scores 1 / rank up to 10, then 0

With a pointer, a value outside the vocabulary that an earlier node holds can be copied, so it is not UNK. The first
node of a file and nodes that are only context in their window are not targets.
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from rarename.tasks.completion.collate import CompletionBatch
from rarename.tasks.completion.model import CompletionOutput
from rarename.tasks.task import Loss, min_logit

LOGIT_CHUNK = 1 << 24
"""Number of logits that are held at once."""


def completion_loss(output: CompletionOutput, batch: CompletionBatch) -> Loss:
    """Cross entropy of the types plus cross entropy of the values."""
    rows, nodes = batch.is_target.nonzero(as_tuple=True)
    types = F.cross_entropy(output.type_logits(rows, nodes), batch.types[rows, nodes], reduction="sum")
    num_types = len(rows)
    rows, nodes = (batch.is_target & batch.has_value & is_predictable(output, batch)).nonzero(as_tuple=True)
    values = -_value_log_probs(output, rows, nodes, batch).sum()
    return Loss(torch.stack([types, values]), torch.tensor([num_types, len(rows)], device=types.device))


def is_predictable(output: CompletionOutput, batch: CompletionBatch) -> Tensor:
    """Mask of the values that the model can predict at all, (B, L)."""
    mask: Tensor = batch.is_predictable
    return mask if output.copy_log_probs is None else mask | occurred_before(batch)


def occurred_before(batch: CompletionBatch) -> Tensor:
    """Mask of the values that an earlier node of the window holds, (B, L)."""
    mask: Tensor = batch.first_occurrence < torch.arange(batch.types.shape[1], device=batch.types.device)
    return mask


def chunks(num_rows: int, width: int) -> Iterator[slice]:
    """Slices of rows with at most `LOGIT_CHUNK` logits each."""
    step = max(1, LOGIT_CHUNK // width)
    for start in range(0, num_rows, step):
        yield slice(start, start + step)


def _value_log_probs(output: CompletionOutput, rows: Tensor, nodes: Tensor, batch: CompletionBatch) -> Tensor:
    """Log probabilities of predictable values, (N,)."""
    ids, hidden_states = batch.values[rows, nodes], output.hidden_states[rows, nodes - 1]

    def generate(hidden_states: Tensor, ids: Tensor) -> Tensor:
        return -F.cross_entropy(output.model.value_logits(hidden_states), ids, reduction="none")

    slices = list(chunks(len(rows), len(output.model.value_bias)))
    if len(slices) <= 1:
        log_probs = generate(hidden_states, ids)
    else:  # the backward pass computes logits again, so that only one chunk is held at a time
        parts = [checkpoint(generate, hidden_states[each], ids[each], use_reentrant=False) for each in slices]
        log_probs = torch.cat(parts)
    if output.copy_log_probs is None or output.gate_logit is None:
        return log_probs
    masked = min_logit(log_probs)
    is_same = batch.extended_ids[rows] == batch.extended_ids[rows, nodes][:, None]  # (N, L)
    copied = output.copy_log_probs[rows, nodes - 1].masked_fill(~is_same, masked).logsumexp(dim=-1)
    gate = output.gate_logit[rows, nodes - 1]
    generated = (F.logsigmoid(gate) + log_probs).masked_fill(~batch.is_predictable[rows, nodes], masked)
    return torch.logaddexp(generated, F.logsigmoid(-gate) + copied)
