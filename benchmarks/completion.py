"""Code completion: a training step, a large vocabulary, and the latency of a completion.

1.  A training step on 32 windows of 500 nodes (d_model 128, 3 layers, vocabulary 1,000), compared with a plain model of
    the same size that materializes the relative embeddings of every pair of nodes and computes the logits of all
    values at every node. One thread.
2.  The same windows with a vocabulary of 100,000: time and peak memory.
3.  A completion with a context of 500 nodes: one more node with a KV cache, compared with reading all nodes; and the
    whole way from text and cursor to ranked names, in a long file and in its last 110 lines or so.

    python benchmarks/completion.py
    python benchmarks/completion.py --parts latency --output-format json
"""

import argparse
import json
import platform
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measuring import Timer, in_new_process, megabytes, prepare

NUM_WINDOWS, NUM_NODES = 32, 500
EXCERPT_LINES = 110  # about as many nodes
PARTS = ("step", "vocabulary", "latency")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, help="made by `rarename prepare` (default: the standard library)")
    parser.add_argument("--steps", type=int, default=3, help="training steps to measure")
    parser.add_argument("--completions", type=int, default=200, help="completions to measure")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--output-format", choices=("text", "json"), default="text")
    options = parser.parse_args()
    report: dict[str, Any] = {"python": platform.python_version()}
    with tempfile.TemporaryDirectory() as temporary:
        needs_corpus = {"step", "vocabulary"} & set(options.parts)
        corpus = options.corpus or (prepare(Path(temporary) / "corpus") if needs_corpus else Path())
        if "step" in options.parts:
            ours = in_new_process(measure_steps, corpus, 1_000, options.steps, False)
            plain = in_new_process(measure_steps, corpus, 1_000, options.steps, True)
            assert abs(plain["loss"] - ours["loss"]) < 1e-3, "the plain model computes something else"
            ratios = {f"ratio_{key}": plain[key] / ours[key] for key in ("seconds", "cpu_seconds")}
            report["step"] = {"ours": ours, "plain": plain} | ratios
        if "vocabulary" in options.parts:
            report["vocabulary"] = in_new_process(measure_steps, corpus, 100_000, options.steps, False)
        if "latency" in options.parts:
            report["latency"] = in_new_process(measure_latency, options.completions)
    print(json.dumps(report, indent=1) if options.output_format == "json" else as_text(report))


def measure_steps(corpus: Path, vocabulary_size: int, steps: int, is_plain: bool) -> dict[str, Any]:
    """Steps on windows of full length: batch, forward, loss, backward, clipping, optimizer."""
    import torch

    from rarename.corpus.store import ROLE_GROUPS, Corpus
    from rarename.presets import preset_config
    from rarename.runs.run import make_encoding
    from rarename.tasks.completion.task import CompletionTask
    from rarename.training.checkpoint import build_model
    from rarename.training.trainer import to_device

    torch.set_num_threads(1)
    size = min(vocabulary_size, Corpus(corpus).num_occurring(*ROLE_GROUPS))
    config = preset_config(str(corpus), "small", {"encoding.vocabulary_size": size}, task="completion")
    encoding = make_encoding(config)
    task = CompletionTask(Corpus(corpus), encoding, config.task, NUM_WINDOWS * NUM_NODES, config.seed)
    full = [index for index, length in enumerate(task.dataset("train").lengths) if length == NUM_NODES]
    torch.manual_seed(0)
    model = build_model(config, encoding)
    if is_plain:
        use_plain_attention()
    add_values(model, vocabulary_size - size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    timers = []
    for step in range(steps + 1):
        with Timer() as timer:
            batch = task.make_batch(full[step * NUM_WINDOWS : (step + 1) * NUM_WINDOWS], 0)
            batch = to_device(batch, torch.device("cpu"))
            loss = (plain_loss if is_plain else task.loss)(model(**batch.inputs()), batch).mean()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.2)
            optimizer.step()
        timers.append(timer)
    seconds = statistics.median(timer.seconds for timer in timers[1:])
    return {
        "vocabulary_size": vocabulary_size,
        "seconds": seconds,
        "cpu_seconds": statistics.median(timer.cpu_seconds for timer in timers[1:]),
        "nodes_per_second": NUM_WINDOWS * NUM_NODES / seconds,
        "peak_megabytes": megabytes(),
        "loss": loss.item(),
    }


def add_values(model: Any, count: int) -> None:
    """Add values that no window holds, where the corpus has too few: the softmax costs the same."""
    import torch
    from torch import nn

    old = model.transformer.values.weight.detach()
    model.transformer.values = nn.Embedding.from_pretrained(
        torch.cat([old, 0.1 * torch.randn(count, old.shape[1])]), freeze=False
    )
    model.value_bias = nn.Parameter(torch.zeros(len(old) + count))


