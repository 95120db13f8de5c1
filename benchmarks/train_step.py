"""How much of the machine a training step uses: its floating point operations relative to plain matrix products.

The reference is the highest rate that this machine reaches, with the same number of threads, in products of two square
float32 matrices. Each preset of variable misuse then takes steps of the real training loop (batch, forward, loss,
backward, clipping, optimizer) on functions of the standard library, or of --corpus. The ratio of the two rates is
computed from wall time and from CPU time; the second one is meaningful on a busy machine, too.

Only matrix products count, with two operations per multiply-add. For B examples, padded to L nodes, a layer has

    B L (8 D² + 4 D F)      projections to queries, keys, values and output; feed-forward layer
    B L (4 L D)             attention scores, and the weighted sum of the values
    B L (4 O D)             the same for the O = 2 R + 1 relative offsets

operations, where D is d_model, F is d_ff and R is max_relative_distance; the two pointers have B L 4 D. The backward
pass has two products for each one of the forward pass, so a step has three times as many. Padding counts, because it is
computed; its fraction is reported. Embeddings, softmax, norms, dropout and the optimizer take time but do not count.

    python benchmarks/train_step.py --num-threads 2 --steps 30
    python benchmarks/train_step.py --presets small --output-format json
"""

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from measuring import Timer, in_new_process, megabytes, prepare

WARMUP_STEPS = 3
"""Steps that are not measured: the first ones import modules and allocate memory."""


def main() -> None:
    options = read_options()
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        corpus = options.corpus or prepare(work / "corpus")
        peak = in_new_process(measure_peak, options.num_threads, options.sizes, options.rounds)
        rows = []
        for preset in options.presets:
            row = in_new_process(measure_steps, preset, corpus, work / preset, options.num_threads, options.steps)
            ratios = {f"ratio_to_peak{kind}": row[f"gflops{kind}"] / peak[f"gflops{kind}"] for kind in ("", "_cpu")}
            rows.append(row | ratios)
            print(json.dumps(rows[-1]), file=sys.stderr)
    report = {"python": platform.python_version(), "peak": peak, "steps": rows}
    print(json.dumps(report, indent=1) if options.output_format == "json" else as_table(report))


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, help="made by `rarename prepare` (default: the standard library)")
    parser.add_argument("--presets", nargs="+", choices=("paper", "small", "tiny"), default=["paper", "small"])
    parser.add_argument("--num-threads", type=int, default=len(os.sched_getaffinity(0)), help="default: all cores")
    parser.add_argument("--steps", type=int, default=30, help="steps to measure")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1024, 2048, 4096], help="of the square matrices")
    parser.add_argument("--rounds", type=int, default=5, help="products per size")
    parser.add_argument("--output-format", choices=("text", "json"), default="text")
    options = parser.parse_args()
    if min(options.num_threads, options.steps, options.rounds, *options.sizes) < 1:
        parser.error("--num-threads, --steps, --rounds and --sizes must be at least 1")
    return options


def measure_peak(num_threads: int, sizes: list[int], rounds: int) -> dict[str, Any]:
    """The highest rate over some sizes, each the median of its rounds."""
    import torch

    torch.set_num_threads(num_threads)
    rates = []
    for size in sizes:
        left, right, out = torch.randn(size, size), torch.randn(size, size), torch.empty(size, size)
        torch.mm(left, right, out=out)
        timers = []
        for _ in range(rounds):
            with Timer() as timer:
                torch.mm(left, right, out=out)
            timers.append(timer)
        gflop = 2 * size**3 / 1e9
        seconds, cpu_seconds = (
            statistics.median(getattr(each, key) for each in timers) for key in ("seconds", "cpu_seconds")
        )
        rates.append({"size": size, "gflops": gflop / seconds, "gflops_cpu": gflop / cpu_seconds})
    return max(rates, key=lambda rate: rate["gflops"]) | {"num_threads": num_threads, "by_size": rates}


