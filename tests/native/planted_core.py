"""The adapter of dat-bpe over another build of its core: that in this file's folder, where planted.py copies it to."""

from __future__ import annotations

import importlib.util
import sys
from importlib.resources import files
from pathlib import Path
from types import ModuleType

BESIDE = Path(__file__).resolve().parent / "tokassay" / "engines" / "dat_bpe"


def loaded(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no module")
    module = importlib.util.module_from_spec(spec)
    # What the host gives to every adapter.
    module.__dict__.update({each: globals()[each] for each in ("Unsupported", "Reject")})
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


# Before anything imports the package: it then takes these for its own.
for core in ("_core", "_trace"):
    loaded(f"tokassay.engines.dat_bpe.{core}", next(BESIDE.glob(f"{core}.*")))

Adapter = loaded("planted_adapter", Path(str(files("tokassay.engines") / "adapters" / "dat_bpe.py"))).Adapter
