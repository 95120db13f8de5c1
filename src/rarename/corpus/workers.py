"""Tasks on any `concurrent.futures.Executor`; here a pool of new processes, elsewhere perhaps a cluster."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rarename.errors import RarenameError
from rarename.processes import process_pool
from rarename.progress import Progress


@dataclass(frozen=True)
class Task:
    """A call that writes a file."""

    function: Callable[..., None]
    arguments: tuple[Any, ...]
    result: Path  # exists when the task is done
    num_steps: int = 1


class WorkerDied(RarenameError):
    """A process ended while it worked on a task."""


class Workers:
    """Runs tasks on a given executor, or on one of its own, which can be restarted after a worker process died."""

    def __init__(self, jobs: int, executor: Executor | None, progress: Progress) -> None:
        self._jobs, self._progress, self.can_restart = jobs, progress, executor is None
        self._executor = executor or self._new_executor()

    def _new_executor(self) -> Executor:
        return _InlineExecutor() if self._jobs == 1 else process_pool(self._jobs)

    def close(self) -> None:
        if self.can_restart:
            self._executor.shutdown(cancel_futures=True)

    def restart(self) -> None:
        self.close()
        self._executor = self._new_executor()

    def run(self, title: str, tasks: Sequence[Task]) -> None:
        """Run the tasks that are not done yet, as a stage of the progress."""
        todo = [task for task in tasks if not task.result.exists()]
        num_steps = sum(task.num_steps for task in tasks)
        self._progress.start(title, num_steps)
        self._progress.advance(num_steps - sum(task.num_steps for task in todo))
        pending: dict[Future[None], Task] = {}
        try:
            while todo or pending:
                # Few tasks are queued at a time, so that Ctrl-C takes effect soon.
                while todo and len(pending) < 2 * self._jobs:
                    task = todo.pop(0)
                    pending[self._executor.submit(task.function, *task.arguments)] = task
                for future in wait(pending, return_when=FIRST_COMPLETED).done:
                    future.result()
                    self._progress.advance(pending.pop(future).num_steps)
        except BrokenExecutor:
            raise WorkerDied("a worker process died; is there enough memory? Run the same command to resume") from None
        finally:
            for future in pending:
                future.cancel()


class _InlineExecutor(Executor):
    """Runs each task at once, in the calling thread."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(function(*args, **kwargs))
        return future
