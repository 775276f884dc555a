"""Class tuples at length: dat-bpe's ids of all K-tuples of representatives, compared with the oracle's.

An audit asks the oracle for every document, which is right up to `classes:3`. Here the right ids of a block come from
oracles/products.py, 110,592 tuples at a time for 48 representatives, and are compared with those of the encoder by
their number and a 64-bit digest. Whatever differs is then asked of the oracle itself, which has the last word.

Work is cut into stretches: all tuples that begin with one representative. What a stretch came to is a line of a
journal, so that an interrupted run goes on where it was; the line's key covers all that it depends on.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tokassay.corpora.tuples import representatives, tuple_name
from tokassay.engines.dat_bpe import Encoder, _core
from tokassay.engines.dat_bpe.patterns import splitting
from tokassay.harness.audit import oracle_digest
from tokassay.harness.errors import INFRASTRUCTURE, InputError
from tokassay.harness.load import Loaded, load_vocabulary
from tokassay.harness.output import check_output, not_written
from tokassay.oracles.oracle import Oracle
from tokassay.oracles.products import MOST, Elements, Products, digests_of

# Each pretokenizer that has a machine, with an embedded vocabulary to show it on.
FAMILIES = {
    "gpt2": "gpt2", "cl100k": "cl100k", "cl100k-trailing": "cl100k", "qwen2": "cl100k", "qwen3.5": "cl100k",
    "o200k": "o200k", "tekken": "o200k", "deepseek": "o200k",
}
AXES = 3  # elements that vary inside of a block
SHORT = 3  # tuples up to this length are all held to the oracle itself, before anything else
SAMPLED = 5000  # and so many of the asked length
SHOWN = 20
SCHEMA = "tokassay.tuples/1"

# (bytes of a block, offsets (n + 1,)) -> (values, offsets (n + 1,)), as Encoder.encode_buffer
Encode = Callable[[memoryview, npt.NDArray[np.uint64]], tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint64]]]


@dataclass
class Difference:
    """A tuple whose ids differ: the names of its representatives, its bytes in hex, and both answers."""

    names: str
    hex: str
    got: list[int]
    expected: list[int]


@dataclass
class Stretch:
    """What the tuples that begin with one representative came to. `digest` is SHA-256 over the encoder's answers."""

    key: str
    family: str
    first: int
    tuples: int = 0
    differ: int = 0
    digest: str = ""
    seconds: float = 0.0
    shown: list[Difference] = field(default_factory=list)
    schema: str = SCHEMA


@dataclass(frozen=True)
class Asked:
    """Tuples of `k` of the first `most` representatives (None: all), encoded with the instructions of `level`."""

    k: int
    most: int | None = None
    level: str | None = None
    threads: int = 1


