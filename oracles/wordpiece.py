"""WordPiece: BERT's normalizer, words and punctuation, then in each word the longest token first, from the left.

The published rule (google-research/bert, tokenization.py): a word of more characters than the limit is unknown; else
the longest token that begins at its first character is taken, then the longest with the continuing prefix that begins
where that one ended, and so on to the end of the word. If at some place none fits, the whole word is unknown: one id.

A span is what stands in the document behind a token's characters; behind an unknown word, all of it. Each character
that the normalizer made comes from one of the document's, so that engines that keep offsets can be held to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tokassay.oracles import bert
from tokassay.oracles.bytepolicy import Scanned, scan
from tokassay.oracles.decisions import LONGEST, TOO_LONG, UNKNOWN_WORD, Decision
from tokassay.oracles.errors import OracleError, Unsupported
from tokassay.oracles.oracle import Oracle
from tokassay.oracles.pretokenize import Pretokenizer
from tokassay.oracles.special import Segment

# A document that is not well-formed has no characters under the others.
POLICIES = ("reject", "replace", "replace-each-byte")

# What was taken of a word: the token (None: unknown) and how many of its characters.
Taken = tuple[bytes | None, int]


def joined(tokens: Sequence[bytes], prefix: bytes) -> bytes:
    """Tokens as text: a space before each but the first and those with the continuing prefix, which is left out."""
    parts = list(tokens[:1])
    for token in tokens[1:]:
        parts.append(token[len(prefix) :] if token.startswith(prefix) else b" " + token)
    return b"".join(parts)


class Words(Pretokenizer):
    """A pretokenizer whose matches are the words; what lies between them is dropped."""

    def ruled_pieces(self, text: str) -> Iterator[tuple[int, int, str]]:
        """(start, end, rule) of each word in characters."""
        return (each for each in super().ruled_pieces(text) if each[2] != "gap")

    def pieces(self, text: str) -> list[str]:
        """The words, in order."""
        matched = self.matched_text(text)
        if len(self._compiled) == 1:
            return [text[slice(*match.span())] for match in self._compiled[0].finditer(matched)]
        return [text[start:end] for start, end, _ in self.ruled_pieces(text)]


class WordPiece(Oracle):
    """A contract of `wordpiece`; as Oracle, but for what is said above.

    The contract's `unknown` is the id of an unknown word, `continuing_prefix` what tokens inside of words begin with,
    `max_word_chars` the limit in characters; tokens are UTF-8. Raises Unsupported and OracleError like Oracle.
    """

    algorithms = ("wordpiece",)
    tracks_spans = True

    def __init__(
        self,
        contract: Mapping[str, Any],
        tokens: Mapping[bytes, int],
        merges: Sequence[tuple[bytes, bytes]] | None = None,
        specials: Mapping[str, int] | Mapping[bytes, int] | None = None,
    ) -> None:
        for name in ("unknown", "continuing_prefix", "max_word_chars"):
            if contract.get(name) is None:
                raise OracleError(f"wordpiece needs {name!r}", where="contract", remedy="use Contract.to_json()")
        if contract.get("byte_policy") not in POLICIES:
            policy = contract.get("byte_policy")
            raise Unsupported(f"byte policy {policy!r} has no characters for words", where="contract: byte_policy")
        if contract.get("gaps") != "dropped":
            raise Unsupported("wordpiece with gaps between words is not modelled", where="contract: gaps")
        self._prefix = str(contract["continuing_prefix"]).encode("utf-8")
        self._limit = int(contract["max_word_chars"])
        super().__init__(contract, tokens, merges, specials)
        self._pretokenizer = Words(tuple(contract["pretokenizer"]), self._table.version)
        self._longest = max((len(token.decode("utf-8", "replace")) for token in tokens), default=0)

    def _read_normalizer(self) -> None:
        self._steps = bert.steps(self._normalizer)
        version = str(self.contract["unicode"])
        self._tables = bert.tables(
            str(self.contract.get("normalization") or version), str(self.contract.get("casing") or version)
        )

    def _normal_form(self, text: str) -> str:
        return bert.normalize(text, self._steps, self._tables)

    def _scanned(self, document: bytes, segment: Segment) -> tuple[Scanned, list[tuple[int, int]]]:
        data = document[segment.start : segment.end]
        return bert.normalized(scan(data, self._policy, base=segment.start), self._steps, self._tables)

    # ---- the stages

    def _pieces(self, scanned: Scanned) -> Sequence[str | bytes]:
        return self._pretokenizer.pieces(scanned.text)

    def _match(self, word: str) -> tuple[list[Taken], str]:
        """What is taken of a word from the left, and how: one unknown, or tokens that make it up."""
        if len(word) > self._limit:
            return [(None, len(word))], TOO_LONG
        taken: list[Taken] = []
        start = 0
        while start < len(word):
            prefix = self._prefix if start else b""
            for end in range(min(len(word), start + self._longest), start, -1):
                token = prefix + word[start:end].encode("utf-8")
                if token in self.tokens:
                    break
            else:
                return [(None, len(word))], UNKNOWN_WORD
            taken.append((token, end - start))
            start = end
        return taken, LONGEST

    def _id(self, token: bytes | None) -> int:
        return int(self.contract["unknown"]) if token is None else self.tokens[token]

    def _piece_ids(self, piece: str | bytes) -> list[int]:
        known = self._memo.get(piece)
        if known is None:
            known = self._memo[piece] = [self._id(token) for token, _ in self._match(str(piece))[0]]
        return known

    # ---- the operations

    def spans(self, document: bytes) -> list[tuple[int, int]]:
        """Document bytes (start, end) behind each id of encode(document)."""
        return [
            (each["start"], each["end"]) for each in self.decisions(document) if each["stage"] in ("special", "lookup")
        ]

    def decode(self, ids: Sequence[int]) -> bytes:
        """The tokens with a space between, but for those with the continuing prefix, which follow without either.

        The first token stays as it is. Published BERT has no decoder; this is the one of tokenizers without `cleanup`.
        """
        return joined([super(WordPiece, self).decode([number]) for number in ids], self._prefix)

    def _trace_piece(
        self, scanned: Scanned, start: int, end: int, rule: str, whole_first: bool, found: list[Decision]
    ) -> None:
        low, high = scanned.document_span(start, end)
        found.append({"stage": "pretokenize", "offset": low, "path": "split", "start": low, "end": high, "rule": rule})
        word = scanned.data[start:end].decode("utf-8")
        taken, path = self._match(word)
        at, done = start, 0
        for token, width in taken:
            size = len(word[done : done + width].encode("utf-8"))
            first, last = scanned.document_span(at, at + size)
            place = {"start": first, "end": last, "id": self._id(token)}
            found.append({"stage": "lookup", "offset": first, "path": path, **place})
            at, done = at + size, done + width


