"""Estimate the GPU hours of the experiments at the scale of the paper: python experiments/gpu_hours.py

A training example of L nodes takes about 6 · N · L operations for N parameters without embeddings, and 12 · D · L² in
each layer for the pairs of nodes (twice that with relative offsets). In code completion, the logits of V values and T
types take 6 · D · (V + T) · L / 2, as about half of the nodes have a value. Evaluation is not included.
"""

from pathlib import Path

from rarename.config import CompletionConfig, ExperimentConfig
from rarename.sweep.grid import load_sweep

OPERATIONS_PER_SECOND = 30e12
"""What the GPU sustains: about a tenth of the bfloat16 peak of an A100, because the model and its batches are small."""

PARAMETERS, NUM_TYPES = 19e6, 200
MEAN_NODES = {"misuse": 63, "completion": 479}
"""Of functions and windows, measured on the standard library of Python with the preset `paper`."""

EXAMPLES = {
    ("misuse", "py150"): 5.8 * 417_000, ("misuse", "js150"): 5.8 * 202_000, ("misuse", "great"): 1_798_742,
    ("completion", "py150"): 186_000, ("completion", "js150"): 270_000, ("completion", "py150-published"): 250_000,
}  # fmt: skip
"""In an epoch, as published; the windows of the published split of PY150 are estimated from its 100,000 files."""


def gpu_hours(config: ExperimentConfig, corpus: str) -> float:
    """Of one trial."""
    task, model, length = config.task.name, config.model, MEAN_NODES[config.task.name]
    pairs = 12 * model.d_model * length**2 * model.num_layers * (2 if model.attention == "relative" else 1)
    operations = 6 * PARAMETERS * length + pairs
    if isinstance(config.task, CompletionConfig):
        size = config.encoding.vocabulary_size + config.encoding.num_placeholders
        operations += 6 * model.d_model * (size + NUM_TYPES) * length / 2
    examples = EXAMPLES[task, corpus] * config.training.num_epochs
    return examples * operations / OPERATIONS_PER_SECOND / 3600


def table() -> str:
    """A row for each experiment file."""
    rows = ["| File | Reproduces | Trials | GPU hours |", "|---|---|---:|---:|"]
    for path in sorted((Path(__file__).parent / "paper").glob("*.toml")):
        spec = load_sweep(path)
        corpus = Path(spec.corpus).name
        language = "javascript" if corpus == "js150" else "python"
        hours = sum(gpu_hours(trial.config(spec.corpus, language), corpus) for trial in spec.trials)
        link = f"[`{spec.name}`](../experiments/paper/{path.name})"
        rows.append(f"| {link} | {spec.reproduces} | {len(spec.trials)} | {hours:,.0f} |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    print(table(), end="")