class Search:
    """One family's search.

    `encode` takes the place of the encoder. Raises InputError for a length or a family that there is not.
    """

    def __init__(
        self, family: str, asked: Asked, *, vocabulary: str | None = None, encode: Encode | None = None
    ) -> None:
        if not 1 <= asked.k <= MOST:
            raise InputError(f"tuples of {asked.k}", where="K", remedy=f"give a length from 1 to {MOST}")
        self.family, self.asked = family, asked
        if family not in FAMILIES:
            raise InputError(f"no pretokenizer family {family}", where="--family", remedy=f"use {', '.join(FAMILIES)}")
        self.named = representatives(asked.most, "--representatives")
        loaded = load_vocabulary(vocabulary or FAMILIES[family])
        self.contract = replace(loaded.contract, pretokenizer=splitting(family, "--family").expressions)
        self.oracle = Oracle(self.contract.to_json(), loaded.vocabulary.tokens, loaded.vocabulary.merges)
        self.products = Products(self.oracle, [data for _, data in self.named])
        self.encode = encode or self._encoder(loaded)
        self.axes = min(asked.k, AXES)
        parts = (SCHEMA, asked.k, self.named, self.contract.digest, oracle_digest(), asked.level, build())
        self.key = hashlib.sha256(repr(parts).encode()).hexdigest()[:32]

    def _encoder(self, loaded: Loaded) -> Encode:
        vocabulary = loaded.vocabulary
        options: dict[str, Any] = {
            "pattern": self.contract.pretokenizer, "level": self.asked.level, "ignore_merges": False,
        }
        encoder = (
            Encoder.from_ranks(vocabulary.tokens, **options)
            if vocabulary.merges is None
            else Encoder.from_pairs(vocabulary.tokens, vocabulary.merges, **options)
        )
        return lambda buffer, offsets: encoder.encode_buffer(buffer, offsets, threads=self.asked.threads)

    @property
    def total(self) -> int:
        """How many tuples there are."""
        return int(len(self.named) ** self.asked.k)

    @property
    def stretches(self) -> int:
        """How many stretches they are cut into: one, where a block holds them all."""
        return len(self.named) if self.asked.k > self.axes else 1

    def verify(self) -> int:
        """Hold the tables to the oracle: all tuples of up to three, and a seeded sample of the asked length. Returns
        how many; raises InputError (exit code 5) where they say something else."""
        size, k = len(self.named), self.asked.k
        short = (each for n in range(1, min(SHORT, k) + 1) for each in product(range(size), repeat=n))
        drawn = random.Random(f"tuples/{k}/{size}")
        sample = sorted(tuple(int(drawn.random() * size) for _ in range(k)) for _ in range(SAMPLED if k > SHORT else 0))
        count = 0
        for documents in (short, sample):
            for elements, right in self.products.verified(documents):
                count += 1
                if not right:
                    raise self._broken(elements)
        return count

    def _broken(self, elements: Elements) -> InputError:
        data = self.products.document(elements).hex()
        return InputError(
            f"{self.family}: the tables say something else than the oracle of {data}", where="oracles/products.py",
            remedy=f"compare: tokassay encode --engine oracle --hex {data}", exit_code=INFRASTRUCTURE,
        )

    def stretch(self, first: int, advance: Callable[[int], None] = lambda _: None) -> Stretch:
        """Encode and compare all tuples of a stretch (0 to `stretches` - 1). `advance` is told of tuples done."""
        start = time.perf_counter()
        found = Stretch(self.key, self.family, first)
        sha = hashlib.sha256()
        for prefix in self._prefixes(first):
            buffer, offsets = self._block(prefix)
            values, edges = self.encode(buffer, offsets)
            got, right = digests_of(values, edges), self.products.expected(prefix, self.axes)
            sha.update(got.digests.tobytes() + got.counts.tobytes())
            unlike = (got.digests != right.digests.reshape(-1)) | (got.counts != right.counts.reshape(-1))
            for at in np.flatnonzero(unlike)[: max(0, SHOWN - len(found.shown))].tolist():
                found.shown.append(self._difference(prefix, at, values[edges[at] : edges[at + 1]].tolist()))
            found.differ += int(unlike.sum())
            found.tuples += len(unlike)
            advance(len(unlike))
        found.digest, found.seconds = sha.hexdigest(), time.perf_counter() - start
        return found

    def _prefixes(self, first: int) -> Iterator[Elements]:
        """What stands before the varying elements, classes side by side: their tables are then made once."""
        order = sorted(range(len(self.named)), key=self.products.class_of.__getitem__)
        rest = self.asked.k - self.axes
        if rest == 0:
            yield ()
            return
        for each in product(order, repeat=rest - 1):
            yield (order[first], *each)

    def _block(self, prefix: Elements) -> tuple[memoryview, npt.NDArray[np.uint64]]:
        return _blocks(tuple(data for _, data in self.named), self.axes).put(self.products.document(prefix))

    def _difference(self, prefix: Elements, at: int, got: list[int]) -> Difference:
        size = len(self.named)
        place = np.unravel_index(at, (size,) * self.axes)
        elements = (*prefix, *(int(each) for each in place))
        data = self.products.document(elements)
        expected = self.oracle.encode(data)
        if expected == got:
            raise self._broken(elements)
        index = 0
        for each in elements:
            index = index * size + each
        return Difference(tuple_name(index, len(elements), [name for name, _ in self.named]), data.hex(), got, expected)


class _Blocks:
    """The product of elements over some axes as one buffer, each document behind room for a prefix."""

    def __init__(self, elements: tuple[bytes, ...], axes: int) -> None:
        documents = [b"".join(each) for each in product(elements, repeat=axes)]
        self.data = np.frombuffer(b"".join(documents), np.uint8)
        self.ends = np.cumsum([len(document) for document in documents], dtype=np.int64)
        self.owner = np.repeat(np.arange(len(documents), dtype=np.int64), [len(document) for document in documents])
        self.made: dict[int, tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint64]]] = {}

    def put(self, prefix: bytes) -> tuple[memoryview, npt.NDArray[np.uint64]]:
        """The buffer with a prefix before each document, and offsets (n + 1,). It is used again by the next call."""
        room, count = len(prefix), len(self.ends)
        if room not in self.made:
            buffer = np.empty(len(self.data) + room * count, np.uint8)
            buffer[np.arange(len(self.data)) + room * (self.owner + 1)] = self.data
            offsets = np.zeros(count + 1, np.uint64)
            offsets[1:] = self.ends + room * np.arange(1, count + 1)
            self.made[room] = buffer, offsets
        buffer, offsets = self.made[room]
        starts = offsets[:-1].astype(np.int64)
        for at, byte in enumerate(prefix):
            buffer[starts + at] = byte
        return buffer.data, offsets


@cache
def _blocks(elements: tuple[bytes, ...], axes: int) -> _Blocks:
    return _Blocks(elements, axes)


@cache
def build() -> str:
    """SHA-256 of the encoder's compiled module."""
    return hashlib.sha256(Path(str(_core.__file__)).read_bytes()).hexdigest()