def use_plain_attention() -> None:
    """Replace the kernel by a plain form that computes the same."""
    import math

    import torch

    from rarename.model import attention

    def plain_attention(q: Any, k: Any, v: Any, rel_keys: Any, rel_values: Any, mask: Any, dropout: float) -> Any:
        assert mask is None and not dropout
        positions, max_distance = torch.arange(k.shape[2]), rel_keys.shape[1] - 1
        offsets = (positions[None] - positions[:, None]).clamp(-max_distance, 0) + max_distance
        scores = q @ k.transpose(-2, -1) + torch.einsum("bhik,hijk->bhij", q, rel_keys[:, offsets])
        is_later = torch.ones_like(offsets, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(is_later, -math.inf).softmax(dim=-1)
        return weights @ v + torch.einsum("bhij,hijk->bhik", weights, rel_values[:, offsets])

    attention.relative_attention = plain_attention


def plain_loss(output: Any, batch: Any) -> Any:
    """The same loss, with the logits of every node, whether it is a target or not."""
    import torch
    import torch.nn.functional as F

    from rarename.tasks.task import Loss

    is_type = batch.is_target[:, 1:]
    is_value = is_type & (batch.has_value & batch.is_predictable)[:, 1:]
    hidden_states = output.hidden_states[:, :-1]
    sums = [
        F.cross_entropy(logits.flatten(0, 1), targets[:, 1:].masked_fill(~mask, -100).flatten(), reduction="sum")
        for logits, targets, mask in (
            (output.model.type_logits(hidden_states), batch.types, is_type),
            (output.model.value_logits(hidden_states), batch.values, is_value),
        )
    ]
    return Loss(torch.stack(sums), torch.stack([is_type.sum(), is_value.sum()]))


def measure_latency(num_completions: int) -> dict[str, Any]:
    """One more node, with a KV cache and without; and completions in a real file, one after the other."""
    import argparse as subject

    import numpy as np

    from rarename.assist.complete import Completer, Reader
    from rarename.inference.session import open_session
    from rarename.tasks.completion.collate import Window, collate

    with Timer() as loading:
        completer = Completer.load("python")
    session = open_session(completer.folder)
    rng = np.random.default_rng(0)
    ranks = rng.integers(0, 100, size=(2, NUM_NODES))
    cached_reader, cached, uncached = Reader(session), [], []
    for step in range(num_completions + 1):
        ranks[:, -1] = rng.integers(0, 100, size=2)  # all nodes before the last one stay the same
        window = Window(ranks[0].astype(np.int16), ranks[1], np.zeros(NUM_NODES, dtype=np.int8))
        batch = collate([window], completer.encoding, seeds=[0])
        for reader, timers in ((cached_reader, cached), (Reader(session), uncached)):
            with Timer() as timer:
                reader.read(batch)
            if step:  # the first one fills the cache
                timers.append(timer)
    lines = Path(subject.__file__).read_text().splitlines()
    first = next(number for number, line in enumerate(lines) if "class ArgumentParser" in line)
    files, excerpts = [], []
    for number, line in enumerate(lines[first:], start=first):
        before, attribute, _ = line.partition("self.")
        if attribute and not set("#\"'") & set(line) and len(files) < num_completions:
            files.append([*lines[:number], before + attribute])
            methods = (start for start in range(number - EXCERPT_LINES, 0, -1) if lines[start].startswith("    def "))
            excerpts.append(["class Excerpt:", *files[-1][next(methods) :]])
    whole, parsing, _ = complete_each(completer, files)
    excerpt, _, num_nodes = complete_each(completer, excerpts)
    return {
        "loading_seconds": loading.seconds,
        "one_more_node": milliseconds(cached),
        "all_nodes": milliseconds(uncached),
        "ratio": milliseconds(uncached)["cpu_median"] / milliseconds(cached)["cpu_median"],
        "text_to_names": milliseconds(whole) | {"lines": len(lines)},
        "in_an_excerpt": milliseconds(excerpt) | {"nodes": statistics.median(num_nodes)},
        "text_to_nodes": milliseconds(parsing),
        "peak_megabytes": megabytes(),
        "resident_megabytes": megabytes("VmRSS"),
    }


def complete_each(completer: Any, texts: Sequence[list[str]]) -> tuple[list[Timer], list[Timer], list[int]]:
    """Complete at the end of each text; the times of all, of the parsing in it, and the numbers of nodes."""
    from rarename.syntax.cursor import at_cursor

    whole, parsing, num_nodes = [], [], []
    for lines in texts:
        with Timer() as timer:
            with Timer() as parsing_timer:
                cursor = at_cursor("\n".join(lines), completer.language, len(lines), len(lines[-1]) + 1)
            completer.complete_at(cursor)
        whole.append(timer)
        parsing.append(parsing_timer)
        num_nodes.append(len(cursor.traversal))
    return whole, parsing, num_nodes


def milliseconds(timers: Sequence[Timer]) -> dict[str, float]:
    ordered = sorted(timer.seconds for timer in timers)
    return {
        "median": 1000 * statistics.median(ordered),
        "p95": 1000 * ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))],
        "cpu_median": 1000 * statistics.median(timer.cpu_seconds for timer in timers),
        "number": len(ordered),
    }


def as_text(report: dict[str, Any]) -> str:
    step = report.get("step", {})
    rows = {"ours": step.get("ours"), "plain": step.get("plain"), "100k values": report.get("vocabulary")}
    lines = [
        f"{name:<12}{row['seconds']:>8.2f} s/step{row['cpu_seconds']:>8.2f} CPU s/step"
        f"{row['nodes_per_second']:>10,.0f} nodes/s{row['peak_megabytes']:>8,.0f} MB"
        for name, row in rows.items()
        if row
    ]
    if step:
        lines.append(
            f"{step['ratio_seconds']:.1f} times as fast as plain ({step['ratio_cpu_seconds']:.1f} by CPU time)"
        )
    if latency := report.get("latency"):
        for name in ("one_more_node", "all_nodes", "text_to_names", "text_to_nodes", "in_an_excerpt"):
            row = latency[name]
            lines.append(
                f"{name:<16}median {row['median']:>7.1f} ms   p95 {row['p95']:>7.1f} ms   "
                f"CPU {row['cpu_median']:>7.1f} ms   of {row['number']}"
            )
        lines.append(
            f"loading {latency['loading_seconds']:.2f} s, {latency['resident_megabytes']:.0f} MB resident, "
            f"{latency['peak_megabytes']:.0f} MB peak; one more node is {latency['ratio']:.1f} times as fast as "
            "all nodes by CPU time"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
