"""A newer release of an engine: its lock with hashes, its check, and its ids beside those of the pinned one.

Roster and lock are changed last, and only where the new release has passed its check. Engines that share a lock are one
package under two ways of loading it, and go together.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tokassay.engines.environments import EnvironmentFault, Run, find_uv, install, installed, run_quietly
from tokassay.engines.newest import PYTHON, newest
from tokassay.engines.roster import EngineSpec, load_roster, place
from tokassay.harness.audit import Progress, Request
from tokassay.harness.audit import audit as run_audit
from tokassay.harness.divergences import FAILED
from tokassay.harness.engine_check import Checked, check
from tokassay.harness.errors import AGREED, INFRASTRUCTURE, MISMATCH, NOTHING, InputError, writing
from tokassay.harness.suites import OPERATIONS, CorpusRequest, Suite

WHERE = "tokassay engines refresh"
CORPORA = ("battery", "sample", "fuzz:500")
ENGINE_S = 300.0  # that either release may work in the audit
PYTHON_FLOOR = "3.11"  # of the versions that a lock is made for: pyproject's own


@dataclass(frozen=True)
class Compared:
    """Two releases on the same documents, counted once an operation: `blocks` of them, those whose output is another,
    documents whose verdict or wrong ids are others, those that fail with the new one alone, verdicts of each, and the
    divergences that came and went."""

    documents: int = 0
    blocks: int = 0
    blocks_changed: int = 0
    documents_changed: int = 0
    documents_worse: int = 0
    verdicts: dict[str, dict[str, int]] = field(default_factory=dict)
    appear: list[dict[str, Any]] = field(default_factory=list)
    vanish: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Engine:
    """One engine that the new release changes: it as pinned and as it would be, and what either's check came to."""

    old: EngineSpec
    new: EngineSpec
    before: Checked
    after: Checked
    compared: Compared

    @property
    def passes(self) -> bool:
        """Whether the new release runs, and gives published ids, or the very ids that the pinned one gave."""
        same = bool(self.after.tried) and self.after.tried == self.before.tried
        return not self.after.problem and (self.after.verified or same)


@dataclass
class Refreshed:
    """What came of it: `changed` says whether roster and lock are others now, `why` why not."""

    package: str
    pinned: str
    version: str
    engines: list[Engine] = field(default_factory=list)
    diff: str = ""
    changed: bool = False
    why: str = ""
    exit_code: int = AGREED

    def to_json(self) -> dict[str, Any]:
        """The object of `engines refresh --json`."""
        return {
            "schema": "tokassay.refresh/1", "package": self.package, "pinned": self.pinned, "version": self.version,
            "changed": self.changed, "why": self.why, "diff": self.diff,
            "engines": [
                {
                    "engine": one.old.name, "passes": one.passes, "before": one.before.to_json(),
                    "after": one.after.to_json(), "audit": vars(one.compared),
                }
                for one in self.engines
            ],
            "exit_code": self.exit_code,
        }  # fmt: skip


def refresh(
    spec: EngineSpec,
    roster: Mapping[str, EngineSpec],
    progress: Progress,
    *,
    to: str = "",
    dry_run: bool = False,
    corpora: Sequence[str] = CORPORA,
    rosters: tuple[Path, ...] = (),
    jobs: int = 1,
    run: Run = run_quietly,
) -> Refreshed:
    """Take the newest release of an engine's package, or the version `to`. Raises InputError, EnvironmentFault."""
    name, pinned = spec.package, spec.pinned
    if not pinned or spec.runtime != PYTHON:
        raise InputError(
            f"{spec.name} pins no version of a Python package", where=WHERE,
            remedy="name an engine whose requirement does",
        )
    version = to or _newest(spec, run)
    found = Refreshed(name, pinned, version)
    if version == pinned:
        found.why = "it is the pinned version"
        return found
    group = [one for one in roster.values() if together(one, spec)]
    with tempfile.TemporaryDirectory() as folder:
        progress.note(f"{name} {version}: its lock")
        text = lock_text(spec, version, Path(folder), run)
        lock = Path(folder) / f"{spec.name}.txt"
        lock.write_text(text, encoding="utf-8")
        for old in group:
            found.engines.append(_tried(old, version, lock, progress, corpora, rosters, jobs, run))
        change = Change.of(spec, group, name, version, text)
        found.diff = change.diff()
        found.exit_code = _code(found.engines)
        if not all(one.passes for one in found.engines):
            found.why = "the new release does not pass its check"
        elif spec.environment == "project":
            found.why = "it lives in the project's own environment: change pyproject.toml and the roster together"
        elif dry_run:
            found.why = "a dry run"
        else:
            change.write()
            found.changed = True
    return found


def together(one: EngineSpec, spec: EngineSpec) -> bool:
    """Whether an engine changes with `spec`: it is that, or has its lock."""
    return one.name == spec.name or (one.source == spec.source and one.lock is not None and one.lock == spec.lock)


