"""Where blocks of work run."""

from taxolearn.engines.interrupts import interrupts
from taxolearn.engines.listening import current_listener, listening
from taxolearn.engines.threads import Outcome, ThreadEngine, worker_count

__all__ = ["Outcome", "ThreadEngine", "current_listener", "interrupts", "listening", "worker_count"]
