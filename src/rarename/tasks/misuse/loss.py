"""The training loss of variable misuse."""

import torch
import torch.nn.functional as F
from torch import Tensor

from rarename.tasks.misuse.collate import MULTIPLE_BUGS, MisuseBatch
from rarename.tasks.misuse.predict import MisuseOutput
from rarename.tasks.task import Loss, min_logit

MULTI_BUG_WEIGHT = 3.0
"""Weight of the per-node loss of multi-bug examples against one repair: a function has several candidates."""


def misuse_loss(output: MisuseOutput, batch: MisuseBatch, pair_weight: float = 0.0) -> Loss:
    """Location loss plus repair loss (paper, section 4.1).

    Location: cross entropy over "no bug" and all candidates. Repair, for buggy examples: negative log of the total
    probability of the nodes that hold the correct variable. Multi-bug examples (not in the paper) have no single
    location; each candidate gets a binary cross entropy on its log-odds against "no bug" instead. Where twins
    are marked, the buggy one should be more suspicious than the clean one before it: softplus of the difference.
    """
    is_multi_bug = batch.location == MULTIPLE_BUGS  # (B,)
    is_location = F.pad(batch.is_candidate, (1, 0), value=True)  # (B, 1 + L), with "no bug"
    location_logits = output.location_logits.masked_fill(~is_location, min_logit(output.location_logits))
    location = F.cross_entropy(location_logits[~is_multi_bug], batch.location[~is_multi_bug], reduction="sum")
    is_classified = batch.is_candidate & is_multi_bug[:, None]  # (B, L)
    log_odds = (location_logits[:, 1:] - location_logits[:, :1])[is_classified]
    labels = batch.is_bug[is_classified].to(log_odds.dtype)
    per_node = F.binary_cross_entropy_with_logits(log_odds, labels, reduction="sum")
    rows, bugs = batch.is_bug.nonzero(as_tuple=True)  # (N,) each
    repair_logits = output.repair_at(rows, bugs)  # (N, L)
    can_repair = output.can_repair(batch, rows, bugs)
    log_probs = repair_logits.masked_fill(~can_repair, min_logit(repair_logits)).log_softmax(dim=-1)
    holds_original = batch.is_variable[rows] & (batch.name_ranks[rows] == batch.original_ranks[rows, bugs][:, None])
    is_repair = torch.where(is_multi_bug[rows, None], holds_original, batch.is_repair[rows])
    repair = -log_probs.masked_fill(~is_repair, min_logit(log_probs)).logsumexp(dim=-1).sum()
    counts = torch.stack([(~is_multi_bug).sum(), is_classified.sum(), batch.is_bug.sum()])
    sums = torch.stack([location, MULTI_BUG_WEIGHT * per_node, repair])
    if batch.has_twin is None:
        return Loss(sums, counts)
    scores, has_twin = suspicion(output, batch), batch.has_twin
    pairs = F.softplus(scores.roll(1) - scores)[has_twin].sum()
    return Loss(torch.cat([sums, pair_weight * pairs[None]]), torch.cat([counts, has_twin.sum()[None]]))


def suspicion(output: MisuseOutput, batch: MisuseBatch) -> Tensor:
    """The log-odds that there is a bug anywhere, (B,)."""
    logits: Tensor = output.location_logits
    at_nodes = logits[:, 1:].masked_fill(~batch.is_candidate, min_logit(logits))
    return at_nodes.logsumexp(dim=1) - logits[:, 0]
