"""The workers of a Dask cluster as a `concurrent.futures.Executor`. Scheduling and retries are those of Dask."""

import logging
import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rarename.errors import ClusterError

MARKER = ".visible-"  # the beginning of the name of a file that all workers must see
CONNECT_SECONDS, WORKER_SECONDS = 10, 30
CORPUS_PACKAGES = ("numpy", "pyarrow", "tree-sitter", "tree-sitter-javascript")
"""Their versions must agree, so that all workers write the same bytes."""
TRAINING_PACKAGES = ("numpy", "torch")


@dataclass(frozen=True)
class ClusterConfig:
    """A Dask scheduler, and how to reach it. Without files for TLS, Dask's own configuration decides."""

    address: str  # `tcp://HOST:PORT`, `tls://HOST:PORT`, or the path of a scheduler file
    tls_ca_file: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    resources: Mapping[str, float] = field(default_factory=dict)  # that a task needs, such as {"GPU": 1}


@contextmanager
def connect(
    config: ClusterConfig,
    folders: Sequence[Path],
    packages: Sequence[str] = CORPUS_PACKAGES,
    one_thread: bool = False,
) -> Iterator["ClusterExecutor"]:
    """An executor on all workers of a cluster, once each has these versions and sees the folders.

    With `one_thread`, a worker may not run two tasks at once. One that appears later is checked before its first task.
    """
    import cloudpickle
    import psutil
    from distributed import Client
    from distributed.security import Security

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # this command reports errors, once
    options: dict[str, Any] = {"timeout": CONNECT_SECONDS, "set_as_default": False}
    if config.tls_ca_file or config.tls_cert or config.tls_key:
        files = {
            "tls_ca_file": config.tls_ca_file,
            "tls_client_cert": config.tls_cert,
            "tls_client_key": config.tls_key,
        }
        given = {name: str(path) for name, path in files.items() if path}
        options["security"] = Security(require_encryption=True, **given)
    is_file = Path(config.address).is_file()
    try:
        client = Client(**{"scheduler_file" if is_file else "address": config.address}, **options)
    except (OSError, ValueError, TypeError) as error:
        wanted = "expected tcp://HOST:PORT, tls://HOST:PORT or a scheduler file"
        raise ClusterError(f"no Dask scheduler answers at {config.address}; {wanted} ({error})") from None
    markers = [folder.absolute() / f"{MARKER}{platform.node()}-{os.getpid()}" for folder in folders]
    expected = (_versions(packages), *map(str, markers))
    with client, ExitStack() as at_end:
        try:
            client.wait_for_workers(1, timeout=WORKER_SECONDS)
        except TimeoutError:
            advice = f"start some with: dask worker {config.address}"
            raise ClusterError(f"the scheduler at {config.address} has no workers; {advice}") from None
        for marker in markers:
            marker.parent.mkdir(parents=True, exist_ok=True)
            for left in marker.parent.glob(f"{MARKER}{platform.node()}-*"):  # by a command that was killed
                if not psutil.pid_exists(int(left.name.rpartition("-")[2])):
                    left.unlink(missing_ok=True)
            at_end.callback(marker.unlink, missing_ok=True)
            marker.touch()
        workers = client.scheduler_info(n_workers=-1)["workers"]
        for worker, about in sorted(workers.items()):
            if one_thread and about["nthreads"] > 1:
                fault = f"runs {about['nthreads']} tasks in one process; start it with --nthreads 1"
                raise ClusterError(f"the worker {worker} {fault}")
        for name, amount in config.resources.items():
            if not any(about["resources"].get(name, 0) >= amount for about in workers.values()):
                advice = f"start some with: dask worker --resources {name}={amount:g}"
                raise ClusterError(f"no worker at {config.address} has {name}={amount:g}; {advice}")
        this_module = sys.modules[__name__]
        cloudpickle.register_pickle_by_value(this_module)  # a worker may have another rarename, or none
        try:
            for worker, fault in sorted(client.run(_fault, *expected).items()):
                if fault:
                    raise ClusterError(f"the worker {worker} {fault}")
        finally:
            cloudpickle.unregister_pickle_by_value(this_module)
        try:
            executor = client.get_executor(pure=False, resources=dict(config.resources))
            yield ClusterExecutor(executor, expected, len(workers))
        except CancelledError:
            raise ClusterError(f"the connection to {config.address} is lost; run the same command to resume") from None


class ClusterExecutor(Executor):
    """Checks a worker before its first task."""

    recovers = True  # after a BrokenExecutor, it takes tasks again

    def __init__(self, executor: Executor, expected: tuple[str, ...], num_workers: int) -> None:
        self._executor, self._expected, self.num_workers = executor, expected, num_workers

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._executor.submit(_run_checked, self._expected, function, *args, **kwargs)

    def map(self, fn: Callable[..., Any], *iterables: Iterable[Any], **options: Any) -> Iterator[Any]:
        """As in other executors. If too many workers die on a task, it is a BrokenExecutor."""
        from distributed.scheduler import KilledWorker

        try:
            yield from super().map(fn, *iterables, **options)
        except KilledWorker as error:
            last = error.last_worker.address
            raise BrokenExecutor(f"{error.allowed_failures + 1} workers died on a task, the last was {last}") from None


def _run_checked(expected: tuple[str, ...], function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if fault := _cached_fault(*expected):
        raise ClusterError(f"a worker on {platform.node()} {fault}")
    return function(*args, **kwargs)


def _versions(packages: Sequence[str]) -> str:
    from rarename._version import __version__

    installed = [f"rarename {__version__}", f"Python {platform.python_version()}"]
    return ", ".join([*installed, *(f"{name} {version(name)}" for name in packages)])


def _fault(expected: str, *markers: str) -> str:
    """What is wrong with this worker; empty if nothing."""
    try:
        met = _versions([word.split()[0] for word in expected.split(", ")[2:]])
    except ImportError as error:
        met = f"an installation without {error.name}"
    if met != expected:
        return f"has {met}; expected {expected}"
    unseen = next((path.parent for path in map(Path, markers) if not path.exists()), None)
    return f"does not see the folder {unseen}; all workers must share it" if unseen else ""


_cached_fault = cache(_fault)
