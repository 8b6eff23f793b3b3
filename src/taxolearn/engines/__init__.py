"""Where blocks of work run."""

from taxolearn.engines.base import Clock, Engine, Outcome, worker_count
from taxolearn.engines.blas import blas_threads
from taxolearn.engines.interrupts import interrupts
from taxolearn.engines.listening import current_listener, listening
from taxolearn.engines.run import Run, running
from taxolearn.engines.threads import ThreadEngine

__all__ = [
    "Clock",
    "Engine",
    "Outcome",
    "Run",
    "ThreadEngine",
    "blas_threads",
    "current_listener",
    "interrupts",
    "listening",
    "running",
    "worker_count",
]
