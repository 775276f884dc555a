"""Special and added tokens: leftmost, then longest, found before the pretokenizer sees the text.

A match may carry the flags of a Hugging Face added token:

    lstrip       the match takes the White_Space before it, back to the end of the match before
    rstrip       the match takes the White_Space after it
    single_word  no match where a word character stands just before or after
    normalized   the token, normalized, is searched for in what the normalizer made of each stretch between the tokens
                 without this flag, which are found first, in the raw document

A match that single_word refuses is passed over whole: the search goes on behind it, and no shorter token is
tried. An ill-formed byte is neither White_Space nor a word character.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tokassay.oracles.classes import Classes
from tokassay.oracles.errors import Unsupported
from tokassay.oracles.normalize import normalization

FLAGS = ("lstrip", "rstrip", "single_word", "normalized")


@dataclass(frozen=True)
class Segment:
    """Document bytes [start, end): a special token if `token` is its id, ordinary text if it is None."""

    start: int
    end: int
    token: int | None


class Specials:
    """The special tokens of a contract: their bytes, ids and flags."""

    def __init__(
        self, tokens: Mapping[bytes, int], flags: Mapping[bytes, Iterable[str]] | None, table: Classes
    ) -> None:
        self.tokens = dict(tokens)
        self.flags = {token: frozenset(names) for token, names in (flags or {}).items() if names}
        for token, names in self.flags.items():
            for name in sorted(names - set(FLAGS)):
                raise Unsupported(f"added-token flag {name!r} of {token!r} is not modelled")
        if b"" in self.tokens:
            raise Unsupported("an empty special token is not modelled")
        self.table = table
        self.words = normalization(table.version).words
        self._check_blanks()
        longest_first = sorted(self.tokens, key=lambda token: (-len(token), token))
        # An alternation takes its first alternative that fits, so longest first is leftmost-longest.
        self.pattern = re.compile(b"|".join(map(re.escape, longest_first)), re.DOTALL) if longest_first else None

    def _check_blanks(self) -> None:
        """No rule says which of two tokens has a blank: tokenizers gives it to both."""
        if any("rstrip" in names for names in self.flags.values()):
            for token in self.tokens:
                if self._white_after(token):
                    raise Unsupported(f"added token {token!r} begins with a blank beside one with the flag rstrip")

    def segments(self, document: bytes) -> Iterator[Segment]:
        """The document cut at its special tokens, in order, without empty stretches of text."""
        done = 0
        for match in self.pattern.finditer(document) if self.pattern else ():
            start, end = match.span()
            if start < done:
                continue  # the rstrip of the match before ate into it
            names = self.flags.get(match[0], frozenset())
            if "single_word" in names and self._in_word(document, start, end):
                continue
            if "lstrip" in names:
                start -= self._white_before(document[done:start])
            if "rstrip" in names:
                end += self._white_after(document[end:])
            if done < start:
                yield Segment(done, start, None)
            yield Segment(start, end, self.tokens[match[0]])
            done = end
        if done < len(document):
            yield Segment(done, len(document), None)

    def _white_before(self, data: bytes) -> int:
        text = data.decode("utf-8", "surrogateescape")
        at = len(text)
        while at and ord(text[at - 1]) in self.table.white_space:
            at -= 1
        return len(text[at:].encode("utf-8", "surrogateescape"))

    def _white_after(self, data: bytes) -> int:
        at = 0
        for width in range(1, len(data) + 1):
            # White_Space is at most three bytes a character; stop at the first that is not.
            character = data[at:width].decode("utf-8", "surrogateescape")
            if len(character) == 1 and ord(character) in self.table.white_space:
                at = width
            elif width - at > 3:
                break
        return at

    def _in_word(self, document: bytes, start: int, end: int) -> bool:
        before = document[max(0, start - 4) : start].decode("utf-8", "surrogateescape")[-1:]
        after = document[end : end + 4].decode("utf-8", "surrogateescape")[:1]
        return self._is_word(before) or self._is_word(after)

    def _is_word(self, character: str) -> bool:
        """`\\w` of UTS #18: Alphabetic, marks, decimal numbers, connectors, join controls."""
        if not character or "\udc80" <= character <= "\udcff":
            return False
        category = self.table.category(ord(character))
        return category[0] in "LM" or category in ("Nd", "Nl", "Pc") or character in self.words
