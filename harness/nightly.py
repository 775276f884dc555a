"""A night: fetch, install, audit, self-difference, bench, gate, report; each a command of its own, in one log.

A night lies in a folder of its own, with what was done so far in `night.json`: a killed night goes on with the first
stage that has not been brought to its end. Its commands run in the workspace folder, so that they have one store there.
The gate holds the night to the newest accepted one before it: a night is accepted where its gate found nothing, where
there was none before it, or where somebody says so.
"""

from __future__ import annotations

import json
import os
import secrets
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from tokassay.corpora.open import SOURCES, parts_of_source
from tokassay.engines.environments import installed
from tokassay.engines.roster import load_roster
from tokassay.harness.errors import AGREED, INFRASTRUCTURE, MISMATCH, NOTHING, REGRESSION, USAGE, InputError
from tokassay.harness.history import asked, reading
from tokassay.harness.lanes import ALL, INSTALLED
from tokassay.harness.store import Store
from tokassay.harness.suites import CorpusRequest, load_suite, narrowed
from tokassay.harness.texts import missing

SCHEMA = "tokassay.night/1"
STORE = "tokassay.sqlite"
# The worst first: nothing may hide a mismatch, then come the ways in which a night is not whole.
WORST = (MISMATCH, INFRASTRUCTURE, USAGE, REGRESSION, NOTHING, AGREED)
UNSETTLED = (USAGE, INFRASTRUCTURE)  # a stage that ended so is asked again when its night goes on
SELF_CORPORA = ("battery", "sample")
BENCH = "--vocab gpt2 --text english --size 1"
TABOO = "/ \t\n"


@dataclass(frozen=True)
class Plan:
    """What a night does. `bench` holds the words after `tokassay bench`; paths are absolute."""

    suite: str = "standard"
    engines: tuple[str, ...] = (ALL,)
    vocabularies: tuple[str, ...] = ()
    corpora: tuple[str, ...] = ()
    rosters: tuple[str, ...] = ()
    engine_minutes: float = 10.0
    jobs: int = 0
    skip: tuple[str, ...] = ()  # stages that are left out
    bench: str = BENCH
    tolerance: float = 0.05

    @property
    def narrowing(self) -> list[str]:
        """The options that `audit` has in common with `audit --self`."""
        words = ["--suite", self.suite, "--engine-minutes", f"{self.engine_minutes:g}"]
        for option, values in (("--engine", self.engines), ("--vocab", self.vocabularies), ("--roster", self.rosters)):
            words += [word for value in values for word in (option, value)]
        return words + (["--jobs", str(self.jobs)] if self.jobs else [])


@dataclass
class Done:
    """A stage that was brought to its end. `code` is its exit code; `counts` whether it counts for the night's."""

    stage: str
    started: str
    seconds: float
    code: int
    counts: bool = True
    said: list[str] = field(default_factory=list)


@dataclass
class Night:
    """A night as `night.json` has it. `run` and `bench` are ids in the store; `accepted`: it may be a baseline."""

    id: str
    started: str
    plan: dict[str, Any]
    baseline: str | None = None
    finished: str | None = None
    exit_code: int | None = None
    accepted: bool = False
    run: str | None = None
    bench: str | None = None
    stages: list[Done] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **asdict(self)}

    def done(self, stage: str) -> Done | None:
        return next((one for one in self.stages if one.stage == stage), None)


Say = Callable[[str], None]


