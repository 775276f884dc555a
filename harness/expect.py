"""What the contract says a block's output is: from the store where the oracle was asked before, else from the oracle.

Ids come from the oracle in a host of its own. Texts of a byte-lossless policy are the documents themselves and spans
follow from the ids' bytes; both are derived here, from the rule and not from the oracle's code.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from tokassay.harness.blocks import Block
from tokassay.harness.compare import IDS, Output, leaves
from tokassay.harness.contract import EARLIER_UNICODE, PIECES, Contract
from tokassay.harness.domains import ordered
from tokassay.harness.spans import in_characters, summed

WHATS = ("ids", "texts", "spans-bytes", "spans-chars")
# Policies under which the ids' bytes, one after the other, are the document's own bytes.
LOSSLESS = frozenset({"byte-alphabet", "tiktoken-bytes", "raw", "reject"})
# Flags of added tokens that take white space in: the id's own bytes are then fewer than it stands for.
TAKES_SPACE = frozenset({"lstrip", "rstrip"})


def own_bytes(contract: Contract) -> bool:
    """Whether the ids' bytes, one after the other, are the document: then texts and spans need no oracle."""
    if contract.byte_policy not in LOSSLESS or contract.unknown is not None:
        return False
    if contract.gaps != "kept" or contract.algorithm in PIECES:
        return False
    if contract.specials == "on":
        # Two texts may share an id: o200k_harmony has <|endofprompt|> and <|reserved_200018|>.
        ids = [number for _, number, *_ in (*contract.special_tokens, *contract.added_tokens)]
        if len(set(ids)) < len(ids) or any(TAKES_SPACE.intersection(flags) for *_, flags in contract.added_tokens):
            return False
    return contract.byte_level and contract.normalizer == "none" and not contract.add_prefix_space


@dataclass(frozen=True)
class OracleRow:
    """A stored expectation: a row of `oracle_block`. `leaves` is empty for neutral blocks."""

    key: str
    digest: str
    ids: int
    ns: int
    leaves: bytes


def oracle_key(contract: Contract, oracle: str, what: str, block: str) -> str:
    """The key of a stored expectation."""
    return hashlib.sha256(f"{contract.digest} {oracle} {what} {block}".encode()).hexdigest()[:32]


def governing(contract: Contract, asked: Contract, domain: str, renormalized: bool) -> Contract:
    """The contract whose oracle speaks for `contract` on a domain.

    On a neutral block all variants say the same, and on a well-formed one all byte policies do: one oracle answers.
    On a neutral one that goes for the normalizer's version too, unless the block is `renormalized`.
    """
    if domain == "neutral":
        if not renormalized:
            return asked
        # Only a version that is older than the tables' first can say another thing of a neutral block's characters.
        unicode = contract.unicode if contract.unicode in EARLIER_UNICODE else asked.unicode
        return asked.with_variants(unicode=unicode, normalization=contract.normalizes_by, casing=contract.lowers_by)
    return contract.with_variants(byte_policy=asked.byte_policy) if domain == "unicode" else contract


def governing_block(contract: Contract, asked: Contract, block: Block) -> Contract:
    """The contract whose oracle speaks for `contract` on a block."""
    return governing(contract, asked, block.domain, renormalized(contract, asked, block))


def renormalized(contract: Contract, asked: Contract, block: Block) -> bool:
    """Whether a character of the block is known to the normalizer of one of the two contracts and not of the other."""
    if block.domain != "neutral":
        return False
    if {contract.unicode, contract.normalizes_by} & set(EARLIER_UNICODE):
        return block.since_the_earliest
    if contract.normalization == asked.normalization:
        return False  # what normalizers know since 15.0 is of characters that no neutral block has
    older, younger = sorted(map(ordered, (contract.normalizes_by, asked.normalizes_by)))
    return any(older < ordered(one) <= younger for one in block.normalization_versions)


def oracle_keys(block: Block, contracts: Iterable[Contract], asked: Contract, oracle: str) -> Iterator[str]:
    """Keys of everything that may be stored about a block for some contracts."""
    digest = block.digest
    for contract in {g.digest: g for g in (governing_block(c, asked, block) for c in contracts)}.values():
        for what in WHATS:
            yield oracle_key(contract, oracle, what, digest)


@dataclass
class Expected:
    """Expectations of one block under one contract; each is made when first asked for.

    `ask(contract, operation)` runs the oracle on the block and returns its output and its nanoseconds; `stored(key)`
    looks in the store; what is new is left in `fresh` for the writer. `token_lengths[id]` is a token's number of bytes.
    """

    block: Block
    contract: Contract
    oracle: str
    ask: Callable[[Contract, str], tuple[Output, int]]
    stored: Callable[[str], tuple[str, int, bytes] | None]
    token_lengths: npt.NDArray[np.uint32]
    fresh: list[OracleRow] = field(default_factory=list)
    _outputs: dict[str, Output] = field(default_factory=dict)
    _rows: dict[str, OracleRow] = field(default_factory=dict)
    _ns: int = 0

    def key(self, what: str) -> str:
        return oracle_key(self.contract, self.oracle, what, self.block.digest)

    def row(self, what: str) -> OracleRow:
        """The expectation of `what`: ids, texts, spans-bytes or spans-chars."""
        if what not in self._rows:
            key = self.key(what)
            kept = self.stored(key)
            if kept is not None:
                self._rows[what] = OracleRow(key, kept[0], kept[1], 0, kept[2])
            else:
                self._rows[what] = self._make(what, key)
                self.fresh.append(self._rows[what])
        return self._rows[what]

    def _make(self, what: str, key: str) -> OracleRow:
        output, ns = self.output(what), self._ns if what == "ids" else 0
        lengths = self.block.lengths
        digest = output.digest(lengths)
        wants_leaves = what == "ids" and self.block.domain != "neutral"
        count = int(output.counts.sum())
        return OracleRow(key, digest, count, ns, leaves(lengths, output) if wants_leaves else b"")

    def output(self, what: str) -> Output:
        """The expected output itself; asks the oracle where it must."""
        if what not in self._outputs:
            if what == "ids":
                self._outputs[what], self._ns = self.ask(self.contract, "encode")
            elif what == "texts":
                self._outputs[what] = self._texts()
            else:
                self._outputs[what] = self._spans(what == "spans-chars")
        return self._outputs[what]

    def leaves(self) -> npt.NDArray[np.uint8]:
        """Leaves of the expected ids, shape (n, 32)."""
        raw = self.row("ids").leaves
        if not raw:
            raw = leaves(self.block.lengths, self.output("ids"))
        return np.frombuffer(raw, dtype=np.uint8).reshape(-1, 32)

    def _texts(self) -> Output:
        if not own_bytes(self.contract):
            return self.ask(self.contract, "decode")[0]
        status = self.output("ids").status
        if not status.any():
            return Output(status, self.block.lengths, np.frombuffer(self.block.buffer, dtype=np.uint8), "texts")
        text = b"".join(self.block.document(int(i)) for i in np.flatnonzero(status == IDS))
        counts = np.where(status == IDS, self.block.lengths, 0).astype(np.uint64)
        return Output(status, counts, np.frombuffer(text, dtype=np.uint8), "texts")

    def _spans(self, chars: bool) -> Output:
        if own_bytes(self.contract):
            made = summed(self.output("ids"), self.token_lengths)
        else:
            made = self.ask(self.contract, "offsets")[0]
        return in_characters(made, self.block.buffer, self.block.offsets) if chars else made
