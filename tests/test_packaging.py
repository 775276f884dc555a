"""What is shipped and what is loaded: one namespace, typed, none of the tree's own files."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parent.parent
HOUSE = ("harness", "engines", "corpora", "oracles", "reports", "fixtures")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
# Heavy or rival: only the verb that needs one may load it.
HEAVY = {"pandas", "matplotlib", "tiktoken", "tokenizers", "sentencepiece", "pyarrow", "jinja2"}


def shipped() -> list[PurePosixPath]:
    """The files of the installed wheel; for an editable install, those pyproject.toml would put into it."""
    recorded = [PurePosixPath(str(path)) for path in distribution("tokassay").files or ()]
    if PurePosixPath("tokassay/harness/__init__.py") in recorded:
        return recorded
    settings = PROJECT["tool"]["setuptools"]
    found: set[PurePosixPath] = set()
    for package in settings["packages"]:
        folder = ROOT.joinpath(*package.split(".")[1:])
        for pattern in ["*.py", *settings["package-data"].get(package, [])]:
            for path in folder.glob(pattern):
                found.add(PurePosixPath("tokassay", path.relative_to(ROOT).as_posix()))
    return sorted(found)


def after(code: str) -> list[str]:
    """Names in sys.modules of a fresh interpreter, started in the tree's root, after `code`."""
    script = f"""
import json, sys
try:
    {code}
except SystemExit as stop:
    assert stop.code in (0, None), stop.code
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""
    # Not -I: with the root itself on the path, a bare `import harness` would succeed, and must not happen.
    run = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    names: list[str] = json.loads(run.stderr.splitlines()[-1])
    return names


def test_every_package_is_one_namespace() -> None:
    assert not (ROOT / "__init__.py").exists()
    assert PurePosixPath("tokassay/__init__.py") not in shipped()
    assert "tokassay" not in PROJECT["tool"]["setuptools"]["packages"]


def test_every_folder_with_modules_is_listed() -> None:
    listed = {tuple(name.split(".")[1:]) for name in PROJECT["tool"]["setuptools"]["packages"]}
    found = {
        path.parent.relative_to(ROOT).parts for folder in HOUSE for path in (ROOT / folder).rglob("*.py")
    }
    assert found <= listed


def test_nothing_of_the_tree_itself_is_shipped() -> None:
    for path in shipped():
        inside = path.parts[0] == "tokassay" and path.parts[1] in HOUSE
        assert inside or path.parts[0] == ".." or ".dist-info" in path.parts[0] or "__editable__" in str(path)
        assert not {"tests", "docs", ".ci"} & set(path.parts)
        assert path.name not in {"noxfile.py", "conftest.py"}


@pytest.mark.parametrize("package", HOUSE)
def test_every_package_is_typed(package: str) -> None:
    assert PurePosixPath("tokassay", package, "py.typed") in shipped()


@pytest.mark.parametrize("verb", ["encode", "decode"])
def test_a_verb_loads_no_rival_and_no_bare_package(verb: str) -> None:
    words = [verb, "--vocab", "gpt2", *(["--hex", "6162"] if verb == "encode" else ["397"])]
    names = after(f"from tokassay.harness.cli import main; main({words!r})")
    assert f"tokassay.harness.commands.{verb}" in names
    assert HEAVY & set(names) == set()
    assert set(HOUSE) & {name.split(".")[0] for name in names} == set()
