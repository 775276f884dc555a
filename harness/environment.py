"""What a report must say about the machine: operating system, processor and its features, packages."""

from __future__ import annotations

import hashlib
import platform
import re
import sys
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution, version
from importlib.resources import files
from pathlib import Path
from typing import Any

import psutil

# Packages whose version can change an id or a figure.
PACKAGES = ("tokassay", "numpy", "regex", "tiktoken", "tokenizers", "sentencepiece", "pandas", "matplotlib")
# The processor features an engine may choose its code by.
FEATURES = (
    "sse4_2",
    "avx",
    "avx2",
    "bmi2",
    "avx512f",
    "avx512bw",
    "avx512vl",
    "avx512vbmi",
    "sha_ni",
    "asimd",
    "sve",
)


def processor() -> tuple[str, list[str]]:
    """The processor's name and those of its features that are in FEATURES; empty where the system does not tell."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or platform.machine(), []
    name, flags = platform.machine(), set[str]()
    for line in text.splitlines():
        key, _, value = (part.strip() for part in line.partition(":"))
        if key == "model name":
            name = value
        elif key in ("flags", "Features"):
            flags = set(value.split())
            break
    return name, [f for f in FEATURES if f in flags]


def platform_key() -> str:
    """What of the machine is part of a result's key: system, architecture and processor features."""
    return "-".join((platform.system().lower(), platform.machine(), *processor()[1]))


def packages() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


OWN = ("tokassay.engines.dat_bpe", "tokassay.engines.dat_greedy")  # the packages of this project's engines


@lru_cache
def installation(requirement: str) -> str:
    """SHA-256 over what is installed here for a requirement; "" where it is not in this environment.

    A third-party distribution is known by its RECORD, which has a hash of every file. Ours may be installed in place,
    where there is none: then its engines' own files are hashed, the compiled ones first of all.
    """
    name = re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]
    try:
        found = distribution(name)
    except (PackageNotFoundError, ValueError):
        return ""
    sha = hashlib.sha256((found.read_text("RECORD") or "").encode())
    if name == "tokassay":
        for package in OWN:
            for entry in sorted(files(package).iterdir(), key=lambda e: e.name):
                if entry.name.endswith((".so", ".pyd", ".py")):
                    sha.update(entry.name.encode() + b"\0" + entry.read_bytes())
    return sha.hexdigest()


def system() -> str:
    """System, kernel to the second number, machine and C library. What a release says beyond names a host's maker."""
    kernel = re.match(r"\d+(\.\d+)?", platform.release())
    libc = " ".join(platform.libc_ver()).strip()
    words = [platform.system(), kernel[0] if kernel else "", platform.machine()]
    return " ".join(filter(None, words)) + (f", {libc}" if libc else "")


def capture() -> dict[str, Any]:
    """The environment as it goes into the store; nothing that names the user, the host or a path."""
    name, features = processor()
    return {
        "python": sys.version.split()[0],
        "implementation": platform.python_implementation(),
        "platform": system(),
        "cpu": name,
        "cpu_features": features,
        "cores": psutil.cpu_count(logical=True) or 0,
        "usable_cores": len(psutil.Process().cpu_affinity()) if hasattr(psutil.Process, "cpu_affinity") else 0,
        "memory": int(psutil.virtual_memory().total),
        "packages": packages(),
    }
