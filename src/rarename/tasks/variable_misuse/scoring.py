"""Model, loss and scores of variable misuse (paper, section 4.1; Hellendoorn et al. 2020)."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rarename.model import ModelConfig, Transformer
from rarename.tasks.task import Loss
from rarename.tasks.variable_misuse.batch import Batch


class MisuseModel(nn.Module):
    """A Transformer with two pointers over the nodes: where it is wrong, and where the right name stands."""

    def __init__(self, config: ModelConfig, num_types: int, num_values: int) -> None:
        super().__init__()
        self.transformer = Transformer(config, num_types, num_values)
        self.pointers = nn.Linear(config.width, 2)
        self.no_bug = nn.Parameter(torch.zeros(1))

    def forward(self, batch: Batch) -> "Answer":
        """Point at the location and at the repair."""
        states = self.transformer(batch.types, batch.values, batch.is_node)
        location, repair = self.pointers(states).unbind(dim=-1)  # (B, L) each
        lowest = torch.finfo(location.dtype).min / 4
        location = location.masked_fill(~batch.is_node, lowest)
        location = torch.cat([self.no_bug.expand(len(batch), 1), location], dim=1)
        return Answer(location, repair.masked_fill(~batch.is_variable, lowest))


@dataclass(frozen=True)
class Answer:
    """What the model says, as logits."""

    location: Tensor  # (B, 1 + L), the first of them for no bug
    repair: Tensor  # (B, L)


def loss(answer: Answer, batch: Batch) -> Loss:
    """Cross entropy of the location, and the negative log of all that right repairs get, where there is a bug."""
    is_buggy = batch.location > 0
    lowest = torch.finfo(answer.repair.dtype).min / 4
    shares = answer.repair.log_softmax(dim=-1).masked_fill(~batch.is_repair, lowest)
    of_repair = -(shares.logsumexp(dim=-1) * is_buggy).sum()
    of_location = F.cross_entropy(answer.location, batch.location, reduction="sum")
    return Loss(torch.stack([of_location, of_repair]), torch.stack([(batch.location >= 0).sum(), is_buggy.sum()]))


@dataclass
class Counts:
    """What adds up over batches to the scores."""

    clean: int = 0
    no_bug: int = 0
    """Clean functions in which no bug is seen."""
    buggy: int = 0
    located: int = 0
    repaired: int = 0
    """The right variable has more of the repair's probability than any other."""
    repaired_half: int = 0
    """The right variable has at least half of it: what the paper counts."""
    joint: int = 0
    """Located and repaired."""
    joint_half: int = 0

    def add(self, answer: Answer, batch: Batch) -> None:
        """Count a batch."""
        is_buggy = batch.location > 0
        is_located = answer.location.argmax(dim=1) == batch.location
        probabilities = answer.repair.softmax(dim=1)
        is_half = (probabilities * batch.is_repair).sum(dim=1) >= 0.5
        is_first = batch.is_repair.gather(1, likeliest_variable(probabilities, batch)[:, None])[:, 0]
        self.clean += int((~is_buggy).sum())
        self.no_bug += int((is_located & ~is_buggy).sum())
        self.buggy += int(is_buggy.sum())
        self.located += int((is_located & is_buggy).sum())
        self.repaired += int((is_first & is_buggy).sum())
        self.repaired_half += int((is_half & is_buggy).sum())
        self.joint += int((is_located & is_first & is_buggy).sum())
        self.joint_half += int((is_located & is_half & is_buggy).sum())

    def scores(self) -> dict[str, float]:
        """Accuracies, with the counts behind them. Those named `paper` count a repair from one half on."""
        buggy, clean = max(1, self.buggy), max(1, self.clean)
        return {
            "joint_accuracy": self.joint / buggy,
            "location_accuracy": self.located / buggy,
            "repair_accuracy": self.repaired / buggy,
            "no_bug_accuracy": self.no_bug / clean,
            "joint_accuracy_paper": self.joint_half / buggy,
            "repair_accuracy_paper": self.repaired_half / buggy,
            "num_clean": self.clean,
            "num_buggy": self.buggy,
        }


def likeliest_variable(probabilities: Tensor, batch: Batch) -> Tensor:
    """For each example a place of the variable whose places have most probability together: (B,)."""
    same = (batch.names[:, :, None] == batch.names[:, None, :]) & batch.is_variable[:, None, :]  # (B, L, L)
    of_variable = (same * probabilities[:, None, :]).sum(dim=2).masked_fill(~batch.is_variable, -1.0)
    return of_variable.argmax(dim=1)
