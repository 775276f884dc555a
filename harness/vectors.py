"""Vectors: small documents with the right answer, the rule that makes it right, and what engines gave at which version.

A vector holds for the engines of its contract. Its level says how strictly:

* `must`: the answer is the only right one;
* `must-not`: the document has no ids and must be refused;
* `declared`: no authority decides; the answer is right for an engine that declares the variants that `contract` names.

What an engine gave is kept by version, right or wrong. The newest of these is what is expected of it: a known
divergence that is gone is reported like a new one, so that the list of them stays true.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version
from tokassay.harness.answers import Answer
from tokassay.harness.contract import Contract
from tokassay.harness.domains import BYTES, NEUTRAL, domain_of
from tokassay.harness.errors import InputError, writing

SCHEMA = "tokassay.vectors/2"
READABLE = ("tokassay.vectors/1", SCHEMA)
MUST, MUST_NOT, DECLARED = LEVELS = ("must", "must-not", "declared")
STAGES = ("", "special", "normalize", "scan", "classify", "pretokenize", "merge", "lookup", "decode", "process")
ENCODE = "encode"
OPERATIONS = (ENCODE, "decode", "decode_stream")
WAIT_S = 10.0  # for another's change: it takes milliseconds
DEFAULTS = {"specials": "off", "byte_policy": "byte-alphabet", "unicode": "16.0"}


@dataclass(frozen=True)
class Recorded:
    """What an engine gave at a version. `like`: the vector that has the same cause in this engine, else ""."""

    engine: str
    version: str
    answer: Answer
    like: str = ""

    def to_json(self) -> dict[str, Any]:
        like = {"like": self.like} if self.like else {}
        return {"engine": self.engine, "version": self.version, **self.answer.to_json(), **like}


@dataclass(frozen=True)
class Vector:
    """One vector. `repeat` is (hex, times) where the document is bytes over and over, else `input_hex` is it.

    `contract` holds the fields that differ from the vocabulary's default contract; `flags` say what is tested;
    `spans` are byte spans of the tokens, where they are given. `where` names the file.
    """

    id: str
    vocabulary: str
    answer: Answer
    input_hex: str = ""
    repeat: tuple[str, int] | None = None
    operation: str = ENCODE
    contract: Mapping[str, Any] = field(default_factory=dict)
    level: str = MUST
    flags: tuple[str, ...] = ()
    stage: str = ""
    title: str = ""
    rule: str = ""
    source: str = ""
    spans: tuple[tuple[int, int], ...] | None = None
    engines: tuple[Recorded, ...] = ()
    where: str = ""

    @property
    def document(self) -> bytes:
        """The bytes to encode (for `decode`: the bytes that the ids decode to)."""
        if self.repeat is not None:
            return bytes.fromhex(self.repeat[0]) * self.repeat[1]
        return bytes.fromhex(self.input_hex)

    def asked_of(self, contract: Contract) -> Contract:
        """The vocabulary's contract with this vector's fields."""
        return Contract.from_json({**contract.to_json(), **self.contract}, where=f"{self.where}, {self.id}")

    def holds_for(self, contract: Contract) -> str:
        """"" where the vector holds under these variants, else which it is for."""
        domain = domain_of(self.document)
        mine = {name: self.contract.get(name, DEFAULTS[name]) for name in ("unicode", "byte_policy")}
        if domain != NEUTRAL and contract.unicode != mine["unicode"]:
            return f"for Unicode {mine['unicode']}"
        if domain == BYTES and contract.byte_policy != mine["byte_policy"]:
            return f"for {mine['byte_policy']}"
        return ""

    def of(self, engine: str) -> list[Recorded]:
        """What is recorded of an engine, oldest version first."""
        return sorted((one for one in self.engines if one.engine == engine), key=lambda one: Version(one.version))

    @property
    def expected(self) -> Answer:
        """The right answer: the ids, or for decoding the document itself."""
        return self.answer if self.operation == ENCODE else Answer.of_text(self.document)

    def right(self, answer: Answer) -> bool:
        return self.expected.same(answer)

    @property
    def wrong(self) -> list[str]:
        """The engines whose newest recorded answer is wrong: the divergences that are known and not healed."""
        names = dict.fromkeys(one.engine for one in self.engines)
        return [name for name in names if not self.right(self.of(name)[-1].answer)]

    def history(self, engine: str) -> dict[str, str]:
        """`first_bad`, `last_bad` and `first_good` after it, with the `last_good` before: versions, where recorded."""
        found: dict[str, str] = {}
        for one in self.of(engine):
            if not self.right(one.answer):
                found.setdefault("first_bad", one.version)
                found["last_bad"] = one.version
                found.pop("first_good", None)
            elif "first_bad" in found:
                found.setdefault("first_good", one.version)
            else:
                found["last_good"] = one.version
        return found

    def recorded(self, *rows: Recorded) -> Vector:
        """The same vector with these answers; of one engine and version the last one counts."""
        kept = {(one.engine, one.version): one for one in (*self.engines, *rows)}
        return replace(self, engines=tuple(sorted(kept.values(), key=lambda one: (one.engine, Version(one.version)))))

    def to_json(self) -> dict[str, Any]:
        made: dict[str, Any] = {"id": self.id, "level": self.level, "vocabulary": self.vocabulary}
        made |= {"operation": self.operation, "contract": dict(self.contract), "flags": list(self.flags)}
        if self.repeat is None:
            made["input_hex"] = self.input_hex
        else:
            made["input_repeat"] = {"hex": self.repeat[0], "times": self.repeat[1]}
        made |= self.answer.to_json() if self.answer.outcome == "ids" else {"ids": None, **self.answer.to_json()}
        made |= {"spans": [list(span) for span in self.spans]} if self.spans is not None else {}
        made |= {name: value for name in ("stage", "title", "rule", "source") if (value := getattr(self, name))}
        return made | ({"engines": [one.to_json() for one in self.engines]} if self.engines else {})


@dataclass(frozen=True)
class VectorFile:
    """A file of vectors. `head` is what else its object holds (about, licence, …)."""

    path: Path
    vectors: tuple[Vector, ...] = ()
    head: Mapping[str, Any] = field(default_factory=dict)

    def find(self, name: str) -> Vector | None:
        return next((one for one in self.vectors if one.id == name), None)

    def with_new(self, vector: Vector) -> VectorFile:
        """The file with one vector more. Raises InputError where there is one of its id."""
        if self.find(vector.id) is not None:
            raise InputError(
                f"there is a vector {vector.id!r}", where=str(self.path),
                remedy="take another id, or `tokassay vectors record`",
            )
        return replace(self, vectors=(*self.vectors, vector))

    def with_vector(self, vector: Vector) -> VectorFile:
        """The file with this vector, in the place of the one of its id where there is one."""
        if self.find(vector.id) is None:
            return replace(self, vectors=(*self.vectors, vector))
        return replace(self, vectors=tuple(vector if one.id == vector.id else one for one in self.vectors))

    def text(self) -> str:
        """The file's text: one line a vector, so that a change is a line."""
        head = {"schema": SCHEMA, **{key: value for key, value in self.head.items() if key != "schema"}}
        lines = [f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}," for key, value in head.items()]
        rows = [f"  {json.dumps(one.to_json(), ensure_ascii=False)}" for one in self.vectors]
        return "\n".join(["{", *lines, ' "vectors": [', ",\n".join(rows), " ]", "}"]) + "\n"

    def save(self) -> None:
        """Write it, whole or not at all. Raises InputError."""
        part = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        with writing(str(self.path)):
            try:
                part.write_text(self.text(), encoding="utf-8")
                os.replace(part, self.path)
            finally:
                part.unlink(missing_ok=True)


