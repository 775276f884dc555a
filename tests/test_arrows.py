"""The house's arrows: who may import whom. Read from the sources, so that no path of the code is missed."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HOUSE = ("harness", "engines", "corpora", "oracles", "reports", "fixtures")
DYNAMIC = {"import_module", "__import__"}
# Cython's sources do not parse as Python, but every import and cimport stands at the head of a line.
CYTHON_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?=\S+[ \t]+c?import)|(?P<verb>c?import)[ \t]+)(?P<module>\w+(?:\.\w+)*)",
    re.MULTILINE,
)


def imported(path: Path, package: str) -> Iterator[tuple[int, str]]:
    """Every module a Python file imports, with its line: statements at any depth, and import_module("...").

    `package` is the dotted package that holds the file: relative imports are made absolute by it.
    """
    for node in ast.walk(ast.parse(path.read_text("utf-8"), str(path))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")
                base = ".".join([*parents[: len(parents) - node.level + 1], *([base] if base else [])])
            # `from tokassay import harness` imports a package: the names count too.
            for alias in node.names:
                yield node.lineno, f"{base}.{alias.name}" if base == "tokassay" else base
        elif isinstance(node, ast.Call) and node.args:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            literal = first_literal(node.args[0])
            if name in DYNAMIC and literal:
                yield node.lineno, literal


def typing_only(path: Path) -> set[int]:
    """Lines under `if TYPE_CHECKING:`, which never run."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"), str(path))):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            found.update(range(node.lineno, (node.body[-1].end_lineno or node.lineno) + 1))
    return found


def first_literal(node: ast.expr) -> str:
    """The leading text of a string or f-string; '' for anything else."""
    if isinstance(node, ast.JoinedStr) and node.values:
        node = node.values[0]
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def house_of(module: str) -> str:
    """The house package of a module: `oracles` for tokassay.oracles.merge; '' outside the house."""
    parts = module.split(".")
    return parts[1] if parts[0] == "tokassay" and len(parts) > 1 else ""


def adapter_engines(root: Path) -> dict[str, set[str]]:
    """Adapter file name -> top modules of its engine and of what comes with it, by the roster and its locks."""
    roster = root / "engines" / "engines.toml"
    tables = tomllib.loads(roster.read_text("utf-8")) if roster.exists() else {}
    found: dict[str, set[str]] = {}
    for name, engine in tables.items():
        if isinstance(engine, dict) and "adapter" in engine:
            requirement = re.split(r"[^A-Za-z0-9_.-]", str(engine.get("requirement", "") or name))[0]
            names = found.setdefault(Path(engine["adapter"]).name, set())
            names.add(requirement.replace("-", "_").lower())
            # What comes with the engine counts as the engine: what its lock pins, or what our package always brings.
            if "lock" in engine:
                lock = (root / "engines" / engine["lock"]).read_text("utf-8")
                names.update(re.findall(r"^([A-Za-z0-9_-]+)==", lock, re.MULTILINE))
            if requirement == "tokassay":
                project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
                names.update(re.split(r"[^A-Za-z0-9_-]", line)[0] for line in project["dependencies"])
    return found


def violations(root: Path) -> list[str]:
    """Every import under `root` that goes against the arrows, as `file:line: what`."""
    wrong: list[str] = []
    stdlib = set(sys.stdlib_module_names)
    engines_of = adapter_engines(root)
    for package in HOUSE:
        for path in sorted((root / package).rglob("*.py")):
            shown = path.relative_to(root)
            dotted = ".".join(["tokassay", *shown.parent.parts])
            for line, module in imported(path, dotted):
                top, house = module.split(".")[0], house_of(module)
                if top in HOUSE:
                    wrong.append(f"{shown}:{line}: bare import of {module}")
                elif house and house != package and package != "harness":
                    wrong.append(f"{shown}:{line}: {package} imports {module}")
                if shown.parts[:2] == ("engines", "adapters"):
                    own = engines_of.get(path.name, set()) | {path.stem}
                    ours = f"{module}.".startswith(f"tokassay.engines.{path.stem}.")
                    typing = module == "tokassay.engines.host" and line in typing_only(path)
                    if top not in stdlib and top.lower() not in own and not ours and not typing:
                        wrong.append(f"{shown}:{line}: an adapter imports {module}")
                if shown == Path("engines/host.py") and top not in stdlib:
                    wrong.append(f"{shown}:{line}: the host imports {module}")
        for path in sorted((root / package).rglob("*.p[yx][xdi]")):
            text = path.read_text("utf-8")
            shown = path.relative_to(root)
            for match in CYTHON_IMPORT.finditer(text):
                house = house_of(match["module"])
                if house and house != package:
                    line = text.count("\n", 0, match.start("module")) + 1
                    wrong.append(f"{shown}:{line}: {package} {match['verb'] or 'import'}s {match['module']}")
    return wrong


def test_the_house_keeps_its_arrows() -> None:
    assert violations(ROOT) == []


def test_tests_import_the_installed_package() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {module}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for line, module in imported(path, "tests")
        if module.split(".")[0] in HOUSE
    ]
    assert found == []


PLANTED = {
    "oracles/a.py": ("from tokassay.engines.d import E\n", "oracles imports tokassay.engines.d"),
    "engines/b.py": ("def f():\n    import tokassay.harness.a\n", "engines imports tokassay.harness.a"),
    "corpora/c.py": ("from tokassay import oracles\n", "corpora imports tokassay.oracles"),
    "corpora/r.py": ("from ..oracles import merge\n", "corpora imports tokassay.oracles"),
    "reports/d.py": (
        "from importlib import import_module\nimport_module('tokassay.harness.store')\n",
        "reports imports tokassay.harness.store",
    ),
    "reports/e.py": (
        "import importlib\nimportlib.import_module(f'tokassay.harness.{1}')\n",
        "reports imports tokassay.harness.",
    ),
    "harness/f.py": ("import oracles.merge\n", "bare import of oracles.merge"),
    "engines/adapters/g.py": ("import json\nimport numpy\n", "an adapter imports numpy"),
    "engines/adapters/h.py": (
        "from tokassay.engines.host import x\n",
        "an adapter imports tokassay.engines.host",
    ),
    "engines/host.py": ("import numpy\n", "the host imports numpy"),
    "engines/dat/h.pyx": ("from tokassay.oracles.u cimport step\n", "engines imports tokassay.oracles.u"),
    "engines/dat/i.pyx": ("    cimport tokassay.harness.store\n", "engines cimports tokassay.harness.store"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_violation_is_caught(tmp_path: Path, name: str) -> None:
    text, expected = PLANTED[name]
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(text)
    found = violations(tmp_path)
    assert len(found) == 1
    assert found[0].startswith(f"{name}:") and found[0].endswith(expected)


def test_what_is_allowed_is_not_reported(tmp_path: Path) -> None:
    allowed = {
        "harness/a.py": "from tokassay.oracles import x\nimport tokassay.engines.client\nimport numpy\n",
        "engines/b.py": "from tokassay.engines.host import x\nfrom . import c\n",
        "oracles/c.py": "from importlib.resources import files\nfiles('tokassay.fixtures')\nimport regex\n",
        "engines/adapters/tiktoken.py": "import array\nimport tiktoken\n",
        "engines/adapters/a.py": "if TYPE_CHECKING:\n    from tokassay.engines.host import Unsupported\n",
        "engines/adapters/dat_bpe.py": "from tokassay.engines.dat_bpe import Encoder\n",
        "engines/dat_bpe/d.pyx": "cimport cython\nfrom libc.stdlib cimport malloc\n",
    }
    for name, text in allowed.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert violations(tmp_path) == []
