"""The core and its trace build with a fault in them.

    python tests/native/planted_build.py PLANT FOLDER [FLAG ...]
"""

from __future__ import annotations

import sys
from pathlib import Path

import cases
from Cython.Build import cythonize
from setuptools import Distribution, Extension

ENGINE = cases.ROOT / "engines" / "dat_bpe"
BUILDS = (("_core", "unity.c", ()), ("_trace", "unity_trace.c", (("DAT_TRACE", "1"),)))


def main(number: str, folder: Path, flags: list[str]) -> None:
    """Build into `folder`, as the packages lie."""
    modules = [
        Extension(
            f"tokassay.engines.dat_bpe.{name}", [str(ENGINE / f"{name}.pyx"), str(ENGINE / "csrc" / unity)],
            define_macros=[*macros, ("DAT_PLANTED", number)], include_dirs=[str(ENGINE)],
            extra_compile_args=["-std=c11", *flags, "-fvisibility=hidden", "-pthread"], extra_link_args=["-pthread"],
        )
        for name, unity, macros in BUILDS
    ]  # fmt: skip
    made = cythonize(modules, quiet=True, build_dir=str(folder / "cython"))
    command = Distribution({"ext_modules": made}).get_command_obj("build_ext")
    command.build_lib, command.build_temp = str(folder), str(folder / "objects")
    command.ensure_finalized()
    command.run()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