def shipped() -> list[Path]:
    """The files of vectors that come with the package."""
    folder = Path(str(files("tokassay.fixtures").joinpath("vectors")))
    return sorted(folder.glob("*.json"))


def load(path: Path, *, missing: bool = False) -> VectorFile:
    """A file of vectors. `missing`: one that is not there is an empty one. Raises InputError."""
    if missing and not path.exists():
        return VectorFile(path)
    try:
        root = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"cannot be read: {error}", where=str(path), remedy="name a file of vectors (tokassay vectors export)"
        ) from None
    if not isinstance(root, dict) or root.get("schema") not in READABLE:
        raise InputError(
            "not a file of vectors", where=str(path), remedy=f"its `schema` must be one of {', '.join(READABLE)}"
        )
    rows = root.get("vectors")
    if not isinstance(rows, list):
        raise InputError("no list `vectors`", where=str(path), remedy="see docs/FORMATS.md#vectors")
    made = tuple(parse(row, f"{path}, vector {n}") for n, row in enumerate(rows, 1))
    seen: set[str] = set()
    for one in made:
        if one.id in seen:
            raise InputError(f"two vectors are called {one.id!r}", where=str(path), remedy="give one another id")
        seen.add(one.id)
    return VectorFile(path, made, {key: value for key, value in root.items() if key not in ("schema", "vectors")})


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Around reading, changing and saving a file: others wait, so that no change is lost. Raises InputError.

    The folder is what is locked: the file itself is replaced, and nothing is left behind. Where a folder cannot be
    locked (Windows, some network drives), a file beside it stands for the lock.
    """
    folder, beside = path.absolute().parent, path.with_name(f".{path.name}.lock")
    with ExitStack() as stack:
        try:
            import fcntl

            opened = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, opened)
            fcntl.flock(opened, fcntl.LOCK_EX)
        except (ImportError, OSError):
            with writing(str(path)):
                _create(beside)
            stack.callback(beside.unlink, missing_ok=True)
        yield


def _create(lock: Path) -> None:
    """The lock file, made by us alone. Raises InputError after a while: whoever made it may have died."""
    limit = time.monotonic() + WAIT_S
    while True:
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
            return
        except FileExistsError:
            if time.monotonic() > limit:
                raise InputError(
                    f"locked for more than {WAIT_S:g} s", where=str(lock),
                    remedy="remove it, if no other `tokassay vectors` is running",
                ) from None
            time.sleep(0.05)


def change(path: Path, changed: Callable[[VectorFile], VectorFile], *, missing: bool = False) -> None:
    """The file as it is now, changed and saved, with nobody in between. Raises InputError."""
    with locked(path):
        changed(load(path, missing=missing)).save()


def load_all(paths: Sequence[Path] = ()) -> list[VectorFile]:
    """The files given, else those that come with the package. Raises InputError."""
    return [load(path) for path in paths or shipped()]


def find(name: str, held: Iterable[VectorFile]) -> tuple[VectorFile, Vector]:
    """A vector by its id, and its file. Raises InputError with the nearest ids."""
    from tokassay.harness.hosts import nearest

    known = []
    for file in held:
        if (vector := file.find(name)) is not None:
            return file, vector
        known += [one.id for one in file.vectors]
    raise InputError(f"no vector is called {name!r}", where="vectors", remedy=nearest(name, known).partition("known")[0]
                     + "`tokassay vectors list` has them")


def parse(row: Any, where: str) -> Vector:
    """One vector of a file. Raises InputError that names it."""
    if not isinstance(row, dict):
        raise InputError("not an object", where=where, remedy="see docs/FORMATS.md#vectors")
    where = f"{where} {row.get('id', '')!r}"

    def wrong(what: str, remedy: str) -> InputError:
        return InputError(what, where=where, remedy=remedy)

    for name in ("id", "vocabulary"):
        if not isinstance(row.get(name), str) or not row[name]:
            raise wrong(f"no {name}", f"give `{name}`")
    try:
        repeat = row.get("input_repeat")
        times = None if repeat is None else (str(repeat["hex"]), int(repeat["times"]))
        bytes.fromhex(row["input_hex"] if times is None else times[0])
        spans = None if row.get("spans") is None else tuple((int(a), int(b)) for a, b in row["spans"])
        contract = dict(row.get("contract", {}))
        engines = tuple(
            Recorded(
                str(one["engine"]), str(Version(one["version"])), Answer.from_json(one, where), str(one.get("like", ""))
            )
            for one in row.get("engines", ())
        )
    except (KeyError, TypeError, ValueError, InvalidVersion) as error:
        raise wrong(f"{type(error).__name__} {error}", "see docs/FORMATS.md#vectors") from None
    answer = Answer.from_json(row, where)
    usual = DECLARED if "byte_policy" in contract else MUST
    level = row.get("level", MUST_NOT if answer.outcome == "reject" else usual)
    operation, stage = row.get("operation", "encode"), row.get("stage", "")
    allowed = (("level", level, LEVELS), ("operation", operation, OPERATIONS), ("stage", stage, STAGES))
    for name, value, values in allowed:
        if value not in values:
            raise wrong(f"{name} is {value!r}", f"use {' | '.join(word for word in values if word)}")
    if (level == MUST_NOT) != (answer.outcome == "reject"):
        raise wrong(f"level {level} and outcome {answer.outcome}", "`must-not` is for what is refused, and only it")
    return Vector(
        id=row["id"], vocabulary=row["vocabulary"], answer=answer, input_hex=row.get("input_hex", ""), repeat=times,
        operation=operation, contract=contract, level=level, flags=tuple(map(str, row.get("flags", ()))), stage=stage,
        title=str(row.get("title", "")), rule=str(row.get("rule", "")), source=str(row.get("source", "")),
        spans=spans, engines=engines, where=where,
    )
