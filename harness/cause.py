"""First cause: is a difference one of contracts, and of which single part of one?

The oracle is asked under the neighbours of a side's contract: those with one part changed. Where a neighbour gives the
other side's answer, the two differ as if by that part, and its stage is the first that differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from tokassay.harness import known
from tokassay.harness.contract import (
    BYTE_POLICIES,
    EARLIER_UNICODE,
    GREEDY,
    NORMALIZATION_VERSIONS,
    PIECES,
    UNICODE_VERSIONS,
    WORDPIECE,
    Contract,
)
from tokassay.harness.differ import Side, first_ill_formed
from tokassay.harness.domains import NEUTRAL, domain_of
from tokassay.harness.hosts import ORACLE, Target
from tokassay.harness.load import Loaded
from tokassay.harness.oracle_here import oracle_here
from tokassay.harness.vocab_wordpiece import WORDS, near
from tokassay.oracles.classes import classes
from tokassay.oracles.decisions import STAGES
from tokassay.oracles.errors import OracleError, Reject, Unsupported
from tokassay.oracles.oracle import Oracle
from tokassay.oracles.spm import SentencePiece

# The oracle runs in this process here, so that a dozen contracts cost no dozen hosts: on documents that it cannot be
# slow on.
LONGEST = 4096

Answer = tuple[str, tuple[int, ...]]  # outcome and ids
Evidence = tuple[bytes, Side, Side]  # a document and both sides' answers


@dataclass(frozen=True)
class Axis:
    """A part of a contract: its values to try, whether it can matter for a document, and the stage that it rules."""

    field: str
    stage: str
    values: Callable[[Contract], tuple[Any, ...]]
    matters: Callable[[Contract, bytes], bool]
    words: Callable[[Any, Any], str]


@dataclass(frozen=True)
class Change:
    """One part of `engine`'s contract that, set to `new`, makes its oracle answer as the other side does."""

    engine: str
    field: str
    stage: str
    old: Any
    new: Any
    sentence: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def _has_special(contract: Contract, document: bytes) -> bool:
    texts = [text for text, _ in contract.special_tokens] + [text for text, *_ in contract.added_tokens]
    return any(text.encode() in document for text in texts)


def _whitespaces(contract: Contract) -> tuple[Any, ...]:
    """What a normalizer of pieces may do to white space."""
    return ((), ("collapse",)) if contract.algorithm in PIECES else ()


def _normalizers(contract: Contract) -> tuple[str, ...]:
    """Normalizers that an engine may have in the place of a contract's: one step less, or none, or a usual one."""
    if contract.algorithm == WORDPIECE:
        return near(contract.normalizer)
    if contract.algorithm in PIECES:
        return ("none",)
    steps = contract.steps
    fewer = ["+".join(step for step in steps if step != left_out) or "none" for left_out in steps]
    return tuple(dict.fromkeys([*fewer, "none", *(() if contract.byte_fallback else ("nfc", "nfkc"))]))


def _unicodes(contract: Contract) -> tuple[str, ...]:
    if contract.algorithm in PIECES:
        return ()  # their model's own tables say all
    return (*EARLIER_UNICODE, *UNICODE_VERSIONS) if contract.algorithm == WORDPIECE else UNICODE_VERSIONS


def _pretokenizers(contract: Contract) -> tuple[tuple[str, ...], ...]:
    if contract.algorithm == WORDPIECE:
        return tuple((each,) for each in WORDS.values())
    if contract.algorithm == GREEDY or contract.algorithm in PIECES:
        return ()
    return ((), *((each,) for each in known.patterns().values()))


# In the pipeline's order, so that the first that fits is the first stage that differs.
AXES = (
    Axis(
        "specials", "special", lambda c: ("on", "off"), _has_special,
        lambda old, new: "with special tokens matched" if new == "on" else "with special tokens as text",
    ),
    Axis(
        "byte_policy", "scan", lambda c: BYTE_POLICIES, lambda c, d: first_ill_formed(d) is not None,
        lambda old, new: f"with the byte policy {new} instead of {old}",
    ),
    Axis(
        "normalizer", "normalize", _normalizers,
        lambda c, d: c.algorithm in (*PIECES, WORDPIECE) or not c.byte_level or not d.isascii(),
        lambda old, new: {"none": "without a normalizer", "nfc": "with NFC"}.get(new, f"with the normalizer {new}"),
    ),
    Axis(
        "whitespace", "normalize", _whitespaces, lambda c, d: b" " in d or c.normalizer == "charsmap",
        lambda old, new: f"with white space {' and '.join(new) or 'kept'} instead of {' and '.join(old) or 'kept'}",
    ),
    Axis(
        "normalization", "normalize", lambda c: NORMALIZATION_VERSIONS,
        lambda c, d: bool({"nfc", "nfkc"}.intersection(c.steps)) and not d.isascii(),
        lambda old, new: f"with a normalizer of Unicode {new}",
    ),
    Axis(
        "add_prefix_space", "normalize", lambda c: (True, False),
        lambda c, d: c.algorithm != WORDPIECE and not d.startswith(b" "),
        lambda old, new: f"with{'' if new else 'out'} a space put before the text (add_prefix_space)",
    ),
    Axis(
        "unicode", "classify", _unicodes,
        lambda c, d: domain_of(d) != NEUTRAL or (c.algorithm == WORDPIECE and not d.isascii()),
        lambda old, new: f"with Unicode {new} instead of {old}",
    ),
    Axis(
        "pretokenizer", "pretokenize", _pretokenizers, lambda c, d: True,
        lambda old, new: f"with the pretokenizer {_pattern(new)}" if new else "without a pretokenizer",
    ),
    Axis(
        "ignore_merges", "lookup", lambda c: (True, False), lambda c, d: c.algorithm in ("bpe-ranks", "bpe-pairs"),
        lambda old, new: f"with whole pieces {'' if new else 'not '}looked up before merging (ignore_merges)",
    ),
    Axis(
        "max_word_chars", "lookup", lambda c: (100, 200), lambda c, d: c.algorithm == WORDPIECE,
        lambda old, new: f"with words of up to {new} characters",
    ),
    Axis(
        "byte_fallback", "lookup", lambda c: (True, False), lambda c, d: c.algorithm in PIECES,
        lambda old, new: f"with{'' if new else 'out'} byte fallback",
    ),
    Axis(
        "algorithm", "merge", lambda c: PIECES if c.algorithm in PIECES else (GREEDY,),
        lambda c, d: c.algorithm != WORDPIECE,
        lambda old, new: f"with the algorithm {new} instead of {old}",
    ),
)  # fmt: skip


