"""The roster: which engines there are, as data. One TOML table and one adapter an engine, nothing else."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROSTER = HERE / "engines.toml"
OPERATIONS = ("encode", "encode_batch", "decode", "offsets")
# Asked by `audit --self` alone: other ways to the same ids, texts and offsets.
FURTHER = ("encode_files", "encode_spans", "decode_stream", "decode_offsets")
ALGORITHMS = (
    "bpe-ranks",
    "bpe-pairs",
    "greedy-longest",
    "bpe-scores",
    "unigram-viterbi",
    "cdu-longest",
    "cdu-priority",
    "wordpiece",
    "opaque",
)
ANY = "any"  # in the place of vocabularies: it loads those that it is given
BYTE_POLICIES = ("reject", "replace", "replace-each-byte", "byte-alphabet", "tiktoken-bytes", "raw")
SWITCH = ("off", "on")


class RosterError(ValueError):
    """A roster that cannot be used: `where` is the file and the place in it, `remedy` what to do."""

    def __init__(self, message: str, *, where: str, remedy: str) -> None:
        super().__init__(message)
        self.where = where
        self.remedy = remedy


@dataclass(frozen=True)
class EngineSpec:
    """One engine of the roster. `adapter` is an absolute path; so is `lock`, where there is one.

    `unavailable` says why nobody can ask it here; such an engine may lack all but a requirement and a home, and its
    adapter is then no file.
    """

    name: str
    requirement: str
    environment: str
    adapter: Path
    algorithms: tuple[str, ...]
    byte_policy: str
    unicode: str
    specials: tuple[str, ...]
    operations: tuple[str, ...]
    licence: str
    home: str
    entry_points: dict[str, str] = field(default_factory=dict)
    # Entry points with another byte policy than the engine: by operation, or "specials" for all of them with
    # special tokens on.
    byte_policies: dict[str, str] = field(default_factory=dict)
    # The Unicode version of its normalizer; "": that of `unicode`.
    normalization: str = ""
    memory_mb: int = 4096
    timeout_s: float = 120.0
    lock: Path | None = None
    # For a package that is built from source: what it is built with, pinned by hash, and what the build is told by
    # its environment. With `build_lock` no build fetches anything unpinned.
    build_lock: Path | None = None
    build_env: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    # Options of its adapter that whoever asks may set besides, as in `NAME[option=value]`.
    accepts: tuple[str, ...] = ()
    # Options of `load` that must change no id, by a name for them: what the engine is compared with itself under.
    alternatives: dict[str, dict[str, Any]] = field(default_factory=dict)
    # How a script with the package alone calls it: `imports`, `load` and `encode` are Python over VOCABULARY (a path),
    # NAME (the encoding's, by `names` of the options), PATTERN, DOCUMENT and TEXT; `file`: the vocabulary's form.
    reproduce: dict[str, str] = field(default_factory=dict)
    # What its documentation and its adapter say, for readers; (ANY,) or the names of the encodings that it brings.
    vocabularies: tuple[str, ...] = (ANY,)
    loads: str = ""
    threads: str = ""
    cache: str = ""
    # Claims of its authors, by the names that `tokassay claim list` has.
    claims: tuple[str, ...] = ()
    unavailable: str = ""
    notes: str = ""
    source: str = ""

    @property
    def normalizes_by(self) -> str | None:
        """The Unicode version of its normalizer; None where it can be told."""
        return self.normalization or (None if self.unicode == "asked" else self.unicode)

    @property
    def pinned(self) -> str:
        """The version the requirement pins, or "" where it pins none."""
        return self.requirement.partition("==")[2].strip()

    def build_digest(self, lock: Path | None = None) -> str:
        """SHA-256 (hex) of what makes this build: requirement, lock, adapter, options and host."""
        lock = lock or self.lock
        parts: dict[str, Any] = {
            "requirement": self.requirement,
            "lock": _sha256(lock) if lock is not None and lock.is_file() else None,
            "adapter": _sha256(self.adapter) if self.adapter.is_file() else None,
            "host": _sha256(HERE / "host.py"),
            "options": self.options,
        }
        if build := self.build_inputs():
            parts["build"] = hashlib.sha256(build).hexdigest()
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


    def build_inputs(self) -> bytes:
        """What a build from source is given besides the source; empty for an engine that is not built."""
        if self.build_lock is None and not self.build_env:
            return b""
        lock = self.build_lock.read_bytes() if self.build_lock is not None and self.build_lock.is_file() else b""
        return lock + json.dumps(self.build_env, sort_keys=True).encode()


def load_roster(*extra: str | Path, base: str | Path | None = ROSTER) -> dict[str, EngineSpec]:
    """Engines by name: those of `base`, then those of each further file, whose tables may not repeat a name.

    Adapter and lock paths are relative to the file that names them. Raises RosterError.
    """
    engines: dict[str, EngineSpec] = {}
    for path in ([Path(base)] if base is not None else []) + [Path(one) for one in extra]:
        for name, spec in _read(path).items():
            if name in engines:
                raise RosterError(
                    f"engine {name!r} is already in {engines[name].source}",
                    where=place(path, name),
                    remedy="give this engine another name",
                )
            engines[name] = spec
    return engines


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _read(path: Path) -> dict[str, EngineSpec]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise RosterError(
            f"cannot read the roster: {reason}", where=str(path), remedy="name a roster file in TOML"
        ) from error
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+)", str(error))
        where = f"{path}:{found[1]}" if found else str(path)
        raise RosterError(
            f"not TOML: {error}", where=where, remedy="correct this line; see engines/engines.toml"
        ) from error
    return {name: _spec(path, name, table) for name, table in tables.items()}


EXAMPLES = {
    "requirement": 'requirement = "NAME==VERSION"',
    "environment": 'environment = "project"',
    "adapter": 'adapter = "adapters/NAME.py"',
    "algorithms": 'algorithms = ["bpe-ranks"]',
    "byte_policy": 'byte_policy = "reject"',
    "unicode": 'unicode = "16.0"',
    "specials": 'specials = ["off"]',
    "operations": 'operations = ["encode"]',
    "licence": 'licence = "MIT"',
    "home": 'home = "https://..."',
}
# What stands for the lines that an engine which cannot be asked may leave out.
UNASKED: dict[str, Any] = {
    "environment": "own", "adapter": Path(), "algorithms": (), "byte_policy": "", "unicode": "", "specials": (),
    "operations": (), "licence": "",
}
LISTS = {"algorithms": ALGORITHMS, "specials": SWITCH, "operations": (*OPERATIONS, *FURTHER)}
CHOICES = {"environment": ("project", "own")}
NUMBERS = ("memory_mb", "timeout_s")
TABLES = ("entry_points", "byte_policies", "options", "alternatives", "reproduce", "build_env")
TEXTS = ("build_env",)  # tables whose values are strings
NAMES = ("accepts", "claims")


def _spec(path: Path, name: str, table: Any) -> EngineSpec:
    if not isinstance(table, dict):
        raise RosterError(
            f"{name!r} stands outside every engine's table",
            where=place(path, None, name),
            remedy="begin each engine with a line [NAME]",
        )
    known = {one.name for one in fields(EngineSpec)} - {"name", "source"}
    for key in table:
        if key not in known:
            raise RosterError(
                f"engine {name!r} has an unknown key {key!r}",
                where=place(path, name, key),
                remedy=f"remove it; keys are {', '.join(sorted(known))}",
            )
    absent = table.get("unavailable") is not None
    for key, example in EXAMPLES.items():
        if key not in table and not (absent and key in UNASKED):
            raise RosterError(
                f"engine {name!r} lacks the line {example.split(' ')[0]!r}",
                where=place(path, name),
                remedy=f"add a line like {example} to [{name}]",
            )
    values: dict[str, Any] = {key: _value(path, name, key, value) for key, value in table.items()}
    for key in ("adapter", "lock", "build_lock"):
        if key in values:
            values[key] = (path.parent / values[key]).resolve()
    if absent:
        return EngineSpec(name=name, source=str(path), **{**UNASKED, **values})
    if not values["adapter"].is_file():
        raise RosterError(
            f"engine {name!r}: no adapter at {values['adapter']}",
            where=place(path, name, "adapter"),
            remedy="write it (docs/ADDING_AN_ENGINE.md) or correct the path, which is relative to this file",
        )
    return EngineSpec(name=name, source=str(path), **values)


def _value(path: Path, name: str, key: str, value: Any) -> Any:
    def wrong(expected: str) -> RosterError:
        return RosterError(
            f"engine {name!r}: {key} is {value!r}",
            where=place(path, name, key),
            remedy=f"make it {expected}",
        )

    if key in LISTS:
        if not isinstance(value, list) or not value or not set(value) <= set(LISTS[key]):
            raise wrong(f"a list of some of {', '.join(LISTS[key])}")
        return tuple(value)
    if key == "vocabularies":
        named = [value] if value == ANY else value
        if not isinstance(named, list) or not named or not all(isinstance(one, str) and one for one in named):
            raise wrong(f'"{ANY}", or a list of the encodings that it brings (tokassay vocab list)')
        return tuple(named)
    if key in NAMES:
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise wrong("a list of names")
        return tuple(value)
    if key in TABLES:
        if not isinstance(value, dict):
            raise wrong("a table")
        if key == "alternatives" and not all(isinstance(each, dict) for each in value.values()):
            raise wrong("a table of tables of options")
        if key in TEXTS and not all(isinstance(each, str) for each in value.values()):
            raise wrong("a table of strings")
        return dict(value)
    if key in NUMBERS:
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            raise wrong("a positive number")
        return value
    if not isinstance(value, str) or (key == "unavailable" and not value.strip()):
        raise wrong("a reason in words" if key == "unavailable" else "a string")
    if key in CHOICES and value not in CHOICES[key]:
        raise wrong(f"one of {', '.join(CHOICES[key])}")
    return value


def place(path: Path, name: str | None, key: str | None = None) -> str:
    """FILE:LINE of a table's header, or of a key in it; FILE alone where neither is found."""
    inside, header = name is None, None
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return str(path)
    for number, line in enumerate(lines, 1):
        if found := re.match(r"\s*\[\s*[\"']?([^\]\"']+)[\"']?\s*\]", line):
            inside = found[1].strip() == name or (inside and found[1].startswith(f"{name}."))
            if found[1].strip() == name:
                header = number
        if inside and key is not None and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[=.]", line):
            return f"{path}:{number}"
    return f"{path}:{header}" if header else str(path)
