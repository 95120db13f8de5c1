"""Tasks on any `concurrent.futures.Executor`: the calling thread, new processes, or a cluster."""

from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from rarename.errors import RarenameError
from rarename.processes import process_pool
from rarename.progress import Progress

MAX_PENDING = 1000  # tasks that wait in an executor: enough for many workers, and little memory


@dataclass(frozen=True)
class Task:
    """A call that writes a file."""

    function: Callable[..., None]
    arguments: tuple[Any, ...]
    result: Path  # exists when the task is done
    num_steps: int = 1


class Workers:
    """Runs tasks on a given executor, or on one of its own, which can be restarted after a worker process died."""

    def __init__(self, jobs: int, executor: Executor | None, progress: Progress) -> None:
        self._jobs, self._progress, self._is_own = jobs, progress, executor is None
        self._executor = executor or self._new_executor()

    def _new_executor(self) -> Executor:
        return _InlineExecutor() if self._jobs == 1 else process_pool(self._jobs)

    def close(self) -> None:
        if self._is_own:
            self._executor.shutdown(cancel_futures=True)

    def run(self, title: str, tasks: Sequence[Task], can_restart: bool = False) -> None:
        """Run the tasks that are not done yet, as a stage of the progress.

        With `can_restart`, tasks are run again after a process died; they must fail by themselves if it does not help.
        """
        todo = _unfinished(dict(enumerate(tasks)))
        num_steps = sum(task.num_steps for task in tasks)
        self._progress.start(title, num_steps)
        self._progress.advance(num_steps - sum(task.num_steps for task in todo.values()))
        while todo:
            try:
                self._run(todo)
            except BrokenExecutor:
                if not (can_restart and self._is_own):
                    advice = "is there enough memory? Run the same command to resume"
                    raise RarenameError(f"a worker process died; {advice}") from None
                self.close()
                self._executor = self._new_executor()
                todo = _unfinished(todo)

    def _run(self, todo: dict[int, Task]) -> None:
        """Run tasks and remove each that is done."""
        pending: dict[Future[None], int] = {}
        done: SimpleQueue[Future[None]] = SimpleQueue()
        waiting = iter(list(todo.items()))
        try:
            while todo:
                while len(pending) < MAX_PENDING and (item := next(waiting, None)):
                    number, task = item
                    future = self._executor.submit(task.function, *task.arguments)
                    pending[future] = number
                    future.add_done_callback(done.put)
                (finished := done.get()).result()
                self._progress.advance(todo.pop(pending.pop(finished)).num_steps)
        finally:
            for future in pending:
                future.cancel()


def _unfinished(tasks: dict[int, Task]) -> dict[int, Task]:
    return {number: task for number, task in tasks.items() if not task.result.exists()}


class _InlineExecutor(Executor):
    """Runs each task at once, in the calling thread."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(function(*args, **kwargs))
        return future
