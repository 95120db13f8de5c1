"""How much of the machine a training step uses: its floating point operations beside those of a bare multiplication.

First the peak: the most operations a second that this machine reaches, with as many threads, when it multiplies two
large square matrices of float32. Then, for each preset of variable misuse, steps of the real training loop (make a
batch, forward, loss, backward, clip, optimizer) on functions of the standard library, or of --corpus.

Only matrix products are counted, two operations for each multiply-add. For B snippets, padded to L nodes, a layer has

    B L (8 D² + 4 D I)      maps to queries, keys, values and output; the feed-forward part
    B L (4 L D)             scores of all pairs of nodes, and the values mixed by them
    B L (4 O D)             the same for the O = 2 R + 1 offsets of relative attention

with D the width, I the inner width and R the distance, and the two pointers have B L 4 D. Backward takes two products
for each of forward, so a step has three times that. Padding counts, for it is multiplied too: its share is told beside
it. Embeddings, softmax, norms, dropout and the optimizer take time but count nothing.

    python benchmarks/train_step.py --threads 2 --steps 30
    python benchmarks/train_step.py --presets small --format json
"""

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measuring import apart, megabytes, prepare

WARM_UP = 3
"""Steps that are not counted: the first ones import, and ask for memory."""


def main() -> None:
    options = read_options()
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        corpus = options.corpus or prepare(work / "corpus")
        peak = apart(measure_peak, options.threads, options.sizes, options.rounds)
        rows = []
        for preset in options.presets:
            row = apart(measure_steps, preset, corpus, work / preset, options.threads, options.steps)
            rows.append(row | {"fraction_of_peak": row["gflops"] / peak["gflops"]})
            print(json.dumps(rows[-1]), file=sys.stderr)
    report = {"python": platform.python_version(), "peak": peak, "steps": rows}
    print(json.dumps(report, indent=1) if options.format == "json" else as_table(report))


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, help="made by `rarename prepare`; the standard library unless told")
    parser.add_argument("--presets", nargs="+", choices=("paper", "small", "tiny"), default=["paper", "small"])
    parser.add_argument(
        "--num-threads", type=int, default=len(os.sched_getaffinity(0)), help="as many as cores unless told"
    )
    parser.add_argument("--steps", type=int, default=30, help="how many are counted")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1024, 2048, 4096], help="of the square matrices")
    parser.add_argument("--rounds", type=int, default=5, help="how often each size is multiplied")
    parser.add_argument("--output-format", choices=("table", "json"), default="table")
    options = parser.parse_args()
    if min(options.threads, options.steps, options.rounds, *options.sizes) < 1:
        parser.error("threads, steps, rounds and sizes must be at least 1")
    return options


def measure_peak(threads: int, sizes: list[int], rounds: int) -> dict[str, Any]:
    """The most operations a second over some sizes, each the median of its rounds."""
    import torch

    torch.set_num_threads(threads)
    of_size = {}
    for size in sizes:
        left, right = torch.randn(size, size), torch.randn(size, size)
        out = torch.empty(size, size)
        torch.mm(left, right, out=out)
        spent = []
        for _ in range(rounds):
            began = time.perf_counter()
            torch.mm(left, right, out=out)
            spent.append(time.perf_counter() - began)
        of_size[size] = 2 * size**3 / statistics.median(spent) / 1e9
    best = max(of_size, key=lambda size: of_size[size])
    return {"threads": threads, "gflops": of_size[best], "size": best, "gflops_by_size": of_size}


def measure_steps(preset: str, corpus: Path, folder: Path, threads: int, steps: int) -> dict[str, Any]:
    """Train for some steps, and tell what they took."""
    import torch

    from rarename import config as experiments
    from rarename.corpus.store import Corpus
    from rarename.runs.run import make_encoding
    from rarename.tasks.misuse.task import MisuseTask
    from rarename.training.trainer import Trainer

    torch.set_num_threads(threads)
    # No look at the validation split, and no saving in between: the steps alone.
    settings = {"training.eval_every_examples": 10**12, "training.save_every_seconds": 1e12, "training.num_epochs": 1000.0}
    experiment = preset_config(str(corpus), preset, settings)
    task = MisuseTask(
        Corpus(corpus), make_encoding(experiment), experiment.task, experiment.training.batch_nodes, experiment.seed
    )
    shapes: list[tuple[int, int]] = []
    make_batch = task.batch

    def watched(indexes: list[int], epoch: int) -> Any:
        batch = make_batch(indexes, epoch)
        shapes.append(tuple(batch.attention_mask.shape))
        return batch

    task.batch = watched  # type: ignore[method-assign]
    torch.manual_seed(experiment.seed)
    folder.mkdir()
    trainer = Trainer(task, task.build(experiment.model), experiment.training, folder, experiment.seed)
    position = trainer.position

    def train_until(last: int) -> None:
        trainer.run(should_stop=lambda: position.step + 1 >= last)  # asked before each step, heard after it

    train_until(WARM_UP)
    before = dict(vars(position))
    shapes.clear()
    train_until(WARM_UP + steps)
    spent = {name: value - before[name] for name, value in vars(position).items()}
    seconds = spent["seconds"]
    operations = sum(count_operations(experiment.model, *shape) for shape in shapes)
    return {
        "preset": preset,
        "threads": threads,
        "steps": spent["step"],
        "seconds_per_step": seconds / spent["step"],
        "examples_per_second": spent["examples"] / seconds,
        "nodes_per_second": spent["nodes"] / seconds,
        "gflop_per_step": operations / spent["step"] / 1e9,
        "gflops": operations / seconds / 1e9,
        "padding": 1 - spent["nodes"] / spent["places"],
        "waiting": spent["waiting"] / seconds,
        "peak_megabytes": megabytes(),
    }


def count_operations(model: Any, snippets: int, length: int) -> int:
    """The floating point operations of a step's matrix products; the formula stands at the top."""
    offsets = 2 * model.max_relative_distance + 1
    of_layer = 8 * model.d_model**2 + 4 * model.d_model * model.d_ff + 4 * model.d_model * (length + offsets)
    return 3 * snippets * length * (model.num_layers * of_layer + 4 * model.d_model)


def as_table(report: dict[str, Any]) -> str:
    peak = report["peak"]
    lines = [
        f"peak: {peak['gflops']:.1f} GFLOP/s (float32, {peak['size']} × {peak['size']}, {peak['threads']} threads)",
        f"{'preset':<8}{'ms/step':>10}{'examples/s':>12}{'nodes/s':>10}{'GFLOP/step':>12}{'GFLOP/s':>10}"
        f"{'of peak':>9}{'padding':>9}{'waiting':>9}{'peak MB':>9}",
    ]
    for row in report["steps"]:
        lines.append(
            f"{row['preset']:<8}{1000 * row['seconds_per_step']:>10.1f}{row['examples_per_second']:>12.1f}"
            f"{row['nodes_per_second']:>10,.0f}{row['gflop_per_step']:>12.1f}{row['gflops']:>10.1f}"
            f"{row['fraction_of_peak']:>9.1%}{row['padding']:>9.1%}{row['waiting']:>9.1%}{row['peak_megabytes']:>9.0f}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
