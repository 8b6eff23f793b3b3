"""How much memory there is for a task."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_KILOBYTE = 1024


def spare_bytes() -> int:
    """Memory that is free, or can be freed, on this machine or in this container; 0 where nobody says.

    >>> spare_bytes() >= 0
    True
    """
    found = [free for free in (_of_machine(), _of_container()) if free is not None]
    return max(0, min(found, default=0))


def share_of_memory(share: float) -> int:
    """This share of the spare memory, divided among the cores: each may have a task that needs as much.

    >>> 2 * share_of_memory(0.25) <= spare_bytes() + 2**30
    True
    """
    return int(share * spare_bytes() / (os.cpu_count() or 1))


def _of_machine() -> int | None:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * _KILOBYTE
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return None


def _of_container() -> int | None:
    folder = Path("/sys/fs/cgroup")
    with contextlib.suppress(OSError, ValueError):
        return int((folder / "memory.max").read_text()) - int((folder / "memory.current").read_text())
    return None
