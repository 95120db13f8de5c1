"""AdamW for all parameters, or Muon for the matrices of the layers."""

import pytest
import torch

from rarename.config import ModelConfig, TrainingConfig
from rarename.model.transformer import Transformer
from rarename.training.optimizer import Muon, build_optimizers, orthogonalize

pytestmark = pytest.mark.usefixtures("one_thread")


def make_model():
    torch.manual_seed(0)
    return Transformer(ModelConfig(16, 2, 2, 32), 5, 7)


@pytest.mark.parametrize("shape", [(3, 8, 32), (3, 32, 8), (2, 16, 16)])
def test_the_singular_values_of_a_step_are_about_one(shape):
    torch.manual_seed(0)
    matrices = torch.randn(shape)
    steps = orthogonalize(matrices, num_iterations=5)
    singular_values = torch.linalg.svdvals(steps)
    assert singular_values.min() > 0.6 and singular_values.max() < 1.3
    left, _, right = torch.linalg.svd(matrices, full_matrices=False)
    assert torch.nn.functional.cosine_similarity(steps.flatten(1), (left @ right).flatten(1)).min() > 0.97


def test_muon_takes_the_steps_of_torch():
    torch.manual_seed(0)
    start, gradients = torch.randn(16, 32), torch.randn(3, 16, 32)
    ours, theirs = torch.nn.Parameter(start.clone()), torch.nn.Parameter(start.clone())
    muon = Muon([ours], learning_rate=0.01, weight_decay=0.1)
    reference = torch.optim.Muon(
        [theirs], lr=0.01, weight_decay=0.1, momentum=0.95, ns_steps=4, adjust_lr_fn="match_rms_adamw"
    )
    for gradient in gradients:
        ours.grad, theirs.grad = gradient.clone(), gradient.clone()
        muon.step()
        reference.step()
    # The reference iterates in bfloat16.
    torch.testing.assert_close(ours, theirs, atol=3e-4, rtol=0)
    assert (ours - start).abs().mean() > 3e-3


def test_muon_takes_the_matrices_of_the_layers():
    model = make_model()
    adamw, muon = build_optimizers(model, TrainingConfig(optimizer="muon", learning_rate=0.1, muon_learning_rate=0.2))
    (matrices,), (others,) = muon.param_groups, adamw.param_groups
    names = {
        name for name, parameter in model.named_parameters() if any(parameter is each for each in matrices["params"])
    }
    kinds = ("attention.qkv_proj", "attention.out_proj", "up_proj", "down_proj")
    assert names == {f"layers.{layer}.{kind}.weight" for layer in range(2) for kind in kinds}
    assert len(names) + len(others["params"]) == len(list(model.parameters()))
    assert (matrices["peak_lr"], others["peak_lr"], others["betas"]) == (0.2, 0.1, (0.9, 0.98))


def test_adamw_takes_all_parameters_by_default():
    model = make_model()
    (adamw,) = build_optimizers(model, TrainingConfig())
    assert isinstance(adamw, torch.optim.AdamW)
    assert len(adamw.param_groups[0]["params"]) == len(list(model.parameters()))


def test_adam_takes_the_steps_of_torch():
    torch.manual_seed(0)
    ours, theirs = torch.nn.Linear(8, 4), torch.nn.Linear(8, 4)
    theirs.load_state_dict(ours.state_dict())
    (adam,) = build_optimizers(ours, TrainingConfig(optimizer="adam", weight_decay=0.0, learning_rate=0.01))
    adam.param_groups[0]["lr"] = 0.01
    reference = torch.optim.Adam(theirs.parameters(), lr=0.01)
    for inputs in torch.randn(5, 3, 8):
        for model, optimizer in ((ours, adam), (theirs, reference)):
            optimizer.zero_grad()
            (model(inputs) ** 2).sum().backward()
            optimizer.step()
    torch.testing.assert_close(ours.state_dict(), theirs.state_dict())
