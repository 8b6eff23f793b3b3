"""Where blocks of work run."""

from taxolearn.engines.base import Clock, Engine, Outcome, worker_count
from taxolearn.engines.blas import blas_threads
from taxolearn.engines.choice import ENGINES, current_engine, engine, spread
from taxolearn.engines.elsewhere import under
from taxolearn.engines.frozen import frozen
from taxolearn.engines.interrupts import interrupts
from taxolearn.engines.listening import current_listener, listening
from taxolearn.engines.run import Run, running
from taxolearn.engines.serial import SerialEngine
from taxolearn.engines.threads import ThreadEngine

__all__ = [
    "ENGINES",
    "Clock",
    "Engine",
    "Outcome",
    "Run",
    "SerialEngine",
    "ThreadEngine",
    "blas_threads",
    "current_engine",
    "current_listener",
    "engine",
    "frozen",
    "interrupts",
    "listening",
    "running",
    "spread",
    "under",
    "worker_count",
]