class Nights:
    """The nights of a workspace folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.store = self.folder / STORE

    def home(self, night: str) -> Path:
        return self.folder / "nights" / night

    def read(self, night: str) -> Night:
        """A night by its id. Raises InputError."""
        path = self.home(night) / "night.json"
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            schema = found.pop("schema")
            stages = [Done(**one) for one in found.pop("stages")]
            told = Night(**found, stages=stages)
        except FileNotFoundError:
            known = ", ".join(one.id for one in self.all()[-4:]) or "none"
            remedy = f"the latest nights are: {known}"
            raise InputError(f"there is no night {night!r}", where=str(self.folder), remedy=remedy) from None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"is no night ({error})", where=str(path), remedy="delete its folder") from None
        if schema != SCHEMA:
            raise InputError(f"is of schema {schema}", where=str(path), remedy=f"this tokassay reads {SCHEMA}")
        return told

    def all(self) -> list[Night]:
        """Every night, the oldest first."""
        paths = (self.folder / "nights").glob("*/night.json")
        return sorted((self.read(path.parent.name) for path in paths), key=lambda one: (one.started, one.id))

    def write(self, night: Night) -> None:
        """Beside and renamed, so that a night that is killed while it writes has its former state."""
        home = self.home(night.id)
        home.mkdir(parents=True, exist_ok=True)
        beside = home / ".night.json"
        beside.write_text(json.dumps(night.to_json(), indent=1) + "\n", encoding="utf-8")
        beside.replace(home / "night.json")

    def baseline(self, night: Night) -> Night | None:
        """The newest accepted night of the same suite that is older than this one."""
        usable = [one for one in self.all() if one.accepted and one.run and one.plan["suite"] == night.plan["suite"]]
        older = [one for one in usable if (one.started, one.id) < (night.started, night.id)]
        return older[-1] if older else None

    def begin(self, plan: Plan, name: str | None = None) -> Night:
        """The night `name`; without a name the newest one if it is not at its end and has this plan, else a new one
        that is named after today. Raises InputError for a name that is of another plan."""
        told = json.loads(json.dumps(asdict(plan)))
        known = self.all()
        if name is None:
            if known and known[-1].finished is None and known[-1].plan == told:
                return known[-1]
            taken = {one.id for one in known}
            today = f"{datetime.now(UTC):%Y-%m-%d}"
            name = next(one for one in (today, *(f"{today}.{n}" for n in range(2, 1000))) if one not in taken)
        elif any(one.id == name for one in known):
            night = self.read(name)
            if night.plan != told:
                raise InputError(
                    "was begun with other options",
                    where=f"--night {name}",
                    remedy="repeat those, or name another night",
                )
            return night
        if not name or name.startswith(".") or set(name) & set(TABOO):
            raise InputError(f"{name!r} cannot name a folder", where="--night", remedy="use letters, digits and -")
        night = Night(name, now(), told)
        self.write(night)
        return night

    def accept(self, name: str) -> Night:
        """Make a night one that later ones are held to. Raises InputError."""
        night = self.read(name)
        if night.run is None:
            raise InputError("has no run to hold another one to", where=f"--accept {name}", remedy="name another night")
        night.accepted = True
        self.write(night)
        return night


@dataclass
class At:
    """Where a stage stands: its night, the folder, and how a command of ours is run."""

    nights: Nights
    night: Night
    plan: Plan
    tell: Callable[[Sequence[str], str], int]  # words after `tokassay`, the file for what it prints -> exit code

    def file(self, name: str) -> Path:
        return self.nights.home(self.night.id) / name

    def json(self, name: str) -> dict[str, Any]:
        """What a command printed; {} where it printed nothing."""
        try:
            found = json.loads(self.file(name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


Stage = Callable[[At], tuple[int, list[str]]]  # -> exit code, what there is to say


def fetch(at: At) -> tuple[int, list[str]]:
    """What the suite and the bench read, into the cache; each is looked up there first."""
    suite = narrowed(load_suite(at.plan.suite), vocabularies=at.plan.vocabularies, corpora=at.plan.corpora)
    texts = catalogued(suite.corpora) + ([] if "bench" in at.plan.skip else missing(texts_of(at.plan.bench)))
    names = [name.partition("@")[0] for name in suite.vocabularies if not os.path.exists(name.partition("@")[0])]
    codes = [at.tell(("corpora", "fetch", *dict.fromkeys(texts)), "")] if texts else []
    codes += [at.tell(("vocab", "fetch", *dict.fromkeys(names)), "")] if names else []
    return worst(codes), [f"{len(texts)} texts, {len(names)} vocabularies"]


def catalogued(corpora: Sequence[CorpusRequest]) -> list[str]:
    """The specs of a suite that are fetched: neither made nor a path."""
    found = (asked.spec for asked in corpora)
    return [
        spec
        for spec in found
        if parts_of_source(spec) or (spec.partition(":")[0] not in SOURCES and not is_path(spec))
    ]


def is_path(spec: str) -> bool:
    return "/" in spec or "@" in spec or os.path.exists(spec)


def texts_of(bench: str) -> list[str]:
    """The kinds of text that the bench's words name."""
    words = shlex.split(bench)
    named = (words[place + 1] for place, word in enumerate(words[:-1]) if word == "--text")
    return [kind for text in named for kind in text.split(",")]