def lock_text(spec: EngineSpec, version: str, folder: Path, run: Run) -> str:
    """The lock of another version, with hashes. Of what else the old lock pins, as much stays as can. Raises
    EnvironmentFault."""
    uv = find_uv()
    name, pinned = spec.package, spec.pinned
    if uv is None:
        raise EnvironmentFault(f"uv is needed to pin {name}=={version}", where=WHERE, remedy="run: pip install uv")
    before = spec.lock.read_text(encoding="utf-8") if spec.lock is not None and spec.lock.is_file() else ""
    wanted, out = folder / "wanted.in", folder / "wanted.txt"
    wanted.write_text("\n".join([f"{name}=={version}", *beside(before, name)]) + "\n", encoding="utf-8")
    out.write_text(before, encoding="utf-8")  # what it pins is kept where that is possible
    done = run([
        uv, "pip", "compile", "--universal", "--python-version", PYTHON_FLOOR, "--generate-hashes", "--no-header",
        "--output-file", str(out), str(wanted),
    ])  # fmt: skip
    made = out.read_text(encoding="utf-8").replace(f"-r {wanted}", "-r -")
    if done.returncode != 0 or f"{name}=={version}" not in made:
        raise EnvironmentFault(
            f"cannot pin {name}=={version}: {' '.join(done.stderr.split())[-300:] or 'no reason given'}", where=WHERE,
            remedy="check that this version exists for this Python, and that a package index is reached", exit_code=5,
        )
    head = [line for line in before.splitlines() if line.startswith("#")]
    return "".join(line.replace(pinned, version) + "\n" for line in head) + made


def beside(lock: str, name: str) -> list[str]:
    """What a lock was asked for beside the package itself: pins that nothing in it needs."""
    asked, pin = [], ""
    for line in lock.splitlines():
        if found := re.match(r"([A-Za-z0-9._-]+==[^\s;\\]+)", line):
            pin = found[1]
        elif re.match(r"\s+#(?:\s+via)?\s+-r ", line) and not pin.startswith(f"{name}=="):
            asked.append(pin)
    return asked


def _newest(spec: EngineSpec, run: Run) -> str:
    told = newest([spec], run=run)[spec.name]
    if told.problem:
        raise InputError(
            told.problem, where=WHERE, remedy="name a version: --to VERSION", exit_code=INFRASTRUCTURE
        )
    return told.version


def _tried(
    old: EngineSpec, version: str, lock: Path, progress: Progress, corpora: Sequence[str], rosters: tuple[Path, ...],
    jobs: int, run: Run,
) -> Engine:
    """One engine at the new version: installed, checked, and held against the pinned one."""
    name = old.package
    new = replace(
        old, name=f"{old.name}=={version}", requirement=f"{name}=={version}", environment="own", lock=lock
    )
    for each in (old, new):
        if not installed(each):
            progress.note(f"installing {each.requirement}")
            install(each, run=run)
    progress.note(f"checking {new.name}")
    before, after = check(old), check(new)
    compared = Compared()
    vocabularies = tuple(dict.fromkeys(row["vocabulary"] for row in (*before.tried, *after.tried)))
    if vocabularies and not after.problem:
        progress.note(f"{old.name} and {new.name} on {', '.join(vocabularies)}")
        compared = compare(old, new, vocabularies, tuple(corpora), rosters, progress, jobs)
    return Engine(old, new, before, after, compared)


def compare(
    old: EngineSpec, new: EngineSpec, vocabularies: tuple[str, ...], corpora: tuple[str, ...],
    rosters: tuple[Path, ...], progress: Progress, jobs: int = 1,
) -> Compared:
    """An audit of both releases, in a store of its own, and what differs between them."""
    operations = tuple(word for word in OPERATIONS if word in old.operations)
    requests = tuple(CorpusRequest(corpus, operations, ("off",)) for corpus in corpora)
    suite = Suite("refresh", "", vocabularies, (old.name, new.name), requests)
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store.sqlite"
        request = Request(
            suite, store, WHERE, roster=rosters, jobs=jobs, engine_s=ENGINE_S, more=(new,), narrowed_from="refresh"
        )
        outcome = run_audit(request, progress)
        with closing(sqlite3.connect(store)) as db:
            db.row_factory = sqlite3.Row
            return _compared(db, outcome.run, old.name, new.name)