class Journal:
    """Stretches that are done, one JSON object a line. A last line that was cut off is as none.

    What would be believed without being computed again is checked: a whole line that is wrong raises InputError, with
    the file and the line. `kept` counts the stretches that the same command need not do again.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.kept = path, 0
        self._rows: list[tuple[int, Stretch]] = []
        try:
            if path.exists() and not path.is_file():
                raise InputError("not a regular file", where=f"--journal {path}", remedy="name another journal")
            check_output(path, "--journal")
            if not path.exists():
                return
            *lines, last = path.read_bytes().split(b"\n")
            cut = _is_cut(last)
            for number, line in enumerate(lines if cut else [*lines, *([last] if last else [])], start=1):
                try:
                    found = _stretch(line)
                except ValueError as error:
                    raise self._wrong(number, str(error)) from None
                if found is not None:
                    self._rows.append((number, found))
            if last:  # the next line begins where one ends
                with path.open("r+b") as handle:
                    size = handle.seek(0, 2)
                    if cut:
                        handle.truncate(size - len(last))
                    else:
                        handle.write(b"\n")
        except OSError as error:
            raise not_written(self.path, "--journal", error) from None

    def read(self, search: Search) -> dict[int, Stretch]:
        """The stretches of one search by their number. Raises InputError for one that it cannot have made."""
        found: dict[int, Stretch] = {}
        for number, each in self._rows:
            if each.key != search.key:
                continue
            if not each.first < search.stretches:
                raise self._wrong(number, f"stretch {each.first} of {search.stretches}")
            if each.tuples != (whole := search.total // search.stretches):
                raise self._wrong(number, f"{each.tuples:,} tuples, where such a stretch has {whole:,}")
            found[each.first] = each
        self.kept += len(found)
        return found

    def add(self, stretch: Stretch) -> None:
        """Append a line; on disk when this returns."""
        try:
            with self.path.open("a", encoding="utf-8") as handle:
                handle.write(json.dumps(asdict(stretch)) + "\n")
        except OSError as error:
            raise not_written(self.path, "--journal", error) from None
        self.kept += 1

    def _wrong(self, number: int, why: str) -> InputError:
        return InputError(why, where=f"{self.path}, line {number}", remedy="delete that line, or name another journal")


def _is_cut(line: bytes) -> bool:
    """Whether a last line without an end is the beginning of what `add` writes, and not another file's text."""
    begin = b'{"key": "'
    if not (line.startswith(begin) or begin.startswith(line)):
        return False
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return bool(line)
    return False


def _stretch(line: bytes) -> Stretch | None:
    """The stretch of a journal's line, None for one of another version. Raises ValueError that says what is wrong."""
    try:
        row = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        row = None
    schema = row.get("schema") if isinstance(row, dict) else None
    if not isinstance(schema, str) or not schema.startswith(SCHEMA.partition("/")[0] + "/"):
        raise ValueError("not a line of a journal of tuples")
    if schema != SCHEMA:
        return None
    _held(row, Stretch, STRETCH)
    for each in row["shown"]:
        _held(each, Difference, DIFFERENCE)
    if len(row["shown"]) != min(row["differ"], SHOWN) or row["differ"] > row["tuples"]:
        raise ValueError(f"{len(row['shown'])} shown of {row['differ']} that differ")
    return Stretch(**{**row, "shown": [Difference(**each) for each in row["shown"]]})


def _held(row: object, kind: type, checks: Mapping[str, Callable[[Any], bool]]) -> None:
    """Raise ValueError unless a row has the fields of a dataclass and nothing else, each of its form."""
    names = [each.name for each in fields(kind)]
    if not isinstance(row, dict):
        raise ValueError(f"not an object with {', '.join(names)}")
    for name in [*names, *row]:
        if name not in names:
            raise ValueError(f"a field {name!r}, which is not one of {', '.join(names)}")
        if name not in row:
            raise ValueError(f"no {name}")
        if not checks[name](row[name]):
            raise ValueError(f"{name} is {json.dumps(row[name])[:80]}")


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _ids(value: Any) -> bool:
    return isinstance(value, list) and all(map(_count, value))


DIFFERENCE: Mapping[str, Callable[[Any], bool]] = {
    "names": _text,
    "hex": lambda value: _text(value) and re.fullmatch("([0-9a-f]{2})*", value) is not None,
    "got": _ids,
    "expected": _ids,
}
STRETCH: Mapping[str, Callable[[Any], bool]] = {
    "key": _text,
    "family": _text,
    "first": _count,
    "tuples": _count,
    "differ": _count,
    "digest": lambda value: _text(value) and re.fullmatch("[0-9a-f]{64}", value) is not None,
    "seconds": lambda value: type(value) in (int, float) and 0 <= value < float("inf"),
    "shown": lambda value: isinstance(value, list),
    "schema": _text,
}


def digest_of_all(stretches: list[Stretch]) -> str:
    """One digest for a finished search: SHA-256 over those of its stretches, in order."""
    return hashlib.sha256("".join(stretch.digest for stretch in stretches).encode()).hexdigest()
