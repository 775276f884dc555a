"""Verifies a vocabulary afresh: its file's hash, its canonical digest, what its ranks say, and ids known in
advance."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from tokassay.harness import known
from tokassay.harness.contract import GREEDY, PIECES, WORDPIECE
from tokassay.harness.known import Encoding
from tokassay.harness.load import Loaded, load_vocabulary
from tokassay.harness.vocabulary import unreachable_by_pairs

SAMPLE = b"hello world"


@dataclass
class Verified:
    """One vocabulary's findings; `failures` is empty where all is as stated."""

    name: str
    contract: str = ""
    core: str = ""
    vocabulary: str = ""
    file_sha256: str = ""
    tokens: int = 0
    exceptions: int | None = None
    unreachable: int | None = None
    sample: list[int] | None = None
    failures: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The row as JSON values."""
        return asdict(self)


def verify(name: str) -> Verified:
    """Load `name` (a known encoding or a path) and check all that is stated about it. Raises InputError."""
    encoding = known.find(name)
    loaded = load_vocabulary(name)
    contract = loaded.contract
    row = Verified(
        name=loaded.name,
        contract=contract.digest,
        core=contract.core_digest,
        vocabulary=contract.vocabulary,
        file_sha256=loaded.file_sha256,
        tokens=len(loaded.vocabulary.tokens),
    )
    if contract.algorithm == "opaque":
        return row
    if contract.algorithm not in PIECES:
        _count(row, loaded)
    row.sample = _encode(loaded)
    if encoding is not None:
        _compare(row, encoding)
    return row


def _count(row: Verified, loaded: Loaded) -> None:
    tokens, merges = loaded.vocabulary.tokens, loaded.vocabulary.merges
    if loaded.contract.algorithm in (GREEDY, WORDPIECE):
        return  # which merge nothing
    if merges is not None:
        row.unreachable = len(unreachable_by_pairs(tokens, merges, loaded.vocabulary.symbols))
        return
    derivation = loaded.vocabulary.derivation
    row.exceptions, row.unreachable = len(derivation.exceptions), len(derivation.unreachable)


def _encode(loaded: Loaded) -> list[int]:
    """The ids of SAMPLE by the oracle, which shares no code with the loaders."""
    from tokassay.harness.oracle_here import oracle_here

    return list(oracle_here(loaded.contract, loaded).encode(SAMPLE))


def _compare(row: Verified, encoding: Encoding) -> None:
    if encoding.unreachable is not None and row.unreachable != encoding.unreachable:
        row.failures.append(f"{row.unreachable} tokens are unreachable by merging, {encoding.unreachable} are stated")
    if encoding.sample and row.sample != list(encoding.sample):
        row.failures.append(f"{SAMPLE.decode()!r} gives {row.sample}, published are {list(encoding.sample)}")
