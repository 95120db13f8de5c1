"""The workers of a Dask cluster as a `concurrent.futures.Executor`. Scheduling and retries are those of Dask."""

import logging
import platform
import sys
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rarename.errors import ClusterError

CONNECT_SECONDS, WORKER_SECONDS = 5, 30


@dataclass(frozen=True)
class ClusterConfig:
    """A Dask scheduler, and how to reach it. Without files for TLS, Dask's own configuration decides."""

    address: str  # `tcp://HOST:PORT`, `tls://HOST:PORT`, or the path of a scheduler file
    tls_ca_file: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None


@contextmanager
def connect(config: ClusterConfig, folder: Path) -> Iterator[Executor]:
    """An executor on all workers of a cluster, once each has these versions and sees the folder.

    A worker that appears later is checked before its first task.
    """
    import cloudpickle
    from distributed import Client
    from distributed.scheduler import KilledWorker
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
        expected = "expected tcp://HOST:PORT, tls://HOST:PORT or a scheduler file"
        raise ClusterError(f"no Dask scheduler answers at {config.address}; {expected} ({error})") from None
    marker = folder.absolute() / f".visible-{uuid.uuid4().hex}"
    with client:
        try:
            client.wait_for_workers(1, timeout=WORKER_SECONDS)
        except TimeoutError:
            advice = f"start some with: dask worker {config.address}"
            raise ClusterError(f"the scheduler at {config.address} has no workers; {advice}") from None
        folder.mkdir(parents=True, exist_ok=True)  # as `prepare` does
        marker.touch()
        this_module = sys.modules[__name__]
        cloudpickle.register_pickle_by_value(this_module)  # a worker may have another rarename, or none
        try:
            for worker, fault in sorted(client.run(_fault, _versions(), str(marker)).items()):
                if fault:
                    raise ClusterError(f"the worker {worker} {fault}")
        finally:
            cloudpickle.unregister_pickle_by_value(this_module)
        try:
            yield _CheckedExecutor(client.get_executor(pure=False), _versions(), str(marker))
        except KilledWorker as error:
            met = (
                f"{error.allowed_failures + 1} workers died on the same task, the last was {error.last_worker.address}"
            )
            raise ClusterError(f"{met}; is there enough memory? Run the same command to resume") from None
        except CancelledError:
            raise ClusterError(f"the connection to {config.address} is lost; run the same command to resume") from None
        finally:
            marker.unlink(missing_ok=True)


class _CheckedExecutor(Executor):
    def __init__(self, executor: Executor, versions: str, marker: str) -> None:
        self._executor, self._expected = executor, (versions, marker)

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._executor.submit(_run_checked, *self._expected, function, *args, **kwargs)


def _run_checked(versions: str, marker: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if fault := _cached_fault(versions, marker):
        raise ClusterError(f"a worker on {platform.node()} {fault}")
    return function(*args, **kwargs)


def _versions() -> str:
    """What must agree, so that all workers write the same bytes."""
    import numpy
    import pyarrow

    from rarename._version import __version__

    python = platform.python_version()
    return f"rarename {__version__}, Python {python}, numpy {numpy.__version__}, pyarrow {pyarrow.__version__}"


def _fault(expected: str, marker: str) -> str:
    """What is wrong with this worker; empty if nothing."""
    try:
        versions = _versions()
    except ImportError as error:
        versions = f"an installation without {error.name}"
    if versions != expected:
        return f"has {versions}; expected {expected}"
    path = Path(marker)
    return "" if path.exists() else f"does not see the folder {path.parent}; all workers must share it"


_cached_fault = cache(_fault)
