"""Counts the pretokens of documents: all, distinct, seen once, how long they are, and the vocabulary size they suggest.

Every pretoken counts, whatever its length. Distinct pretokens are held in memory, and nothing else is: 2.2 million of
nine bytes took 211 MB.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tokassay.engines.dat_bpe import Encoder, PatternError
from tokassay.harness.contract import WORDPIECE, Contract
from tokassay.harness.errors import InputError
from tokassay.harness.load import Loaded

Splitter = Callable[[bytes], Iterable[bytes]]
BYTES = 256
SHORT = 15  # lengths up to here have a row each, longer ones a row a doubling


@dataclass
class Words:
    """What has been counted so far. `counts` holds every distinct pretoken; `size` is in bytes."""

    counts: Counter[bytes] = field(default_factory=Counter)
    documents: int = 0
    size: int = 0

    def add(self, document: bytes, split: Splitter) -> None:
        """One document, of any bytes."""
        self.documents += 1
        self.size += len(document)
        self.counts.update(split(document))

    @property
    def total(self) -> int:
        """Pretokens."""
        return self.counts.total()

    @property
    def singletons(self) -> int:
        """Distinct pretokens that occur once."""
        return sum(1 for count in self.counts.values() if count == 1)

    @property
    def suggested(self) -> int:
        """The vocabulary in which each of them is a token: 256 bytes and the distinct ones."""
        return BYTES + len(self.counts)

    def top(self, most: int) -> list[tuple[bytes, int]]:
        """The most frequent, ties by their bytes, so that two runs say the same."""
        return sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))[:most]

    def lengths(self) -> list[dict[str, int]]:
        """Rows `from`, `to` (bytes, both inside), `total`, `distinct`: lengths 1 to 15, then 16-31, 32-63, ...; rows
        without a pretoken are left out."""
        total: Counter[int] = Counter()
        distinct: Counter[int] = Counter()
        for word, count in self.counts.items():
            least = len(word) if len(word) <= SHORT else 1 << (len(word).bit_length() - 1)
            total[least] += count
            distinct[least] += 1
        return [
            {"from": least, "to": least if least <= SHORT else 2 * least - 1, "total": total[least],
             "distinct": distinct[least]}
            for least in sorted(total)
        ]

    def to_json(self) -> dict[str, Any]:
        """The counts, in the names of docs/FORMATS.md."""
        return {
            "documents": self.documents,
            "bytes": self.size,
            "total": self.total,
            "distinct": len(self.counts),
            "singletons": self.singletons,
            "longest": max(map(len, self.counts), default=0),
            "suggested_vocabulary": self.suggested,
            "lengths": self.lengths(),
        }


def by_pattern(expressions: Sequence[str], where: str) -> Splitter:
    """Pieces by dat-bpe's pretokenizer, in which any bytes are a document. Raises PatternError (a LoadError)."""
    single = {bytes([byte]): byte for byte in range(BYTES)}
    encoder = Encoder.from_ranks(single, pattern=list(expressions), cache_bits=0, where=where)

    def split(document: bytes) -> Iterable[bytes]:
        return [document[start:end] for start, end in encoder.pretokens(document)]

    return split


def by_vocabulary(loaded: Loaded) -> Splitter:
    """Pieces as a vocabulary's contract has them: its pretokenizer by dat-bpe; by the oracle, which is slow, where text
    is changed before it is split, or where the expressions are such that dat-bpe does not carry them out."""
    contract = loaded.contract
    if contract.algorithm == WORDPIECE:
        return _by_oracle(loaded, contract)
    if contract.algorithm not in ("bpe-ranks", "bpe-pairs"):
        raise InputError(
            f"{contract.algorithm} has no pretokenizer that is modelled", where=loaded.name,
            remedy="name another --vocab, or give --pattern",
        )
    if contract.byte_level and contract.normalizer == "none" and not contract.add_prefix_space:
        try:
            return by_pattern(contract.pretokenizer, loaded.name)
        except PatternError:
            pass
    return _by_oracle(loaded, contract)


def _by_oracle(loaded: Loaded, contract: Contract) -> Splitter:
    from tokassay.harness.oracle_here import oracle_here
    from tokassay.oracles.oracle import Oracle

    oracle = oracle_here(contract, loaded)
    assert isinstance(oracle, Oracle)  # pieces of a model are refused before

    def split(document: bytes) -> Iterable[bytes]:
        return [document[start:end] for start, end in oracle.pretokens(document)]

    return split
