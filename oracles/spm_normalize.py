"""SentencePiece's normalizer: character map, white space, prefix.

A document is read chunk by chunk. At each place, the first of these that fits makes a chunk:

    1. the longest user-defined piece that stands there stays as it is
    2. the longest rule of the character map gives its text
    3. a well-formed character stays as it is; an ill-formed byte is U+FFFD (no rule applies to that)

Then white space, which is U+0020 alone: under `collapse` (remove_extra_whitespaces) none at the beginning and the end,
and one for several. Each is written as U+2581 unless `literal`. The prefix (add_dummy_prefix) is one more before the
text, or behind it under `suffix`; a document of which nothing is left has none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from tokassay.oracles import utf8
from tokassay.oracles.bytepolicy import scan
from tokassay.oracles.errors import Reject, Unsupported
from tokassay.oracles.spm_charsmap import Charsmap

SPACE = "\u2581".encode()
REPLACEMENT = "\ufffd".encode()
POLICIES = ("reject", "replace", "replace-each-byte")
MATCHES = 64  # of the user-defined pieces that begin at a place, so many of the shortest are looked at (normalizer.cc)


@dataclass(frozen=True)
class Normalized:
    """data    the normalized bytes
    origin  document offset of the chunk that each byte comes from and, last, where the text ends; () for no text
    prefixed  whether a prefix stands before the text
    """

    data: bytes
    origin: tuple[int, ...]
    prefixed: bool = False


class UserDefined:
    """User-defined pieces, found longest first."""

    def __init__(self, pieces: Collection[bytes]) -> None:
        self.pieces = frozenset(pieces)
        lengths: dict[int, set[int]] = {}
        for piece in pieces:
            lengths.setdefault(piece[0], set()).add(len(piece))
        self._lengths = {lead: sorted(found) for lead, found in lengths.items()}

    def longest(self, data: bytes, at: int) -> int:
        """Bytes of the longest piece at `at`, 0 for none."""
        fits = [n for n in self._lengths.get(data[at], ()) if data[at : at + n] in self.pieces]
        return fits[:MATCHES][-1] if fits else 0


class Normalizer:
    """The stage; `whitespace` holds words among collapse, suffix and literal. Raises Unsupported for another word."""

    def __init__(
        self, charsmap: Charsmap | None, user_defined: UserDefined, *, prefix: bool, whitespace: Collection[str] = ()
    ) -> None:
        for word in sorted(set(whitespace) - {"collapse", "suffix", "literal"}):
            raise Unsupported(f"white space {word!r} is not modelled", where="contract: whitespace")
        self._charsmap, self._user_defined = charsmap, user_defined
        self._collapse = "collapse" in whitespace
        self._before = prefix and "suffix" not in whitespace
        self._behind = prefix and "suffix" in whitespace
        self._space = b" " if "literal" in whitespace else SPACE
        # A user-defined piece stays as it is and no character changes: so does a run of them.
        self._plain = charsmap is None and not self._collapse

    def text(self, document: bytes, policy: str) -> bytes:
        """The normalized bytes. Raises Reject, Unsupported."""
        document, _ = _by_policy(document, policy)
        if not self._plain:
            return self._made(document)[0]
        if not document:
            return b""
        made = b"".join(
            document[start:end] if well_formed else REPLACEMENT * (end - start)
            for start, end, well_formed in utf8.runs(document)
        ).replace(b" ", self._space)
        return self._space * self._before + made + self._space * self._behind

    def normalize(self, document: bytes, policy: str) -> Normalized:
        """The same with where each byte comes from. Raises Reject, Unsupported."""
        read, places = _by_policy(document, policy)
        data, origin = self._made(read)
        if places is not None:
            origin = [places[at] for at in origin]
        return Normalized(data, tuple(origin), self._before and bool(data))

    def _chunks(self, document: bytes, at: int = 0) -> Iterator[tuple[int, int, bytes]]:
        """(start, end, what it becomes) of each chunk."""
        while at < len(document):
            width = self._user_defined.longest(document, at)
            if width:
                made = document[at : at + width]
            elif self._charsmap is not None and (rule := self._charsmap.longest(document, at)) is not None:
                width, made = rule
            elif width := utf8.sequence_width(document, at):
                made = document[at : at + width]
            else:
                width, made = 1, REPLACEMENT
            yield at, at + width, made
            at += width

    def _made(self, document: bytes) -> tuple[bytes, list[int]]:
        made: list[bytes] = []
        origin: list[int] = []
        space = self._space

        def put(data: bytes, at: int) -> None:
            made.append(data)
            origin.extend([at] * len(data))

        begun = 0
        if self._collapse:
            for start, _, text in self._chunks(document):
                begun = start
                if text != b" ":
                    break
            else:
                return b"", []
        if begun == len(document):
            return b"", []
        if self._before:
            put(space, begun)
        after_space = self._collapse
        for start, _, text in self._chunks(document, begun):
            if after_space:
                text = text.lstrip(b" ")
            put(text.replace(b" ", space), start)
            if text:
                after_space = self._collapse and text.endswith(b" ")
        end = len(document)
        data = b"".join(made)
        kept = len(data)
        while self._collapse and data.endswith(space, 0, kept):
            kept -= len(space)
        if kept < len(data):
            data, end = data[:kept], origin[kept]
            del origin[kept:]
        if self._behind:
            data += space
            origin += [end] * len(space)
        return data, [*origin, end]


def _by_policy(document: bytes, policy: str) -> tuple[bytes, list[int] | None]:
    """(what is read, the document offset of each of its bytes and of its end; None where that is itself)."""
    if policy not in POLICIES:
        raise Unsupported(f"byte policy {policy!r} is not modelled for pieces of text", where="contract: byte_policy")
    bad = utf8.first_ill_formed(document) if policy != "replace-each-byte" else None
    if bad is None:
        return document, None
    if policy == "reject":
        raise Reject(bad)
    scanned = scan(document, policy)
    assert scanned.origin is not None
    return scanned.data, [*(start for start, _ in scanned.origin), len(document)]