def install(at: At) -> tuple[int, list[str]]:
    """The engines of the roster that have an environment of their own. One that is asked for by name must install;
    where all are meant, those that cannot (no wheel for this platform) are named, and the gate sees who is gone."""
    roster = load_roster(*at.plan.rosters)
    named = [name for name in at.plan.engines if name not in (ALL, INSTALLED)]
    wanted = [*named, *(roster if ALL in at.plan.engines else ())]
    asked = [roster[name] for name in dict.fromkeys(wanted) if name in roster]
    absent = [spec.name for spec in asked if not spec.unavailable and not installed(spec)]
    options = [word for path in at.plan.rosters for word in ("--roster", path)]
    codes = {name: at.tell(("engines", "install", name, *options), "") for name in absent}
    failed = [name for name, code in codes.items() if code]
    said = [f"{len(absent)} to install"] + ([f"not installed: {', '.join(failed)}"] if failed else [])
    return worst([codes[name] for name in failed if name in named]), said


def audit(at: At) -> tuple[int, list[str]]:
    """The suite; what the store knows of unchanged engines is not asked again, and that is counted."""
    words = ["audit", *at.plan.narrowing, "--store", STORE, "--out", str(at.file("audit")), "--json"]
    code = at.tell(words + [word for spec in at.plan.corpora for word in ("--corpus", spec)], "audit.json")
    at.night.run = at.json("audit.json").get("run")
    if at.night.run is None:
        return (code or INFRASTRUCTURE), ["no run"]
    with closing(reading(at.nights.store)) as db:
        return code, [f"run {at.night.run}", asked(db, at.night.run).sentence]


def against_itself(at: At) -> tuple[int, list[str]]:
    """Each engine against itself, over small corpora: every way is a host of its own."""
    corpora = [word for spec in at.plan.corpora or SELF_CORPORA for word in ("--corpus", spec)]
    code = at.tell(["audit", "--self", *at.plan.narrowing, *corpora, "--json"], "self.json")
    rows = at.json("self.json").get("rows", [])
    return code, [f"{sum(row['verdict'] == 'same' for row in rows)} of {len(rows)} ways are the same"]


def bench(at: At) -> tuple[int, list[str]]:
    """A small bench, for the speeds of the gate and of `history`."""
    code = at.tell(["bench", *shlex.split(at.plan.bench), "--json"], "bench.json")
    report = at.json("bench.json")
    if not report.get("cells"):
        return (code or NOTHING), ["nothing was measured"]
    at.night.bench = kept(at.nights.store, report)
    return code, [f"bench {at.night.bench}"]


def kept(path: Path, report: dict[str, Any]) -> str:
    """The id of a bench in the store, which it is put into if it is not there."""
    report.setdefault("id", secrets.token_hex(6))
    store = Store(path)
    try:
        if not store.db.execute("SELECT 1 FROM bench WHERE id = ?", (report["id"],)).fetchone():
            store.add_bench(report)
    finally:
        store.close()
    return str(report["id"])


def gate(at: At) -> tuple[int, list[str]]:
    """The night held to its baseline; the first one has none."""
    before = at.nights.baseline(at.night)
    at.night.baseline = before.id if before else None
    if at.night.run is None:
        return NOTHING, ["there is no run to judge"]
    if before is None:
        return AGREED, ["no night before this one: there is no baseline, and the audit alone decides"]
    words = ["gate", "--store", STORE, "--baseline", str(before.run), "--run", at.night.run]
    if at.night.bench and before.bench:
        words += ["--bench-baseline", before.bench, "--bench", at.night.bench]
    own = at.file("self.json"), at.nights.home(before.id) / "self.json"
    if at.json("self.json") and own[1].is_file():
        words += ["--self", str(own[0]), "--self-baseline", str(own[1])]
    words += ["--tolerance", f"{at.plan.tolerance:g}", "--junit", str(at.file("gate.xml"))]
    code = at.tell([*words, "--sarif", str(at.file("gate.sarif")), "--json"], "gate.json")
    judged = at.json("gate.json")
    return (code if judged else code or INFRASTRUCTURE), [f"baseline {before.id}", *judged.get("sentences", [])]


def report(at: At) -> tuple[int, list[str]]:
    """The site of all nights, in the workspace's folder."""
    if at.night.run is None:
        return NOTHING, ["there is no run to report"]
    return at.tell(["report", "build", "--store", STORE, "--out", "site"], ""), ["site/index.html"]


