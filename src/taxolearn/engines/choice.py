"""Where tasks run, chosen by a context instead of a parameter that a saved model would carry."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from taxolearn.engines.base import Engine, worker_count
from taxolearn.engines.serial import SerialEngine
from taxolearn.engines.threads import ThreadEngine
from taxolearn.errors import DataError

ENGINES = ("serial", "threads", "ray", "joblib")

_ENGINE: ContextVar[Engine | None] = ContextVar("taxolearn_engine", default=None)


@contextmanager
def engine(name: str, *, address: str | None = None, n_jobs: int | None = None) -> Iterator[Engine]:
    """Inside this context, fits, certificates, predictions and selections hand their tasks to this engine.

    Parameters
    ----------
    name : {"serial", "threads", "ray", "joblib"}
        "ray" needs the extra `cluster`, and joblib takes the backend that `joblib.parallel_config` names.
    address : str, optional
        Of the Ray cluster: "auto" (the default) joins the one that runs on this machine or that RAY_ADDRESS names,
        "host:port" another one. "local" starts one on this machine, and ends it with the context.
    n_jobs : int, optional
        Workers: threads, processes of joblib or of a local Ray, or at most so many of a cluster. All, by default.

    What is not handed out runs on `n_jobs` threads of the estimator, as ever; docs/cluster.md tells what that is.

    >>> from taxolearn import OneVsRestSVM
    >>> with engine("serial"):
    ...     model = OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"])
    >>> model.certificate_.status.value
    'converged'
    """
    made = _make(name, address, n_jobs)
    token = _ENGINE.set(made)
    try:
        yield made
    finally:
        _ENGINE.reset(token)
        made.close()


def _make(name: str, address: str | None, n_jobs: int | None) -> Engine:
    if name not in ENGINES:
        raise DataError(f"engine {name!r} is not known; choose {', '.join(map(repr, ENGINES))}")
    if address is not None and name != "ray":
        raise DataError(f"engine {name!r} has no address; leave it out, or choose 'ray'")
    every = -1 if n_jobs is None else n_jobs
    worker_count(every)  # refuses what is no number of workers before anything is begun
    if name == "ray":
        from taxolearn.engines.ray_engine import RayEngine

        return RayEngine("auto" if address is None else address, n_jobs)
    if name == "joblib":
        from taxolearn.engines.joblib_engine import JoblibEngine

        return JoblibEngine(n_jobs)
    return SerialEngine() if name == "serial" else ThreadEngine(every)


def current_engine() -> Engine | None:
    """The engine of the innermost context, None outside.

    >>> current_engine() is None
    True
    """
    return _ENGINE.get()


def spread(tasks: int) -> int:
    """Into how many pieces work is cut that could as well be done at once: one, unless there are other processes.

    >>> spread(100)
    1
    """
    chosen = _ENGINE.get()
    return 1 if chosen is None else max(1, min(tasks, chosen.n_processes))
