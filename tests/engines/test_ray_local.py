"""A Ray cluster of its own, for the time of a context: nobody else reaches it, and nothing is left of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from engine_tasks import PATIENCE

pytest.importorskip("ray")

LOCAL = """
import os, sys, json
from pathlib import Path
import taxolearn

def below(pid):
    found = [pid]
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            if int(status.read_text().split("PPid:")[1].split()[0]) == pid:
                found += below(int(status.parent.name))
        except OSError:
            pass
    return found

def listening(pids):
    own = {os.readlink(link) for pid in pids for link in Path(f"/proc/{pid}/fd").iterdir() if os.path.islink(link)}
    lines = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()]
    return sorted({part[1].split(":")[0] for part in lines if part[3] == "0A" and f"socket:[{part[9]}]" in own})

with taxolearn.engine("ray", address="local", n_jobs=2) as engine:
    import ray
    from ray._common.usage.usage_lib import usage_stats_enabled
    found = {
        "workers": engine.n_workers,
        "hosts": listening(below(os.getpid())),
        "usage": usage_stats_enabled(),
        "pages": ray._private.worker._global_node.webui_url,
        "status": taxolearn.OneVsRestSVM().fit([[-1.0], [1.0]], ["a", "b"]).certificate_.status,
    }
found["left"] = len(below(os.getpid())) - 1
print(json.dumps(found))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_local_cluster_listens_on_loopback_only_tells_nobody_and_ends(tmp_path):
    told = {
        "RAY_USAGE_STATS_ENABLED",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER",
        "RAY_AUTH_MODE",
        "RAY_AUTH_TOKEN_PATH",
    }
    own = {name: value for name, value in os.environ.items() if name not in told}
    home = tempfile.mkdtemp()  # sockets have short names
    try:
        own |= {"HOME": home, "RAY_TMPDIR": home}
        said = subprocess.run(
            [sys.executable, "-c", LOCAL],
            env=own,
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE,
        )
        assert (Path(home) / ".ray" / "auth_token").exists()  # authentication stays on
    finally:
        shutil.rmtree(home, ignore_errors=True)
    found = json.loads(said.stdout.splitlines()[-1])
    hosts = found.pop("hosts")
    assert hosts
    assert set(hosts) <= {"0100007F", "0000000000000000FFFF00000100007F"}
    assert found == {"workers": 2, "usage": False, "pages": "", "status": "converged", "left": 0}