def measure_steps(preset: str, corpus: Path, folder: Path, num_threads: int, steps: int) -> dict[str, Any]:
    """Train for some steps and measure them."""
    import torch

    from rarename.corpus.store import Corpus
    from rarename.presets import preset_config
    from rarename.runs.run import make_encoding
    from rarename.tasks.misuse.task import MisuseTask
    from rarename.training.checkpoint import build_model
    from rarename.training.trainer import Trainer

    torch.set_num_threads(num_threads)
    # Neither evaluations nor checkpoints in between: only steps.
    settings = {"eval_every_examples": 10**12, "save_every_seconds": 1e12, "num_epochs": 1000.0}
    config = preset_config(str(corpus), preset, {"training": settings})
    encoding = make_encoding(config)
    task = MisuseTask(Corpus(corpus), encoding, config.task, config.training.max_batch_nodes, config.seed)
    torch.manual_seed(config.seed)
    model = build_model(config, encoding)
    num_operations: list[int] = []
    model.register_forward_pre_hook(
        lambda _, __, inputs: num_operations.append(count_operations(config.model, *inputs["types"].shape)),
        with_kwargs=True,
    )
    folder.mkdir()
    trainer = Trainer(task, model, config.training, folder, config.seed)
    state = trainer.state

    def train_until(step: int) -> None:
        trainer.run(should_stop=lambda: state.step + 1 >= step)  # called before each step, obeyed after it

    train_until(WARMUP_STEPS)
    before = dict(vars(state))
    num_operations.clear()
    with Timer() as timer:
        train_until(WARMUP_STEPS + steps)
    spent = {name: value - before[name] for name, value in vars(state).items()}
    gflop = sum(num_operations) / 1e9
    return {
        "preset": preset,
        "num_threads": num_threads,
        "steps": spent["step"],
        "seconds_per_step": spent["seconds"] / spent["step"],
        "cpu_seconds_per_step": timer.cpu_seconds / spent["step"],
        "examples_per_second": spent["examples"] / spent["seconds"],
        "nodes_per_second": spent["nodes"] / spent["seconds"],
        "gflop_per_step": gflop / spent["step"],
        "gflops": gflop / spent["seconds"],
        "gflops_cpu": gflop / timer.cpu_seconds,
        "padding": 1 - spent["nodes"] / spent["padded_nodes"],
        "data_wait": spent["data_wait_seconds"] / spent["seconds"],
        "peak_megabytes": megabytes(),
    }


def count_operations(model: Any, num_examples: int, length: int) -> int:
    """The floating point operations of a step's matrix products, by the formula above."""
    num_offsets = 2 * model.max_relative_distance + 1
    per_layer = 8 * model.d_model**2 + 4 * model.d_model * model.d_ff + 4 * model.d_model * (length + num_offsets)
    return 3 * num_examples * length * (model.num_layers * per_layer + 4 * model.d_model)


def as_table(report: dict[str, Any]) -> str:
    peak = report["peak"]
    lines = [
        f"peak: {peak['gflops']:.1f} GFLOP/s (float32, {peak['size']} × {peak['size']}, {peak['num_threads']} threads)",
        f"{'preset':<8}{'ms/step':>10}{'CPU ms':>10}{'examples/s':>12}{'nodes/s':>10}{'GFLOP/step':>12}{'GFLOP/s':>10}"
        f"{'of peak':>9}{'by CPU':>9}{'padding':>9}{'data wait':>11}{'peak MB':>9}",
    ]
    for row in report["steps"]:
        lines.append(
            f"{row['preset']:<8}{1000 * row['seconds_per_step']:>10.1f}{1000 * row['cpu_seconds_per_step']:>10.1f}"
            f"{row['examples_per_second']:>12.1f}{row['nodes_per_second']:>10,.0f}{row['gflop_per_step']:>12.1f}"
            f"{row['gflops']:>10.1f}{row['ratio_to_peak']:>9.1%}{row['ratio_to_peak_cpu']:>9.1%}{row['padding']:>9.1%}"
            f"{row['data_wait']:>11.1%}{row['peak_megabytes']:>9.0f}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
