"""Tasks on any `concurrent.futures.Executor`: new processes or a cluster; a single job runs in the calling thread."""

from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rarename.errors import RarenameError
from rarename.processes import process_pool
from rarename.progress import Progress

MAX_PENDING = 10_000  # tasks that an executor is given at a time: enough for many workers, and little memory


@dataclass(frozen=True)
class Task:
    """The arguments of a call that writes a file."""

    arguments: tuple[Any, ...]
    result: Path  # exists when the task is done
    num_steps: int = 1


class Workers:
    """Runs tasks on a given executor, or on processes of its own, which are started again after one of them died."""

    def __init__(self, jobs: int, executor: Executor | None, progress: Progress) -> None:
        self._jobs, self._progress, self._given = jobs, progress, executor
        self._executor = executor or (process_pool(jobs) if jobs > 1 else None)

    def close(self) -> None:
        if self._executor and not self._given:
            self._executor.shutdown(cancel_futures=True)

    def run(self, title: str, function: Callable[..., None], tasks: Sequence[Task], can_restart: bool = False) -> None:
        """Call a function for each task that is not done yet, as a stage of the progress.

        With `can_restart`, tasks are run again after a process died; they must fail by themselves if it does not help.
        """
        todo = [task for task in tasks if not task.result.exists()]
        num_steps = sum(task.num_steps for task in tasks)
        self._progress.start(title, num_steps)
        self._progress.advance(num_steps - sum(task.num_steps for task in todo))
        while todo:
            batch = todo[:MAX_PENDING]
            call = self._executor.map if self._executor else map
            arguments = zip(*(task.arguments for task in batch), strict=True)
            try:
                for task, _ in zip(batch, call(function, *arguments), strict=True):
                    self._progress.advance(task.num_steps)
                todo = todo[MAX_PENDING:]
            except BrokenExecutor as error:
                recovers = getattr(self._given, "recovers", False)
                if not can_restart or (self._given and not recovers):
                    advice = "is there enough memory? Run the same command to resume"
                    raise RarenameError(f"{error if recovers else 'a worker process died'}; {advice}") from None
                if not self._given:
                    self.close()
                    self._executor = process_pool(self._jobs)
                todo = [task for task in todo if not task.result.exists()]
