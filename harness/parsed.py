"""What every vocabulary reader gives: the parts of a contract that its file states, and what we do not model."""

from __future__ import annotations

from dataclasses import dataclass, field

from tokassay.harness.contract import DEFAULT_BYTE_POLICY, AddedToken, Contract
from tokassay.harness.errors import InputError
from tokassay.harness.vocabulary import MAX_ID, Settled, Vocabulary

EMPTY = Vocabulary({}, None, {})


@dataclass
class Parsed:
    """A file's vocabulary and options. A reason in `unmodelled` makes the contract opaque; `notes` do not."""

    settled: Settled | None = None
    normalizer: str = "none"
    pretokenizer: tuple[str, ...] = ()
    special_tokens: tuple[tuple[str, int], ...] = ()
    added_tokens: tuple[AddedToken, ...] = ()
    add_prefix_space: bool = False
    post_processor: str = "none"
    unknown: int | None = None
    byte_fallback: bool = False
    end_of_word: str = ""
    gaps: str = "kept"
    whitespace: tuple[str, ...] = ()
    continuing_prefix: str | None = None
    max_word_chars: int | None = None
    byte_policy: str = DEFAULT_BYTE_POLICY
    notes: list[str] = field(default_factory=list)
    unmodelled: list[str] = field(default_factory=list)

    def contract(self, file_digest: str) -> tuple[Contract, Vocabulary]:
        """The contract and its vocabulary; opaque (with an empty vocabulary) where something is not modelled."""
        if self.unmodelled or self.settled is None:
            return Contract("opaque", file_digest, post_processor=self.post_processor), EMPTY
        settled = self.settled
        contract = Contract(
            algorithm=settled.algorithm,
            vocabulary=settled.vocabulary.digest,
            normalizer=self.normalizer,
            pretokenizer=self.pretokenizer,
            special_tokens=self.special_tokens,
            added_tokens=self.added_tokens,
            ignore_merges=settled.ignore_merges,
            add_prefix_space=self.add_prefix_space,
            post_processor=self.post_processor,
            unknown=self.unknown,
            byte_fallback=self.byte_fallback,
            end_of_word=self.end_of_word,
            gaps=self.gaps,
            whitespace=self.whitespace,
            continuing_prefix=self.continuing_prefix,
            max_word_chars=self.max_word_chars,
            byte_policy=self.byte_policy,
        )
        return contract, settled.vocabulary


def check_id(number: object, where: str) -> int:
    """`number` where it is an id (an integer in 0..2^32-1), else InputError."""
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= MAX_ID:
        raise InputError(f"{number!r} is not an id", where=where, remedy="ids are whole numbers from 0 to 4294967295")
    return number


def missing_byte(tokens: dict[bytes, int]) -> int | None:
    """The first byte that is no token, or None: byte-level BPE needs all 256."""
    return next((byte for byte in range(256) if bytes([byte]) not in tokens), None)


def require_bytes(tokens: dict[bytes, int], where: str) -> None:
    """Raises InputError where one of the 256 bytes has no token."""
    byte = missing_byte(tokens)
    if byte is not None:
        raise InputError(
            f"byte 0x{byte:02x} has no token, so this is no complete byte-level vocabulary",
            where=where,
            remedy="the file may be truncated: fetch it again and compare its SHA-256",
        )
