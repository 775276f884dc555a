"""Special and other added tokens: what a caller gives, what is wrong with it, and the columns that the tables take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy
from numpy.typing import NDArray
from tokassay.engines.dat_bpe import _core
from tokassay.engines.dat_bpe.errors import LoadError, Refusal
from tokassay.engines.dat_bpe.ranks import GREATEST_ID

# The bits of csrc/special.h.
FLAGS = {"lstrip": 1, "rstrip": 2, "single_word": 4, "normalized": 8}
# The classes of csrc/classify.h that White_Space has: SPACE and NEWLINE.
_BLANK = 32 | 64
_OWN = "give the vocabulary's own special tokens"


@dataclass(frozen=True)
class AddedToken:
    """A token that is matched in text before it is cut into pieces, as Hugging Face's tokenizers does it.

    lstrip, rstrip  the match takes the White_Space beside it, as far as the match before
    single_word     no match beside a word character (`\\w` of UTS #18); the search then goes on behind it
    normalized      matched in what the normalizer makes of the text between the tokens without this flag, which are
                    matched first, in the text as it is
    """

    text: str
    id: int
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False
    normalized: bool = False

    @property
    def flags(self) -> int:
        """As csrc/special.h numbers them."""
        return sum(bit for name, bit in FLAGS.items() if getattr(self, name))


Columns = tuple[NDArray[numpy.uint8], NDArray[numpy.uint64], NDArray[numpy.uint32]]


def columns(tokens: Iterable[tuple[bytes, int]]) -> Columns:
    """Tokens by id as joined bytes, offsets and ids: the form that the tables are built from."""
    order = sorted(tokens, key=lambda item: item[1])
    text = numpy.frombuffer(b"".join([token for token, _ in order]), numpy.uint8)
    offsets = numpy.array([0, *accumulate(len(token) for token, _ in order)], numpy.uint64)
    return text, offsets, numpy.array([number for _, number in order], numpy.uint32)


def flag_column(tokens: Sequence[AddedToken]) -> NDArray[numpy.uint8]:
    """The flags of tokens in the order of their columns."""
    return numpy.array([token.flags for token in sorted(tokens, key=lambda token: token.id)], numpy.uint8)


def gather(
    specials: Mapping[str, int], added: Sequence[AddedToken], ranks: Mapping[bytes, int], *, nfc: bool, unicode: str,
    where: str,
) -> list[AddedToken]:
    """Both as one list. LoadError names the first token that cannot be, or two that cannot be together."""
    if not isinstance(specials, Mapping):
        raise LoadError(f"specials: a {type(specials).__name__}", where=where, remedy="give a mapping of text -> id")
    added = list(added)
    for place, token in enumerate(added):
        if not isinstance(token, AddedToken):
            raise LoadError(f"added[{place}] is {token!r:.80}", where=where, remedy="give AddedToken(text, id)")
    tokens = [AddedToken(text, number) for text, number in specials.items()] + added
    owners = {number: token for token, number in ranks.items()} if tokens else {}
    texts: set[str] = set()
    for token in tokens:
        problem = _problem(token, owners)
        if not problem and token.text in texts:
            problem = f"special token {token.text!r} is given twice"
        if problem:
            raise LoadError(problem, where=where, remedy=_OWN)
        texts.add(token.text)
    _check_together(tokens, nfc, _core.UNICODE_VERSIONS.index(unicode), where)
    return tokens


def _problem(token: AddedToken, owners: Mapping[int, bytes]) -> str:
    text, number = token.text, token.id
    if not isinstance(text, str):
        return f"special token {text!r} is not a str"
    if not text:
        return "a special token of no text"
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        return f"special token {text!r}: a lone surrogate, which is no text"
    if isinstance(number, bool) or not isinstance(number, (int, numpy.integer)):
        return f"special token {text!r}: id {number!r} is not an integer"
    if not 0 <= number <= GREATEST_ID:
        return f"special token {text!r}: id {number} is outside 0..{GREATEST_ID}"
    if owners.get(number, text.encode()) != text.encode():
        return f"special token {text!r}: id {number} is that of an ordinary token"
    return ""


def _check_together(tokens: Sequence[AddedToken], nfc: bool, version: int, where: str) -> None:
    """Two tokens that normalization makes one, and blanks that two would take: no rule says which has them."""
    forms: dict[bytes, str] = {}
    for normalized in (False, True):
        group = [token for token in tokens if token.normalized == normalized]
        greedy = next((token.text for token in group if token.rstrip), None)
        for token in group:
            text = token.text.encode()
            if normalized and nfc:
                text = _core.normalize(text, version)[0]
                if text in forms:
                    raise Refusal(
                        f"added tokens {forms[text]!r} and {token.text!r} are one after NFC", where=where,
                        remedy="leave one of them",
                    )
                forms[text] = token.text
            first = ord(text.decode()[0])
            if greedy is not None and _core.classes(version, [first])[0] & _BLANK:
                raise Refusal(
                    f"added token {greedy!r} takes the blanks behind it (rstrip), and {token.text!r} begins with one",
                    where=where, remedy="leave one out, or drop the flag: implementations give such blanks to both",
                )