STAGES: dict[str, Stage] = {
    "fetch": fetch,
    "install": install,
    "audit": audit,
    "self": against_itself,
    "bench": bench,
    "gate": gate,
    "report": report,
}
NEEDED = ("audit", "gate")  # the others can be left out
# Their mismatches are the gate's to judge, where there is a baseline: what was known is no news.
JUDGED = ("audit", "self")


def run(nights: Nights, night: Night, plan: Plan, say: Say = lambda _: None) -> Night:
    """Go through the stages, from the first that is not at its end; the night's exit code is the worst of theirs.

    Another night in the same folder is waited for. What ends this process ends the running command, and leaves the
    stage to be done again.
    """
    home = nights.home(night.id)
    home.mkdir(parents=True, exist_ok=True)
    with alone(nights.folder / ".lock", say) as lock, (home / "night.log").open("a", encoding="utf-8") as log:

        def note(text: str) -> None:
            log.write(f"{now()} {text}\n")
            log.flush()
            say(text)

        def tell(words: Sequence[str], output: str) -> int:
            note(f"  {shlex.join(['tokassay', *words])}")
            return child(words, nights.folder, log, home / output if output else None, lock)

        at, left = At(nights, night, plan, tell), list(STAGES)
        while left and (found := night.done(left[0])) is not None and found.code not in UNSETTLED:
            left.pop(0)
        # What comes after a stage that is done again is done again, too: it may depend on it.
        night.stages = [one for one in night.stages if one.stage not in left]
        night.finished, night.exit_code = None, None
        nights.write(night)
        note(f"night {night.id}" + (f" goes on with {left[0]}" if night.stages and left else ""))
        for name in left:
            begun, clock = now(), time.monotonic()
            note(f"{name}")
            code, said = (AGREED, ["left out"]) if name in plan.skip else STAGES[name](at)
            code = code if code in WORST else INFRASTRUCTURE  # it was ended by a signal, or is no exit code of ours
            done = Done(name, begun, round(time.monotonic() - clock, 3), code, said=said)
            night.stages.append(done)
            nights.write(night)
            note(f"{name}: exit code {code}, {done.seconds:.1f} s")
            for sentence in said:
                note(f"  {sentence}")
        finish(night)
        nights.write(night)
        note(f"night {night.id}: exit code {night.exit_code}")
    return night


def finish(night: Night) -> None:
    """The night's exit code, and whether later ones may be held to it."""
    for one in night.stages:
        one.counts = not (night.baseline and one.stage in JUDGED and one.code == MISMATCH)
    night.exit_code = worst([one.code for one in night.stages if one.counts])
    audited, judged = night.done("audit"), night.done("gate")
    whole = audited is not None and audited.code in (AGREED, MISMATCH)
    night.accepted = whole and night.run is not None and judged is not None and judged.code == AGREED
    night.finished = now()


def worst(codes: Sequence[int]) -> int:
    """The worst of some exit codes, in the order of WORST; one that is not in it is an infrastructure failure."""
    return min((code if code in WORST else INFRASTRUCTURE for code in codes), key=WORST.index, default=AGREED)


def child(words: Sequence[str], folder: Path, log: IO[str], output: Path | None, lock: int | None) -> int:
    """Run `tokassay WORDS` in a folder; its errors go into the log, its output into a file, or into the log too.

    It holds the lock for as long as it lives, so that a night whose parent was killed is not gone on with beside it.
    """
    command = [sys.executable, "-c", "from tokassay.harness.cli import main; main()", *words]
    with output.open("w", encoding="utf-8") if output else nothing(log) as out:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=log,
            pass_fds=() if lock is None else (lock,),
        )  # fmt: skip
        try:
            return process.wait()
        except BaseException:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(30)
            process.kill()
            raise


@contextmanager
def nothing(log: IO[str]) -> Iterator[IO[str]]:
    """The log as it is: it stays open."""
    yield log


@contextmanager
def alone(path: Path, say: Say) -> Iterator[int | None]:
    """Hold the workspace's lock; its descriptor, or None where the platform has no such locks."""
    try:
        import fcntl
    except ImportError:
        yield None
        return
    with path.open("w", encoding="utf-8") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say("another night is at work in this folder; waiting for it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle.fileno()


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
