"""Where blocks of work run."""

from taxolearn.engines.threads import Outcome, ThreadEngine, worker_count

__all__ = ["Outcome", "ThreadEngine", "worker_count"]
