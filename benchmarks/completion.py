"""Code completion: a training step, a large vocabulary, and one more node in the editor.

1.  A training step on 32 windows of 500 nodes (128 wide, 3 layers, vocabulary 1,000), beside a model of the same size
    written the plain way: the embeddings of relative attention laid out for each pair of nodes, and the softmax over
    values taken at every node. One thread, steps in turns.
2.  The same windows with a vocabulary of 100,000: seconds and the most memory that the process has.
3.  A completion at a context of 500 nodes: the states of one more node when keys and values are kept, beside reading
    all of them; and the whole way from text and cursor to ranked names.

    python benchmarks/completion.py
    python benchmarks/completion.py --parts latency --format json
"""

import argparse
import json
import platform
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from measuring import apart, megabytes, prepare

WINDOWS, NODES = 32, 500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, help="made by `rarename prepare`; the standard library unless told")
    parser.add_argument("--steps", type=int, default=3, help="of training that are counted")
    parser.add_argument("--completions", type=int, default=200, help="how many are counted")
    parser.add_argument("--parts", nargs="+", choices=("step", "vocabulary", "latency"), default=[])
    parser.add_argument("--output-format", choices=("text", "json"), default="text")
    options = parser.parse_args()
    parts = options.parts or ["step", "vocabulary", "latency"]
    report: dict[str, Any] = {"python": platform.python_version()}
    with tempfile.TemporaryDirectory() as temporary:
        corpus = options.corpus or prepare(Path(temporary) / "corpus")
        if "step" in parts:
            ours, plain = (apart(measure_steps, corpus, 1_000, options.steps, is_plain) for is_plain in (False, True))
            report["step"] = {"ours": ours, "plain": plain, "ratio": plain["seconds"] / ours["seconds"]}
        if "vocabulary" in parts:
            report["vocabulary"] = apart(measure_steps, corpus, 100_000, options.steps, False)
        if "latency" in parts:
            report["latency"] = apart(measure_latency, options.completions)
    print(json.dumps(report, indent=1) if options.format == "json" else as_text(report))


def measure_steps(corpus: Path, vocabulary_size: int, steps: int, is_plain: bool) -> dict[str, Any]:
    """Steps on windows of full length: batch, forward, loss, backward, clip, optimizer."""
    import torch

    from rarename import config as experiments
    from rarename.corpus.store import Corpus
    from rarename.runs.run import make_encoding

    torch.set_num_threads(1)
    available = Corpus(corpus).num_occurring("names", "others", "numbers", "strings", "regexps")
    settings = {"encoding.vocabulary_size": min(vocabulary_size, available), "training.max_batch_nodes": WINDOWS * NODES}
    setting = preset_config(str(corpus), "small", settings, task="completion")
    encoding = make_encoding(setting)
    task = setting.task.task(Corpus(corpus), encoding, setting.training.batch_nodes, 0)
    full = [index for index, length in enumerate(task.windows("train").lengths) if length == NODES]
    torch.manual_seed(0)
    model = task.build(setting.model)
    if is_plain:
        make_plain(model)
    # More values than the corpus has are made up: the softmax does not mind.
    missing = vocabulary_size - len(encoding.values)
    if missing > 0:
        grow(model, missing)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    spent = []
    for step in range(steps + 1):
        began = time.perf_counter()
        batch = task.batch(full[step * WINDOWS : (step + 1) * WINDOWS], 0)
        loss = (plain_loss if is_plain else task.loss)(model(batch), batch).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.2)
        optimizer.step()
        spent.append(time.perf_counter() - began)
    seconds = statistics.median(spent[1:])
    return {
        "vocabulary_size": vocabulary_size,
        "seconds": seconds,
        "nodes_per_second": WINDOWS * NODES / seconds,
        "peak_megabytes": megabytes(),
    }


def grow(model: Any, missing: int) -> None:
    """Add values that no window holds."""
    import torch
    from torch import nn

    old = model.transformer.values.weight.detach()
    model.transformer.values = nn.Embedding.from_pretrained(
        torch.cat([old, 0.1 * torch.randn(missing, old.shape[1])]), freeze=False
    )
    model.value_bias = nn.Parameter(torch.zeros(len(old) + missing))


def make_plain(model: Any) -> None:
    """Replace fast attention by the plain one: what it computes is the same."""
    import math
    from types import MethodType

    import torch

    def look_left(self: Any, queries: Any, keys: Any, values: Any) -> Any:
        length = keys.shape[2]
        places = torch.arange(length)
        offsets = (places[None] - places[:, None]).clamp(-self.distance, 0) + self.distance
        of_keys, of_values = self.rel_keys[:, offsets], self.rel_values[:, offsets]  # (H, L, L, K)
        scores = queries @ keys.transpose(-2, -1) + torch.einsum("bhik,hijk->bhij", queries, of_keys)
        weights = scores.masked_fill(torch.ones(length, length, dtype=torch.bool).triu(1), -math.inf).softmax(dim=-1)
        return weights @ values + torch.einsum("bhij,hijk->bhik", weights, of_values)

    for layer in model.transformer.layers:
        layer.attention._look_left = MethodType(look_left, layer.attention)