def _compared(db: sqlite3.Connection, run: str, old: str, new: str) -> Compared:
    blocks: dict[tuple[Any, ...], dict[str, sqlite3.Row]] = {}
    verdicts: dict[str, Counter[str]] = {old: Counter(), new: Counter()}
    query = """SELECT rr.engine, rr.corpus, rr.domain, rr.ordinal, rr.documents, r.operation, r.digest, r.verdicts,
                      r.rows, c.name
               FROM run_result rr JOIN result r ON r.id = rr.result JOIN contract c ON c.digest = r.contract
               WHERE rr.run = ?"""
    for row in db.execute(query, (run,)):
        key = row["name"], row["corpus"], row["domain"], row["ordinal"], row["operation"]
        blocks.setdefault(key, {})[row["engine"]] = row
        verdicts[row["engine"]].update(json.loads(row["verdicts"]))
    pairs = [(pair[old], pair[new]) for pair in blocks.values()]
    each = [
        both for one, other in pairs for both in zip(_by_document(one), _by_document(other), strict=True)
    ]  # fmt: skip
    causes: dict[str, dict[tuple[str, ...], dict[str, Any]]] = {old: {}, new: {}}
    for row in db.execute("SELECT * FROM divergence WHERE run = ? ORDER BY ordinal", (run,)):
        causes[row["engine"]].setdefault((row["contract"], row["verdict"], row["signature"]), {
            "contract": row["contract"], "verdict": row["verdict"], "signature": row["signature"],
            "documents": row["documents"], "input": row["input"], "explanation": row["explanation"],
            "command": row["command"],
        })  # fmt: skip
    return Compared(
        documents=sum(one["documents"] for one, _ in pairs),
        blocks=len(pairs),
        blocks_changed=sum(one["digest"] != other["digest"] for one, other in pairs),
        documents_changed=sum(one != other for one, other in each),
        documents_worse=sum(one[0] not in FAILED and other[0] in FAILED for one, other in each),
        verdicts={name: dict(sorted(found.items())) for name, found in verdicts.items()},
        appear=[cause for key, cause in causes[new].items() if key not in causes[old]],
        vanish=[cause for key, cause in causes[old].items() if key not in causes[new]],
    )


def _by_document(row: sqlite3.Row) -> list[tuple[str, Any]]:
    """Verdict and wrong ids of each document of a block."""
    told = {at: (verdict, detail.get("got") if isinstance(detail, dict) else None)
            for at, verdict, detail in json.loads(row["rows"])}  # fmt: skip
    return [told.get(at, told.get(-1, ("match", None))) for at in range(row["documents"])]


def _code(engines: Sequence[Engine]) -> int:
    """5 a release does not run, 4 no ids were compared, 1 wrong ids or documents that only it fails, else 0."""
    if any(one.after.problem for one in engines):
        return INFRASTRUCTURE
    if not any(one.after.tried for one in engines):
        return NOTHING
    worse = any(one.compared.documents_worse or not one.passes for one in engines)
    return MISMATCH if worse else AGREED


@dataclass(frozen=True)
class Change:
    """The files that a new version changes: each path with its text before and after, None where there was none."""

    files: tuple[tuple[Path, str | None, str], ...]
    roster: Path
    names: tuple[str, ...]
    version: str

    @classmethod
    def of(cls, spec: EngineSpec, group: Sequence[EngineSpec], name: str, version: str, lock: str) -> Change:
        """The requirement's line of each table of the group, and their lock where the roster names one."""
        path = Path(spec.source)
        before = path.read_text(encoding="utf-8")
        lines = before.splitlines(keepends=True)
        for one in group:
            at = int(place(path, one.name, "requirement").rpartition(":")[2]) - 1
            lines[at] = lines[at].replace(one.requirement, f"{name}=={version}")
        files: list[tuple[Path, str | None, str]] = [(path, before, "".join(lines))]
        if spec.lock is not None:
            files.append((spec.lock, spec.lock.read_text(encoding="utf-8") if spec.lock.is_file() else None, lock))
        return cls(tuple(files), path, tuple(one.name for one in group), version)

    def diff(self) -> str:
        """A unified diff; of hashes, only how many lines there are."""
        shown: list[str] = []
        for path, before, after in self.files:
            old, new = (_short(text or "").splitlines(keepends=True) for text in (before, after))
            shown += difflib.unified_diff(old, new, f"a/{path.name}", f"b/{path.name}", n=1)
        return "".join(shown)

    def write(self) -> None:
        """Put the new texts in place, all or none: what then is no roster of the new version is put back."""
        with self._or_back():
            for path, _, after in self.files:
                _put(path, after)
            engines = load_roster(self.roster, base=None)
            for name in self.names:
                if engines[name].pinned != self.version:
                    raise InputError(
                        f"the requirement of {name} stands where it was not found", where=str(self.roster),
                        remedy=f"write the line requirement of [{name}] on one line of its own",
                    )

    @contextmanager
    def _or_back(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            for path, before, _ in self.files:
                if before is not None:
                    _put(path, before)
                else:
                    path.unlink(missing_ok=True)
            raise


def _put(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}")
    with writing(str(path), "make the folder writable, or take --dry-run"):
        part.write_text(text, encoding="utf-8")
        os.replace(part, path)


def _short(lock: str) -> str:
    """A lock's text with its hashes counted."""
    shown: list[str] = []
    hashes = 0
    for line in [*lock.splitlines(), ""]:
        if line.lstrip().startswith("--hash="):
            hashes += 1
            continue
        if hashes:
            shown.append(f"    ({hashes} {'hash' if hashes == 1 else 'hashes'})")
            hashes = 0
        shown.append(line.removesuffix(" \\"))
    return "\n".join(shown[:-1] if shown[-1] == "" else shown) + "\n"
