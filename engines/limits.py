"""Limits on an engine's process, set by a launcher that then becomes that process.

Run as `<python> -I -S limits.py <JSON limits> <command> ...`: standard library only, Python 3.8 syntax. A
launcher rather than a hook between fork and exec, because such a hook is not safe in a threaded client, and
because a host in another language gets the same limits this way. What was really set goes to the environment
as TOKASSAY_LIMITS, which `hello` repeats.

Limits asked for: memory_mb, cpu_s (re-armed by the host for each request), files, cpus (processors to stay on),
network ("none" where the client has put the process into a network namespace of its own).
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def apply(asked: dict[str, Any]) -> dict[str, Any] | None:
    """Set the limits for this process; what was set, or None where the platform has no limits."""
    try:
        import resource
    except ImportError:
        return None
    done: dict[str, Any] = {"network": asked.get("network", "not restricted")}

    def lower(name: str, value: int) -> bool:
        which = getattr(resource, name, None)
        if which is None:
            return False
        hard = resource.getrlimit(which)[1]
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        try:
            resource.setrlimit(which, (value, hard))
        except (OSError, ValueError):
            return False
        return True

    if lower("RLIMIT_CORE", 0):
        done["core"] = 0
    if asked.get("files") and lower("RLIMIT_NOFILE", int(asked["files"])):
        done["files"] = int(asked["files"])
    if asked.get("cpu_s") and lower("RLIMIT_CPU", int(asked["cpu_s"])):
        done["cpu_s"] = int(asked["cpu_s"])
    if asked.get("cpus") and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, asked["cpus"])
        done["cpus"] = sorted(os.sched_getaffinity(0))
    if asked.get("memory_mb"):
        # Linux counts private writable memory under RLIMIT_DATA. RLIMIT_AS would also count what is only
        # reserved, and allocators and thread pools reserve gigabytes; macOS enforces neither, and there the
        # client's watcher acts alone.
        name = "RLIMIT_DATA" if sys.platform.startswith("linux") else "RLIMIT_AS"
        done["memory_mb"] = int(asked["memory_mb"])
        done["memory"] = "resident set watched"
        if sys.platform != "darwin" and lower(name, int(asked["memory_mb"]) << 20):
            done["memory"] = name + ", resident set watched"
    return done


def main() -> None:
    """Apply the limits of the first argument and become the command of the others."""
    done = apply(json.loads(sys.argv[1]))
    os.environ["TOKASSAY_LIMITS"] = json.dumps("none" if done is None else done)
    os.execv(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