def _pattern(split: tuple[str, ...]) -> str:
    names = {pattern: name for name, pattern in (known.patterns() | WORDS).items()}
    return names.get(*split, "none") if len(split) == 1 else "none"


def neighbours(contract: Contract, document: bytes) -> Iterator[tuple[Axis, Contract]]:
    """The contracts with one part changed that can matter for a document, in the pipeline's order."""
    for axis in AXES:
        if not axis.matters(contract, document):
            continue
        old = getattr(contract, axis.field)
        for value in axis.values(contract):
            if value != (old if axis.field != "normalization" else contract.normalizes_by):
                yield axis, replace(contract, **{axis.field: value})


def answer(oracle: Oracle | SentencePiece | None, document: bytes) -> Answer | None:
    """(outcome, ids) of an oracle: outcome is `ids` or `reject`. None where the document is not modelled."""
    try:
        return None if oracle is None else ("ids", tuple(oracle.encode(document)))
    except Reject:
        return "reject", ()
    except (Unsupported, OracleError):
        return None


def oracle_of(contract: Contract, loaded: Loaded) -> Oracle | SentencePiece | None:
    """The oracle under a contract, in this process; None where it is not modelled."""
    try:
        return oracle_here(contract, loaded)
    except (Unsupported, OracleError):
        return None


def changes(
    sides: tuple[Side, Side],
    targets: tuple[Target, Target],
    loaded: Loaded,
    document: bytes,
    evidence: Sequence[Evidence] = (),
) -> list[Change]:
    """The single changes of either side's contract under which its oracle gives the other side's answer.

    A side whose own oracle does not give its answer says nothing about its contract, and is left out. On a small
    document many changes fit by chance: `evidence` are further documents with both answers, and only changes that fit
    all of them are told, as far as both ended with ids or a refusal. Where one of these is what the other side
    declares, it is told alone. Empty where none fits, where the contract is not modelled, and for a document of more
    than LONGEST bytes.
    """
    if len(document) > LONGEST:
        return []
    spoken = [each for each in evidence if {side.outcome for side in each[1:]} <= {"ids", "reject"}]
    found: list[Change] = []
    for n, target in enumerate(targets):
        mine, theirs = _answer(sides[n]), _answer(sides[1 - n])
        if not {mine[0], theirs[0]} <= {"ids", "reject"}:
            continue
        if answer(oracle_of(target.contract, loaded), document) != mine:
            continue
        for axis, other in neighbours(target.contract, document):
            oracle = oracle_of(other, loaded)
            if answer(oracle, document) != theirs:
                continue
            if all(answer(oracle, each) == _answer(pair[1 - n]) for each, *pair in spoken):
                found.append(_change(axis, target, other, sides[1 - n].name, document))
                if getattr(other, axis.field) == getattr(targets[1 - n].contract, axis.field):
                    return found[-1:]
    return found


def _answer(side: Side) -> Answer:
    return side.outcome, side.ids


def _change(axis: Axis, target: Target, other: Contract, name: str, document: bytes) -> Change:
    old, new = getattr(target.contract, axis.field), getattr(other, axis.field)
    sentence = f"{name} answers as {target.name} would {axis.words(old, new)}"
    if axis.field == "unicode":
        sentence += f": {code_points(document, str(old), str(new))}"
    return Change(target.name, axis.field, axis.stage, old, new, sentence)


def stand_in(change: Change, side: Side, target: Target, loaded: Loaded, document: bytes) -> Side | None:
    """The decisions of the oracle under a changed contract, as the side's that answers like it; None where it has none.

    `target` is the one whose contract was changed, `side` the other one's.
    """
    oracle = oracle_of(replace(target.contract, **{change.field: change.new}), loaded)
    if oracle is None or side.outcome != "ids":
        return None
    axis = next(axis for axis in AXES if axis.field == change.field)
    name = f"{ORACLE} {axis.words(change.old, change.new)}"
    return replace(side, name=name, decisions=tuple(oracle.decisions(document)), stages=frozenset(STAGES))


def code_points(document: bytes, *versions: str) -> str:
    """The code points of a document whose class is not one in these Unicode versions, with their classes, in words."""
    tables = [classes(version) for version in versions]
    told = []
    for character in dict.fromkeys(document.decode("utf-8", "ignore")):
        labels = [table.label(ord(character)) for table in tables]
        if len(set(labels)) > 1:
            each = ", ".join(f"{label} in {table.version}" for label, table in zip(labels, tables, strict=True))
            told.append(f"U+{ord(character):04X} is {each}")
    return "; ".join(told)
