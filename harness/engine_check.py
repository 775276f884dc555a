"""Does an engine run, and does it give the published ids of "hello world"? One vocabulary for each algorithm it serves.

The ids come from the tables of known encodings, where they stand as their publishers give them. An engine that brings
its vocabularies is asked for one of those; what an engine refuses is passed over, and the next one is tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from tokassay.corpora.fetch import cache_dir
from tokassay.engines.client import Host, HostFailure, Unsupported, told
from tokassay.engines.environments import EnvironmentFault, interpreter
from tokassay.engines.frames import Ids
from tokassay.engines.roster import ANY, EngineSpec
from tokassay.harness.contract import GREEDY, WORDPIECE
from tokassay.harness.errors import AGREED, INFRASTRUCTURE, MISMATCH, NOTHING
from tokassay.harness.known import Encoding, encodings
from tokassay.harness.load import Loaded, known_path, load_vocabulary
from tokassay.harness.materialize import materialize
from tokassay.harness.variants import declared

SAMPLE = b"hello world"
# Formats that mean one algorithm only; a file of any other has to be read to know.
MEANS = {"tiktoken": "bpe-ranks", "tekken": "bpe-ranks", "vocab.txt": WORDPIECE, "rwkv": GREEDY, "cray": GREEDY}
# The tokens of its sample are the longest that start where they do, so that the longest match gives them too.
ALSO_GREEDY = ("gpt2",)


@dataclass(frozen=True)
class Sample:
    """A vocabulary whose ids of SAMPLE are published: its name, `right` ids, and its algorithm, "" where that is to be
    read."""

    name: str
    encoding: str
    right: tuple[int, ...]
    algorithm: str


@dataclass
class Checked:
    """What came of one engine. `tried` has a row for each vocabulary that it served; `untried` are the algorithms that
    no published ids were there for, or that it refused, with what it said last."""

    engine: str
    version: str = ""
    python: str = ""
    limits: Any = None
    tried: list[dict[str, Any]] = field(default_factory=list)
    untried: dict[str, str] = field(default_factory=dict)
    problem: str = ""

    @property
    def ok(self) -> bool:
        """Whether it runs, and no id is wrong."""
        return not self.problem and all(row["ids"] == row["right"] for row in self.tried)

    @property
    def verified(self) -> bool:
        """Whether ids were compared, and none is wrong."""
        return self.ok and bool(self.tried)

    def note(self) -> str:
        """What a reader should know, in one line."""
        wrong = [f"{row['vocabulary']}: should be {row['right']}" for row in self.tried if row["ids"] != row["right"]]
        if self.problem or wrong:
            return self.problem or "; ".join(wrong)
        reasons = dict.fromkeys(filter(None, self.untried.values()))
        return "" if self.tried else "; ".join(["starts; no published ids of what it serves are here", *reasons])

    def to_json(self) -> dict[str, Any]:
        """The row of `engines check --json`."""
        first = self.tried[0]["ids"] if self.tried else []
        return {
            "engine": self.engine, "version": self.version, "python": self.python, "limits": self.limits, "ok": self.ok,
            "verified": self.verified, "ids": first, "checked": self.tried, "unchecked": sorted(self.untried),
            "note": self.note(),
        }  # fmt: skip


def samples(spec: EngineSpec) -> Iterator[Sample]:
    """The vocabularies that an engine may be asked for: those it names, or all whose file is here."""
    for encoding in encodings():
        if not encoding.sample or known_path(encoding) is None or not brought(spec, encoding):
            continue
        yield Sample(encoding.name, encoding.name, encoding.sample, MEANS.get(encoding.format, ""))
        if encoding.name in ALSO_GREEDY:
            yield Sample(f"{encoding.name}@{GREEDY}", encoding.name, encoding.sample, GREEDY)


def brought(spec: EngineSpec, encoding: Encoding) -> bool:
    """Whether the engine has this vocabulary, or loads any."""
    return ANY in spec.vocabularies or bool({encoding.name, *encoding.aliases}.intersection(spec.vocabularies))


@lru_cache(maxsize=3)  # of dozens of vocabularies, each of tens of megabytes
def loaded_sample(name: str) -> Loaded:
    """The vocabulary of a sample: the last ones are kept, as engines mostly are asked for the same."""
    return load_vocabulary(name)


@cache
def algorithm_of(sample: Sample) -> str:
    """The algorithm of a sample's contract, read once where its format does not say it."""
    return sample.algorithm or loaded_sample(sample.name).contract.algorithm


def check(spec: EngineSpec) -> Checked:
    """Start the engine, ask its version, and have it encode SAMPLE under a vocabulary of each algorithm it serves."""
    found = Checked(spec.name)
    try:
        python = interpreter(spec)
        with Host(spec, python) as host:
            hello = host.hello()
        found.version, found.python, found.limits = hello["version"], hello["python"], hello["limits"]
        if spec.pinned and found.version != spec.pinned:
            found.problem = f"the roster pins {spec.pinned}"
            return found
        found.untried = dict.fromkeys(spec.algorithms, "")
        for sample in samples(spec):
            algorithm = algorithm_of(sample)
            if algorithm not in found.untried:
                continue
            try:
                ids = _ids(spec, python, loaded_sample(sample.name))
            except Unsupported as error:
                found.untried[algorithm] = f"does not serve {sample.name}: {error}"
                continue
            del found.untried[algorithm]
            found.tried.append({
                "vocabulary": sample.name, "algorithm": algorithm, "ids": ids, "right": [*sample.right],
            })  # fmt: skip
            if not found.untried:
                break
    except EnvironmentFault as error:
        found.problem = f"{error}; {error.remedy}"
    except HostFailure as error:
        found.problem = f"{error.verdict}: {told(error)}"
    return found


def _ids(spec: EngineSpec, python: Any, loaded: Loaded) -> list[int]:
    contract = loaded.contract.with_variants(**declared(spec, loaded.contract))
    with Host(spec, python) as host:  # one vocabulary a process: an engine's state may be the process's
        host.load(contract.to_json(), materialize(loaded, contract, cache_dir() / "vocab"))
        output = host.encode([SAMPLE]).output
    assert isinstance(output, Ids)  # the host's answer to `encode` is nothing else
    return output.rows()[0]


def exit_code(rows: Iterable[Checked]) -> int:
    """0 all that were compared are right, 1 wrong ids, 4 none were compared, 5 an engine does not run."""
    rows = list(rows)
    if any(not row.ok and not row.problem for row in rows):
        return MISMATCH
    if any(row.problem for row in rows):
        return INFRASTRUCTURE
    return AGREED if any(row.verified for row in rows) else NOTHING
