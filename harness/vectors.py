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
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version
from tokassay.harness.answers import ANSWER_FIELDS, Answer, Field, check_fields, is_hex, is_number, is_text
from tokassay.harness.contract import UNICODE_STEPS, Contract
from tokassay.harness.domains import BYTES, EARLIEST, NEUTRAL, domain_of, ordered, renormalized_by, since_earliest
from tokassay.harness.errors import InputError, writing

SCHEMA = "tokassay.vectors/2"
READABLE = ("tokassay.vectors/1", SCHEMA)
MUST, MUST_NOT, DECLARED = LEVELS = ("must", "must-not", "declared")
STAGES = ("", "special", "normalize", "scan", "classify", "pretokenize", "merge", "lookup", "decode", "process")
ENCODE = "encode"
OPERATIONS = (ENCODE, "decode", "decode_stream")
WAIT_S = 10.0  # for another's change: it takes milliseconds
MAX_DOCUMENT = 2**30
DEFAULTS = {"specials": "off", "byte_policy": "byte-alphabet", "unicode": "16.0"}


def _named(value: Any) -> bool:
    return is_text(value) and value != ""


def _repeated(value: Any) -> bool:
    if not isinstance(value, dict) or value.keys() != {"hex", "times"} or not is_hex(value["hex"]):
        return False
    return is_number(value["times"], 1, MAX_DOCUMENT // max(1, len(bytes.fromhex(value["hex"]))))


def _span(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(is_number, value)) and value[0] <= value[1]


def _version(value: Any) -> bool:
    try:
        return str(Version(value)) != ""
    except (TypeError, InvalidVersion):
        return False


def _one_of(words: Sequence[str]) -> Field:
    return Field(lambda value: value in words, " | ".join(filter(None, words)))


TEXT = Field(is_text, "a text")
FIELDS: Mapping[str, Field] = {
    # It is a part of the names of files (`reproduce`): no folder can be named by it.
    "id": Field(
        lambda value: is_text(value) and re.fullmatch(r"(?!\.)[A-Za-z0-9_.-]+", value) is not None,
        "letters, digits, `-`, `_` and `.`, the first of them no `.`",
    ),
    "vocabulary": Field(_named, "a name (tokassay vocab list), or a path beside the file"),
    "level": _one_of(LEVELS), "operation": _one_of(OPERATIONS), "stage": _one_of(STAGES),
    "contract": Field(lambda value: isinstance(value, dict), "an object: what differs from the vocabulary's contract"),
    "flags": Field(is_text, "a list of words", each=True),
    "input_hex": Field(is_hex, "the document in hex"),
    "input_repeat": Field(_repeated, "`hex`, and `times` from 1 on: at most 1 GiB of document", null=True),
    **{name: field for name, field in ANSWER_FIELDS.items() if name != "text_hex"},
    "outcome": _one_of(("ids", "reject")),
    "spans": Field(_span, "pairs of byte offsets, begin and end of each token", each=True, null=True),
    "title": TEXT, "rule": TEXT, "source": TEXT,
    "engines": Field(lambda value: isinstance(value, dict), "a list of objects: what engines gave", each=True),
    "contract_digest": TEXT, "file": TEXT,  # of an export
}
RECORDED: Mapping[str, Field] = {
    "engine": Field(_named, "the engine's name"), "version": Field(_version, 'a version such as "1.0.2"'),
    "like": TEXT, **ANSWER_FIELDS,
}
PLAIN = ("id", "vocabulary", "input_hex", "operation", "stage", "title", "rule", "source")  # kept as they are written


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
        return Contract.from_json({**contract.to_json(), **self.contract}, where=self.where or self.id)

    def holds_for(self, contract: Contract) -> str:
        """"" where the vector holds under these variants, else which it is for."""
        domain = domain_of(self.document)
        mine = {name: self.contract.get(name, DEFAULTS[name]) for name in ("unicode", "byte_policy")}
        older = contract.unicode == EARLIEST and since_earliest(self.document)
        if (domain != NEUTRAL or older) and contract.unicode != mine["unicode"]:
            return f"for Unicode {mine['unicode']}"
        if domain == BYTES and contract.byte_policy != mine["byte_policy"]:
            return f"for {mine['byte_policy']}"
        if set(contract.steps) & set(UNICODE_STEPS):
            normalization = self.contract.get("normalization", mine["unicode"])
            first, last = sorted(map(ordered, (normalization, contract.normalizes_by)))
            if any(first < ordered(version) <= last for version in renormalized_by(self.document)):
                return f"for a normalizer of Unicode {normalization}"
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
    try:
        there = path.exists()
        if missing and not there:
            return VectorFile(path)
        if there and not path.is_file():  # whoever reads a device or a pipe may never be done
            raise InputError("no regular file", where=str(path), remedy="give the path of a file of vectors")
        root = json.loads(path.read_text(encoding="utf-8"))
    except InputError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"cannot be read: {reason}", where=str(path), remedy="name a file of vectors (tokassay vectors export)"
        ) from None
    schema = root.get("schema") if isinstance(root, dict) else None
    if schema not in READABLE:
        found = "it has no `schema`" if schema is None else f"its `schema` is {schema!r}"
        raise InputError(
            f"not a file of vectors: {found}", where=str(path), remedy=f"`schema` must be {' or '.join(READABLE)}"
        )
    rows = root.get("vectors")
    if not isinstance(rows, list):
        raise InputError("no list `vectors`", where=str(path), remedy="see docs/FORMATS.md#vectors")
    made = tuple(parse(row, f"{path}, vector {n}") for n, row in enumerate(rows, 1))
    places: dict[str, int] = {}
    for n, one in enumerate(made, 1):
        if (before := places.setdefault(one.id, n)) != n:
            raise InputError(
                f"vectors {before} and {n} are both called {one.id!r}", where=str(path), remedy="give one another id"
            )
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
    if isinstance(row, Mapping) and row.get("id"):
        where = f"{where} {row['id']!r}"
    check_fields(row, FIELDS, where, ("id", "vocabulary"))
    repeat = row.get("input_repeat")
    if (repeat is None) == ("input_hex" not in row):
        which = "no `input_hex`" if repeat is None else "both `input_hex` and `input_repeat`"
        raise InputError(which, where=where, remedy="give `input_hex`, or `input_repeat` with `hex` and `times`")
    contract, spans = dict(row.get("contract", {})), row.get("spans")
    answer = Answer.from_json(row, where)
    usual = DECLARED if "byte_policy" in contract else MUST
    level = row.get("level", MUST_NOT if answer.outcome == "reject" else usual)
    if (level == MUST_NOT) != (answer.outcome == "reject"):
        raise InputError(f"level {level} and outcome {answer.outcome}", where=where,
                         remedy="`must-not` is for what is refused, and only it")
    return Vector(
        answer=answer, repeat=None if repeat is None else (repeat["hex"], repeat["times"]), contract=contract,
        level=level, flags=tuple(row.get("flags", ())), where=where,
        spans=None if spans is None else tuple((first, last) for first, last in spans),
        engines=tuple(_recorded(one, f"{where}, engine {n}") for n, one in enumerate(row.get("engines", ()), 1)),
        **{name: row[name] for name in PLAIN if name in row},
    )


def _recorded(row: Any, where: str) -> Recorded:
    check_fields(row, RECORDED, where, ("engine", "version"))
    return Recorded(row["engine"], str(Version(row["version"])), Answer.from_json(row, where), row.get("like", ""))
