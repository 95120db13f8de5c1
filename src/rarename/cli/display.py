"""Progress on stderr, and tables."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.table import Table
from rich.text import Text

from rarename.printable import escaped

SECONDS_BETWEEN_LINES = 30.0  # of progress where stderr is not a terminal
SHORT_SECONDS = 2.0  # bars appear after this time; a stage that takes less gets no line at its end

SHOWN_METRICS = ("joint", "location", "repair", "no bug", "MRR values", "MRR types")
"""The metrics that are shown during training; the first one that a task has is its main metric."""


def metric_label(key: str) -> str:
    """Return the label of a metric.

    >>> [metric_label(key) for key in ("joint_accuracy_paper", "accuracy", "mrr_values", "num_buggy")]
    ['joint*', 'accuracy', 'MRR values', 'buggy']
    """
    text = key.removeprefix("num_").replace("_accuracy", "").replace("_paper", "*")
    return text.replace("mrr", "MRR").replace("_", " ")


def describe_metrics(metrics: Mapping[str, Any], limit: int | None = None) -> str:
    """Return the metrics in percent, or only the first `limit` of them.

    >>> describe_metrics({"loss": 0.7, "repair_accuracy": 0.5, "joint_accuracy": 0.3456})
    'joint 34.6, repair 50.0'
    >>> describe_metrics({"mrr_types": 0.7, "mrr_values": 0.5}, limit=1)
    'MRR values 50.0'
    """
    by_label = {metric_label(key): value for key, value in metrics.items()}
    shown = [f"{label} {100 * by_label[label]:.1f}" for label in SHOWN_METRICS if label in by_label]
    return ", ".join(shown[:limit])


def format_duration(seconds: float) -> str:
    """Return a duration in at most two units.

    >>> [format_duration(seconds) for seconds in (4.6, 65, 7325)]
    ['5 s', '1 min 5 s', '2 h 2 min']
    """
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def table_text(headers: Sequence[str], rows: Sequence[Sequence[Any]], digits: int = 1) -> str:
    """Return a table as plain text, numbers to the right and None as a dash. A wide table is not wrapped."""
    if not rows:
        return ""
    table = Table(box=None, pad_edge=False)
    for header, cell in zip(headers, rows[0], strict=True):
        table.add_column(escaped(header), justify="left" if isinstance(cell, str) else "right", no_wrap=True)
    formats = {int: ",", float: f".{digits}f"}
    for row in rows:
        table.add_row(*("–" if cell is None else escaped(format(cell, formats.get(type(cell), ""))) for cell in row))
    console = Console(width=10_000, color_system=None, markup=False, emoji=False, highlight=False)
    with console.capture() as capture:
        console.print(table)
    return "".join(f"  {line.rstrip()}\n" for line in capture.get().splitlines())


class Display:
    """Shows activities on stderr: bars on a terminal, lines elsewhere. It is a `rarename.progress.Progress`."""

    def __init__(self, began: float | None = None) -> None:
        """`began` is the time of `time.monotonic` when the work began, if that was before now."""
        console = Console(stderr=True, markup=False, emoji=False, highlight=False)
        columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=20), _StatusColumn())
        self._bars = Progress(*columns, console=console, refresh_per_second=2, disable=not console.is_terminal)
        self._tasks: dict[str, Task] = {}
        self._stage = ""
        self._last_line = time.monotonic()
        self._began = self._last_line if began is None else began

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end_stage()
        self._bars.stop()

    def start(self, title: str, total: int) -> None:
        self._end_stage()
        self._stage = title
        self.update(title, 0, total)

    def advance(self, steps: int = 1) -> None:
        task = self._tasks[self._stage]
        self.update(self._stage, task.completed + steps, task.total)

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Remove the bars while something else is written to the terminal."""
        is_shown = self._bars.live.is_started
        if is_shown:
            self._bars.live.transient = True
            self._bars.stop()
        yield
        if is_shown:
            self._bars.live.transient = False
            self._bars.start()

    def log(self, text: str) -> None:
        self._bars.console.print(escaped(text), soft_wrap=True)
        self._last_line = time.monotonic()

    def log_record(self, name: str, record: Mapping[str, Any]) -> None:
        """Show a log record of the training run `name`; validation metrics get a line of their own."""
        status = (
            f"loss {record['loss']:.3f}, {record['examples_per_second']:,.0f} examples/s, "
            f"{record['nodes_per_second']:,.0f} nodes/s, {format_duration(record['seconds_left'])} left"
        )
        metrics = describe_metrics(record.get("validation", {}))
        fields = {"status": status} | ({"metrics": metrics} if metrics else {})
        self.update(name, record["examples"], record["total_examples"], **fields)
        if metrics:
            self.log(f"{name}: {_status(self._tasks[name])}")

    def update(self, name: str, completed: float, total: float | None, **fields: Any) -> None:
        """Show the progress of an activity. Several activities may run at once."""
        if name not in self._tasks:
            self._bars.add_task(name)
            self._tasks[name] = self._bars.tasks[-1]
        task, now = self._tasks[name], time.monotonic()
        self._bars.update(task.id, completed=completed, total=total, **fields)
        if not self._bars.disable and now - self._began >= SHORT_SECONDS:
            self._bars.start()  # does nothing if they are shown already
        elif self._bars.disable and now - self._last_line >= SECONDS_BETWEEN_LINES:
            self.log(f"{name}: {_status(task)}")

    def remove(self, name: str) -> None:
        """Remove the bar of an activity that has ended."""
        if name in self._tasks:
            self._bars.remove_task(self._tasks.pop(name).id)

    def _end_stage(self) -> None:
        task = self._tasks.get(self._stage)
        if self._bars.disable and task and (elapsed := task.elapsed or 0.0) >= SHORT_SECONDS:
            self.log(f"{self._stage}: {task.completed:,} of {task.total:,} in {format_duration(elapsed)}")


class _StatusColumn(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(_status(task))


def _status(task: Task) -> str:
    status = task.fields.get("status")
    if not status and task.time_remaining:
        status = f"about {format_duration(task.time_remaining)} left"
    return ", ".join(filter(None, [f"{task.completed:,} of {task.total:,}", status, task.fields.get("metrics")]))