def plain_loss(answer: Any, batch: Any) -> Any:
    """The same loss, with logits for every node, whether it counts or not."""
    import torch
    import torch.nn.functional as F

    from rarename.tasks.task import Loss

    types = answer.model.type_logits(answer.states[:, :-1]).flatten(0, 1)
    values = answer.model.value_logits(answer.states[:, :-1]).flatten(0, 1)
    is_value = (batch.is_target & batch.has_value & batch.is_known)[:, 1:].flatten()
    is_type = batch.is_target[:, 1:].flatten()
    of_types = F.cross_entropy(types, batch.types[:, 1:].flatten().masked_fill(~is_type, -100), reduction="sum")
    of_values = F.cross_entropy(values, batch.values[:, 1:].flatten().masked_fill(~is_value, -100), reduction="sum")
    return Loss(torch.stack([of_types, of_values]), torch.stack([is_type.sum(), is_value.sum()]))


def measure_latency(completions: int) -> dict[str, Any]:
    """One more node, kept and fresh; and completions in a real file, typed on one after the other."""
    import argparse as subject

    import torch

    from rarename.assist.complete import Completer, Reader
    from rarename.syntax.cursor import at_cursor

    torch.set_num_threads(1)
    began = time.perf_counter()
    completer = Completer.load("python")
    loading = time.perf_counter() - began
    network = completer._network
    generator = torch.Generator().manual_seed(0)
    types = torch.randint(6, 100, (2, NODES + completions), generator=generator)
    kept, fresh = [], []
    with torch.inference_mode():
        reader = Reader(network)
        nodes = types[:, : NODES - 1]
        reader.read(*nodes)
        for step in range(completions):
            # The last node is another one each time: all before it are known.
            nodes = torch.cat([nodes[:, : NODES - 1], types[:, NODES + step : NODES + step + 1]], dim=1)
            for one, spent in ((reader, kept), (Reader(network), fresh)):
                began = time.perf_counter()
                states = one.read(*nodes)
                network.value_logits(states[-1])
                spent.append(time.perf_counter() - began)
    text = Path(subject.__file__).read_text()
    lines = text.splitlines()
    whole, parsing = [], []
    first = next(number for number, line in enumerate(lines) if "class ArgumentParser" in line)
    for number in range(first, len(lines)):
        line = lines[number]
        column = line.find("self.") + len("self.") + 1
        if column <= len("self.") or "#" in line or '"' in line or "'" in line:
            continue
        typed = "\n".join([*lines[:number], line[: column - 1]])
        began = time.perf_counter()
        cursor = at_cursor(typed, completer.language, number + 1, column)
        parsing.append(time.perf_counter() - began)
        completer.at(cursor)
        whole.append(time.perf_counter() - began)
        if len(whole) == completions:
            break
    return {
        "loading_seconds": loading,
        "one_more_node": milliseconds(kept),
        "all_nodes": milliseconds(fresh),
        "ratio": statistics.median(fresh) / statistics.median(kept),
        "from_text_to_names": milliseconds(whole) | {"lines": len(lines)},
        "from_text_to_nodes": milliseconds(parsing),
        "peak_megabytes": megabytes(),
        "resident_megabytes": megabytes("VmRSS"),
    }


def milliseconds(spent: list[float]) -> dict[str, float]:
    ordered = sorted(spent)
    return {
        "median": 1000 * statistics.median(ordered),
        "p95": 1000 * ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))],
        "number": len(ordered),
    }


def as_text(report: dict[str, Any]) -> str:
    lines = []
    for name, row in (("ours", report.get("step", {}).get("ours")), ("plain", report.get("step", {}).get("plain")),
                      ("100k values", report.get("vocabulary"))):  # fmt: skip
        if row:
            lines.append(
                f"{name:<12}{row['seconds']:>8.2f} s/step{row['nodes_per_second']:>10,.0f} nodes/s"
                f"{row['peak_megabytes']:>8,.0f} MB"
            )
    if "step" in report:
        lines.append(f"{report['step']['ratio']:.1f} times as fast as the plain way")
    if "latency" in report:
        latency = report["latency"]
        for name in ("one_more_node", "all_nodes", "from_text_to_names", "from_text_to_nodes"):
            row = latency[name]
            lines.append(f"{name:<20}median {row['median']:>7.1f} ms   95 % {row['p95']:>7.1f} ms   of {row['number']}")
        lines.append(
            f"loading {latency['loading_seconds']:.2f} s, resident {latency['resident_megabytes']:.0f} MB, at most "
            f"{latency['peak_megabytes']:.0f} MB; one more node {latency['ratio']:.1f} times as fast as all"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
