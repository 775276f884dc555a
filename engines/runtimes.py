"""What engines run on: the host for each runtime, how it is started, and what is known of it. Data, and no branches."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Runtime:
    """One runtime. `host` is a file beside this one; `flags` stand before it, and may name `heap_mb`, the part of an
    engine's memory that its heap may have.

    `pin` stands between package and version in a requirement. `rearms`: the host gives each request its CPU budget; for
    one that cannot, the client does. `asks_unicode`: words after the program that print the Unicode version of its
    strings and regular expressions; none: it has several, and the roster says each engine's.
    """

    host: str
    flags: tuple[str, ...]
    pin: str
    rearms: bool
    program: str
    asks_unicode: tuple[str, ...] = ()
    remedy: str = ""

    def command(self, interpreter: str, memory_mb: int) -> list[str]:
        """Interpreter and flags, before the host's path."""
        # A quarter is left to what lies outside of the heap: documents, ids, code.
        return [interpreter, *(flag.format(heap_mb=memory_mb * 3 // 4) for flag in self.flags)]


RUNTIMES = {
    "python": Runtime(host="host.py", flags=("-I",), pin="==", rearms=True, program=sys.executable),
    "node": Runtime(
        host="host.mjs",
        flags=("--expose-gc", "--max-old-space-size={heap_mb}"),
        pin="@",
        rearms=False,
        program="node",
        asks_unicode=("-p", "process.versions.unicode"),
        remedy="install Node.js 20 or later, with npm, so that `node` is found on PATH",
    ),
}


def program(runtime: str) -> str | None:
    """The runtime's program on this machine, None where it is not installed."""
    return shutil.which(RUNTIMES[runtime].program)


@functools.cache
def unicode_version(runtime: str) -> str | None:
    """The Unicode version of the runtime on this machine (`17.0`); None where it is not installed or does not tell."""
    words, found = RUNTIMES[runtime].asks_unicode, program(runtime)
    if not words or found is None:
        return None
    told = subprocess.run([found, *words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return told.stdout.strip() or None
