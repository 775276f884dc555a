"""Documents made by joining random vocabulary tokens: the cheapest generator of hard merge borders.

Even documents join any tokens, so their bytes may be ill-formed; odd ones are always well-formed UTF-8. The
tokens are taken in the order of their ids, and document k depends on the vocabulary, the seed and k only.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping

from tokassay.corpora.corpus import Corpus, from_documents
from tokassay.corpora.document import CorpusError, Document
from tokassay.corpora.draws import Draws

MOST_TOKENS = 200
TRIES = 8


class _Tokens:
    """The vocabulary's tokens by id, and those of them that start with a continuation byte."""

    def __init__(self, tokens: Mapping[bytes, int]) -> None:
        self.every = [token for token, _ in sorted(tokens.items(), key=lambda item: item[1]) if token]
        self.going_on = [token for token in self.every if 0x80 <= token[0] < 0xC0]


def any_bytes(tokens: _Tokens, draws: Draws) -> bytes:
    """Up to 200 tokens joined; likelier few."""
    return b"".join(draws.choice(tokens.every) for _ in range(draws.length(MOST_TOKENS)))


def well_formed(tokens: _Tokens, draws: Draws) -> bytes:
    """Up to 200 tokens joined so that the whole is UTF-8.

    A token is taken if the bytes so far stay the beginning of well-formed text. After a cut sequence only
    tokens that start with a continuation byte are tried, eight times; then the sequence is dropped. What is
    cut at the end is too.
    """
    out = bytearray()
    complete = 0
    for _ in range(draws.length(MOST_TOKENS)):
        for _ in range(TRIES):
            open_sequence = len(out) > complete
            token = draws.choice(tokens.going_on if open_sequence and tokens.going_on else tokens.every)
            taken = _well_formed_prefix(bytes(out[complete:]) + token)
            if taken is not None:
                out += token
                complete += taken
                break
        else:
            del out[complete:]
    del out[complete:]
    return bytes(out)


def _well_formed_prefix(data: bytes) -> int | None:
    """How many bytes are whole characters, if only a sequence that may still go on follows them; else None.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(data)
    except UnicodeDecodeError:
        return None
    return len(data) - len(decoder.getstate()[0])


def _documents(tokens: _Tokens, size: int, seed: int) -> Iterator[Document]:
    for k in range(size):
        draws = Draws("concat", seed, k)
        if k % 2:
            yield Document(
                f"concat {seed}/{k} utf8", well_formed(tokens, draws), "joined tokens, well-formed"
            )
        else:
            yield Document(f"concat {seed}/{k} bytes", any_bytes(tokens, draws), "joined tokens of any bytes")


def open_concat(size: int, seed: int, tokens: Mapping[bytes, int] | None) -> Corpus:
    """The corpus `concat:<size>`. Raises CorpusError without a vocabulary."""
    spec = f"concat:{size}"
    if not tokens:
        raise CorpusError(
            "concat joins a vocabulary's tokens and none was given", where=spec, remedy="name a vocabulary"
        )
    held = _Tokens(tokens)
    return from_documents(spec, spec, lambda _: _documents(held, size, seed))
