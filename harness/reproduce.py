"""For the authors of an engine: a script that needs their package alone, and a report in Markdown."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from tokassay.corpora.fetch import cache_dir
from tokassay.engines.environments import interpreter, with_version
from tokassay.engines.roster import EngineSpec
from tokassay.engines.runtimes import RUNTIMES
from tokassay.harness.cases import load_for, vocabulary_of
from tokassay.harness.errors import InputError, writing
from tokassay.harness.hosts import find_spec, target
from tokassay.harness.load import Loaded
from tokassay.harness.materialize import materialize
from tokassay.harness.pieces import view
from tokassay.harness.vectors import Recorded, Vector

LIMIT_S = 60
LATE = 124  # exit status of a script that did not end, as of timeout(1)
SUFFIXES = {"python": ".py", "node": ".mjs"}  # of a script, by the engine's runtime
LANGUAGES = {"python": "python", "node": "js"}
SHOWN = 200  # bytes of a document that a report spells out
_LOADED: dict[str, Loaded] = {}


@dataclass(frozen=True)
class Reproducer:
    """What `write` puts into a folder: a script, a report, and the vocabulary where the engine takes one."""

    vector: Vector
    engine: str
    recorded: Recorded
    script: str
    report: str
    vocabulary: Path | None
    vocabulary_name: str
    suffix: str = ".py"

    @property
    def stem(self) -> str:
        return f"{self.vector.id}-{self.engine}"

    def write(self, folder: Path) -> list[Path]:
        """Write all of it; the paths. Raises InputError."""
        made = [folder / f"{self.stem}{self.suffix}", folder / f"{self.stem}.md"]
        with writing(f"--out {folder}", "name a folder that can be made and written"):
            folder.mkdir(parents=True, exist_ok=True)
            made[0].write_text(self.script, encoding="utf-8")
            made[1].write_text(self.report, encoding="utf-8")
            if self.vocabulary is not None:
                made.append(folder / self.vocabulary_name)
                shutil.copyfile(self.vocabulary, made[-1])
        return made


def reproducer(vector: Vector, engine: str | None, roster: Mapping[str, EngineSpec]) -> Reproducer:
    """Script and report for the newest wrong answer that is recorded of an engine. Raises InputError."""
    recorded = _wrong(vector, engine)
    spec = find_spec(recorded.engine, roster, where="tokassay vectors reproduce")
    lines = spec.reproduce
    if not {"imports", "load", vector.operation} <= set(lines):
        raise InputError(
            f"the roster does not say how a script calls {spec.name} to {vector.operation}", where=spec.source,
            remedy=f"add a table [{spec.name}.reproduce] (docs/ADDING_AN_ENGINE.md)",
        )
    loaded = _loaded(vector)
    asked = vector.asked_of(loaded.contract)
    contract = target(spec.name, asked, roster).contract
    path, name = None, ""
    used = ("imports", "load", vector.operation)
    if form := lines.get("file"):
        made = materialize(loaded, contract, cache_dir() / "vocab")
        if contract.algorithm == "opaque" and form == loaded.format:
            form = "source"  # as it was given: nothing is derived from what is not modelled
        if form not in made:
            raise InputError(f"no {form} can be derived from {loaded.name}", where=vector.id, remedy="name another")
        path = Path(made[form])
        name = path.name if form == "source" else f"{Path(loaded.name).stem}.{form}"
    values: dict[str, Any] = {
        "vector": vector, "recorded": recorded, "history": vector.history(spec.name), "rows": vector.of(spec.name),
        "package": spec.requirement.rpartition(RUNTIMES[spec.runtime].pin)[0], "engine": spec, "calls": lines,
        "uses": lambda word: any(re.search(rf"\b{word}\b", lines[name]) for name in used if name in lines),
        "vocabulary": name, "encoding": _encoding(spec, loaded), "contract": contract, "limit": LIMIT_S,
        "expected": list(vector.answer.ids or ()), "loaded": loaded, "shown": _shown(vector), "title": _title(vector),
        "fence": "```", "specials": dict(contract.special_tokens) if contract.specials == "on" else {},
        "language": LANGUAGES[spec.runtime],
    }
    suffix = SUFFIXES[spec.runtime]
    values["script"] = _render(f"reproduce{suffix}.j2", values)
    return Reproducer(
        vector, spec.name, recorded, values["script"], _render("reproduce.md.j2", values), path, name, suffix
    )


def run(made: Reproducer, folder: Path, roster: Mapping[str, EngineSpec]) -> tuple[int, str]:
    """Run the script in the engine's environment, at the version of the answer: exit status, and what it printed.

    0: the answer is right; anything else: it is not, or the process died or did not end. Raises EnvironmentFault.
    """
    program = interpreter(with_version(roster[made.engine], made.recorded.version)).absolute()
    packages, link = program.parent.parent / "node_modules", folder / "node_modules"
    if made.suffix == SUFFIXES["node"]:  # a module's packages are looked for beside it
        if link.is_symlink():  # of another engine's script
            link.unlink()
        if not link.exists():
            link.symlink_to(packages, target_is_directory=True)
    try:
        done = subprocess.run(
            [str(program), f"{made.stem}{made.suffix}"], cwd=folder, capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL, timeout=3 * LIMIT_S,
        )
    except subprocess.TimeoutExpired:  # a script in JavaScript has no limit of its own
        return LATE, f"it did not end within {3 * LIMIT_S} s\n"
    return done.returncode, done.stdout + done.stderr


def _loaded(vector: Vector) -> Loaded:
    """Its vocabulary, loaded once for all vectors of it."""
    name = vocabulary_of(vector)
    if name not in _LOADED:
        _LOADED[name] = load_for(vector)
    return _LOADED[name]


def _wrong(vector: Vector, engine: str | None) -> Recorded:
    wrong = [one for one in vector.engines if not vector.right(one.answer) and engine in (None, one.engine)]
    if not wrong:
        who = f"of {engine} " if engine else ""
        raise InputError(
            f"no wrong answer {who}is recorded in {vector.id}", where="tokassay vectors reproduce",
            remedy=f"record one: tokassay vectors record {vector.id} ENGINE==VERSION",
        )
    names = dict.fromkeys(one.engine for one in wrong)
    if len(names) > 1:
        raise InputError(
            f"{vector.id} has wrong answers of several engines", where="tokassay vectors reproduce",
            remedy=f"name one of {', '.join(names)}",
        )
    return [one for one in vector.of(wrong[0].engine) if not vector.right(one.answer)][-1]


def _encoding(spec: EngineSpec, loaded: Loaded) -> str:
    """The name by which a package with vocabularies of its own calls this one."""
    return str(dict(spec.options.get("names", {})).get(loaded.file_sha256, loaded.name))


def _title(vector: Vector) -> str:
    return vector.title or vector.rule.partition(":")[0]


def _shown(vector: Vector) -> str:
    """The document as one can read it."""
    if vector.repeat is not None:
        return f"{view(bytes.fromhex(vector.repeat[0]))} × {vector.repeat[1]:,}"
    return view(vector.document[:SHOWN]) + (" …" if len(vector.document) > SHOWN else "")


def _render(template: str, values: Mapping[str, Any]) -> str:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    folder = files("tokassay.reports").joinpath("templates")
    made = Environment(
        loader=FunctionLoader(lambda name: folder.joinpath(name).read_text(encoding="utf-8")),
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, autoescape=False,
    )
    made.filters["json"] = partial(json.dumps, ensure_ascii=False)  # as it is, with no mark escaped for HTML
    return made.get_template(template).render(values)
