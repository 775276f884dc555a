"""The oracle: a contract carried out stage by stage.

    special -> byte policy -> normalize -> special (flag `normalized`) -> (prefix space) -> pretokenize
            -> whole-piece look-up -> merge -> ids

It has no privilege over an engine: where the two differ, the written rule decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tokassay.oracles import greedy, merge, normalize, symbols, tiktoken_bytes, utf8
from tokassay.oracles.bytepolicy import ALPHABET, Scanned, prefixed, scan
from tokassay.oracles.classes import classes
from tokassay.oracles.decisions import PREFIX_SPACE, WHOLE, Decision
from tokassay.oracles.errors import OracleError, Reject, Unsupported
from tokassay.oracles.pretokenize import Pretokenizer
from tokassay.oracles.special import Segment, Specials

ALGORITHMS = ("bpe-ranks", "bpe-pairs", "greedy-longest")
UNKNOWN = ("greedy-longest", "wordpiece")  # the algorithms that have an unknown id

# Real text repeats its pieces; the memo only saves doing the same work again. Longer pieces are not worth
# keeping.
_MEMO_PIECE = 64
_MEMO_ENTRIES = 1 << 20


class Oracle:
    """One contract over one vocabulary.

    contract  the contract's JSON object (keys as in docs/FORMATS.md)
    tokens    ordinary tokens, bytes -> id
    merges    the merge list of `bpe-pairs`; None for the other algorithms
    specials  special tokens, text or bytes -> id: matched if the contract's `specials` is "on", decoded
              always

    Raises Unsupported for a contract with a part that is not modelled, OracleError for one that is not whole.
    Algorithms with rules of their own have classes of their own: see make.py.
    """

    algorithms: tuple[str, ...] = ALGORITHMS
    # Whether spans are told through the normalizer by a rule that engines share.
    tracks_spans = False

    def __init__(
        self,
        contract: Mapping[str, Any],
        tokens: Mapping[bytes, int],
        merges: Sequence[tuple[bytes, bytes]] | None = None,
        specials: Mapping[str, int] | Mapping[bytes, int] | None = None,
    ) -> None:
        self.contract = contract
        self.tokens = tokens
        algorithm = self._field("algorithm")
        if algorithm not in self.algorithms:
            raise Unsupported(f"algorithm {algorithm!r} is not modelled", where="contract: algorithm")
        fallback, suffix = bool(contract.get("byte_fallback")), contract.get("end_of_word", "")
        if (fallback or suffix) and algorithm != "bpe-pairs":
            raise Unsupported(f"byte_fallback and end_of_word under {algorithm} are not modelled", where="contract")
        self._symbols = symbols.Symbols(tokens, byte_fallback=fallback, end_of_word=suffix)
        self._normalizer = self._field("normalizer")
        self._read_normalizer()
        patterns = tuple(self._field("pretokenizer"))
        self._policy = self._field("byte_policy")
        if self._policy == "raw" and patterns:
            raise Unsupported("byte policy raw has no characters for a pretokenizer", where="contract: byte_policy")
        scan(b"", self._policy)
        self._table = classes(self._field("unicode"))
        # A normalizer may be of another Unicode version than the classes, and its lower case of yet another.
        versions = (contract.get("normalization") or self._table.version, contract.get("casing") or self._table.version)
        self._by: tuple[str, str, str] = (self._normalizer, *versions)
        self._pretokenizer = Pretokenizer(patterns, self._table.version, gaps=contract.get("gaps", "kept") == "kept")
        self._prefix_space = bool(contract.get("add_prefix_space"))
        self._whole_first = bool(contract.get("ignore_merges"))
        self._longest = greedy.longest_length(tokens)
        self._unknown: int | None = contract.get("unknown")
        if self._unknown is not None and algorithm not in UNKNOWN:
            raise Unsupported(f"an unknown id under {algorithm} is not modelled", where="contract: unknown")
        self._rank_of = self._ranks(algorithm, merges)
        self._raw, self._normal = self._read_specials(specials or {})
        self._bytes_of = {identity: self._written(identity, token) for token, identity in tokens.items()}
        self._width_of = {identity: len(self._symbols.written(identity, token)) for token, identity in tokens.items()}
        # Of texts that share an id the first is the id's: by id, then text, as contracts list them.
        added = sorted(self._all_specials.items(), reverse=True)
        self._bytes_of.update((identity, self._written(identity, token)) for token, identity in added)
        self._memo: dict[str | bytes, list[int]] = {}

    # ---- what the contract says

    def _field(self, name: str) -> Any:
        if name not in self.contract:
            raise OracleError(f"the contract lacks {name!r}", where="contract", remedy="use Contract.to_json()")
        return self.contract[name]

    def _written(self, identity: int, token: bytes) -> bytes:
        """What a token is decoded to."""
        token = self._symbols.written(identity, token)
        return token.replace(normalize.METASPACE.encode(), b" ") if "metaspace" in self._steps else token

    def _read_normalizer(self) -> None:
        """Unsupported for a normalizer that is not modelled."""
        self._steps: tuple[str, ...] = normalize.steps(self._normalizer)

    def _normal_form(self, text: str) -> str:
        """What the normalizer makes of the text of an added token."""
        return normalize.normalize(text, *self._by)

    def _ranks(self, algorithm: str, merges: Sequence[tuple[bytes, bytes]] | None) -> merge.RankOf | None:
        if algorithm in UNKNOWN:
            return None
        if algorithm == "bpe-ranks":
            return merge.ranks(self.tokens)
        if merges is None:
            raise OracleError("bpe-pairs needs a merge list", where="vocabulary", remedy="give merges or bpe-ranks")
        return merge.pairs(merges)

    def _read_specials(
        self, given: Mapping[str, int] | Mapping[bytes, int]
    ) -> tuple[Specials | None, Specials | None]:
        """What is matched in the raw document, and what in the normalized stretches between."""
        texts: dict[bytes, int] = {}
        for text, identity in given.items():
            texts[text.encode() if isinstance(text, str) else text] = identity
        for text, identity in self.contract.get("special_tokens", ()):
            texts[text.encode()] = identity
        flags: dict[bytes, tuple[str, ...]] = {}
        for text, identity, names in self.contract.get("added_tokens", ()):
            texts[text.encode()] = identity
            flags[text.encode()] = tuple(names)
        self._all_specials = texts
        mode = self._field("specials")
        if mode not in ("on", "off"):
            raise Unsupported(f"special-token policy {mode!r} is not modelled", where="contract: specials")
        raw = {text: each for text, each in texts.items() if "normalized" not in flags.get(text, ())}
        made: dict[bytes, int] = {}
        made_flags: dict[bytes, tuple[str, ...]] = {}
        for text, identity in texts.items():
            if text not in raw:
                form = self._normal_form(text.decode("utf-8")).encode("utf-8")
                if form in made:
                    raise Unsupported(f"added token {text!r} is another one's after the normalizer")
                made[form], made_flags[form] = identity, flags[text]
        kept = {text: names for text, names in flags.items() if text in raw}
        if mode == "off":
            return None, None
        return (
            Specials(raw, kept, self._table) if raw else None,
            Specials(made, made_flags, self._table) if made else None,
        )

    # ---- the stages

    def _segments(self, document: bytes) -> Iterator[Segment]:
        if self._raw is not None:
            yield from self._raw.segments(document)
        elif document:
            yield Segment(0, len(document), None)

    def _scanned(self, document: bytes, segment: Segment) -> tuple[Scanned, list[tuple[int, int]]]:
        """(the segment as characters and bytes, the spans of the document that the normalizer changed)."""
        whole = len(document) == segment.end - segment.start
        data = document if whole else document[segment.start : segment.end]
        return normalize.normalized(scan(data, self._policy, base=segment.start), *self._by)

    def _stretches(self, scanned: Scanned) -> Iterator[tuple[Segment | None, Scanned]]:
        """A normalized segment as (added token, its bytes) and (None, text that is cut into pieces), in order."""
        parts = [Segment(0, len(scanned.data), None)]
        if self._normal is not None:
            parts = list(self._normal.segments(scanned.data))
        for part in parts:
            stretch = scanned if len(parts) == 1 else scanned.part(part.start, part.end)
            if part.token is not None:
                yield part, stretch
                continue
            if self._prefix_space and stretch.text and not stretch.text.startswith(" "):
                stretch = prefixed(stretch, " ")
            yield None, stretch

    def _pieces(self, scanned: Scanned) -> Sequence[str | bytes]:
        """The pieces of a segment: as text where the bytes are its UTF-8, as bytes where they are not."""
        if not self._pretokenizer.gaps:
            return [piece for _, piece in self._placed(scanned)]
        pieces = self._pretokenizer.pieces(scanned.text)
        if scanned.starts is None:
            return pieces
        cut = []
        at = 0
        for piece in pieces:
            cut.append(scanned.data[scanned.starts[at] : scanned.starts[at + len(piece)]])
            at += len(piece)
        return cut

    def _placed(self, scanned: Scanned) -> Iterator[tuple[int, str | bytes]]:
        """(where it begins in the segment's bytes, the piece) of each."""
        if self._pretokenizer.gaps:
            at = 0
            for piece in self._pieces(scanned):
                yield at, piece
                at += len(piece.encode("utf-8") if isinstance(piece, str) else piece)
            return
        starts = scanned.character_starts()
        for first, last, _ in self._pretokenizer.ruled_pieces(scanned.text):
            yield starts[first], scanned.data[starts[first] : starts[last]]

    def _parts(self, piece: bytes, *, whole_first: bool, record: merge.Record | None = None) -> list[bytes]:
        """The token bytes of one piece."""
        if whole_first and piece in self.tokens:
            return [piece]
        if self._rank_of is None:
            return greedy.greedy(piece, self.tokens, self._longest, skip=self._unknown is not None)
        return merge.merge(self._symbols.begin(piece), self._rank_of, record)

    def _ids(self, parts: Sequence[bytes]) -> list[int]:
        if self._unknown is not None:
            return [self.tokens.get(part, self._unknown) for part in parts]
        try:
            return [self._symbols.ids[part] for part in parts]
        except KeyError as error:
            raise OracleError(
                f"{error.args[0].hex()} is not a token",
                where="vocabulary",
                remedy="byte-level BPE needs the 256 single-byte tokens and every merge's result",
            ) from None

    def _widths(self, ids: Sequence[int]) -> list[int]:
        """The number of bytes of a piece behind each of its ids."""
        widths = [self._width_of[identity] for identity in ids]
        if widths:
            widths[-1] -= len(self._symbols.suffix)
        return widths

    def _piece_ids(self, piece: str | bytes) -> list[int]:
        known = self._memo.get(piece)
        if known is None:
            data = piece.encode("utf-8") if isinstance(piece, str) else piece
            known = self._ids(self._parts(data, whole_first=self._whole_first))
            if len(piece) <= _MEMO_PIECE:
                if len(self._memo) >= _MEMO_ENTRIES:
                    self._memo.clear()
                self._memo[piece] = known
        return known

    def _tiktoken_tail(self, document: bytes) -> list[bytes] | None:
        """Token bytes if the `tiktoken-bytes` rule for ill-formed documents applies, otherwise None."""
        if self._policy != "tiktoken-bytes":
            return None
        valid = utf8.first_ill_formed(document)
        if valid is None:
            return None

        def pieces(prefix: bytes) -> list[list[bytes]]:
            scanned, _ = self._scanned(prefix, Segment(0, len(prefix), None))
            found: list[list[bytes]] = []
            for _, stretch in self._stretches(scanned):
                for piece in self._pieces(stretch):
                    found.append([self._bytes_of[identity] for identity in self._piece_ids(piece)])
            return found

        return tiktoken_bytes.encode_ill_formed(
            document, valid, pieces, lambda piece: self._parts(piece, whole_first=True)
        )

    # ---- the operations

    def encode(self, document: bytes) -> list[int]:
        """The ids of a document. Raises Reject where the byte policy refuses it."""
        tail = self._tiktoken_tail(document)
        if tail is not None:
            return self._ids(tail)
        ids: list[int] = []
        known = self._memo.get
        for segment in self._segments(document):
            if segment.token is not None:
                ids.append(segment.token)
                continue
            for part, stretch in self._stretches(self._scanned(document, segment)[0]):
                if part is not None and part.token is not None:
                    ids.append(part.token)
                    continue
                for piece in self._pieces(stretch):
                    # The look-up stands here, not in a call: nearly every piece of real text is known.
                    ids += known(piece) or self._piece_ids(piece)
        return ids

    def spans(self, document: bytes) -> list[tuple[int, int]]:
        """Document bytes (start, end) behind each id of encode(document).

        Behind a token with a byte of a chunk that the normalizer changed stands all of that chunk: spans may overlap.
        """
        if self._unknown is not None:
            raise Unsupported("the span of an unknown id is not modelled", where="contract: unknown")
        tail = self._tiktoken_tail(document)
        if tail is not None:
            return _consecutive(tail)
        spans: list[tuple[int, int]] = []
        for segment in self._segments(document):
            if segment.token is not None:
                spans.append((segment.start, segment.end))
                continue
            for part, stretch in self._stretches(self._scanned(document, segment)[0]):
                if part is not None:
                    spans.append(stretch.document_span(0, len(stretch.data)))
                    continue
                for at, piece in self._placed(stretch):
                    for width in self._widths(self._piece_ids(piece)):
                        spans.append(stretch.document_span(at, at + width))
                        at += width
        return spans

    def changes(self, document: bytes) -> bool:
        """Whether the normalizer changes something of the document so that no span of single characters is left."""
        return normalize.composes(self._normalizer) and any(
            self._scanned(document, segment)[1] for segment in self._segments(document) if segment.token is None
        )

    def pretokens(self, document: bytes) -> list[tuple[int, int]]:
        """Document bytes (start, end) of each piece, special tokens included, in order."""
        return [(each["start"], each["end"]) for each in self._trace(document) if each["stage"] in _PIECES]

    def decode(self, ids: Sequence[int]) -> bytes:
        """The bytes of the tokens, joined; what a normalizer writes for spaces, and a suffix of words, as spaces."""
        try:
            joined = b"".join([self._bytes_of[identity] for identity in ids])
        except KeyError as error:
            raise OracleError(
                f"no token has id {error.args[0]}", where="ids", remedy="give ids of this vocabulary"
            ) from None
        if self._symbols.suffix:
            joined = joined.replace(self._symbols.suffix, b" ")
        return joined.removeprefix(b" ") if "prepend-metaspace" in self._steps else joined

    def decisions(self, document: bytes) -> list[Decision]:
        """What every stage decided, in the pipeline's order (see decisions.py). Raises Reject like encode."""
        return self._trace(document)

    # ---- the trace

    def _trace(self, document: bytes) -> list[Decision]:
        found: list[Decision] = []
        valid = utf8.first_ill_formed(document) if self._policy == "tiktoken-bytes" else None
        if valid is not None:
            self._trace_tiktoken(document, valid, found)
            return found
        for segment in self._segments(document):
            if segment.token is not None:
                found.append(_special(segment.start, segment.end, segment.token))
                continue
            self._trace_segment(document, segment, found)
        return found

    def _trace_scan(self, document: bytes, segment: Segment, found: list[Decision]) -> None:
        at = segment.start
        data = document[: segment.end]
        while at < segment.end:
            width = utf8.sequence_width(data, at)
            if width:
                path, value = "well-formed" if width > 1 else "ascii", ord(data[at : at + width].decode("utf-8"))
                stands_for = value
            else:
                width, value, path, stands_for = self._ill_formed(data, at)
            found.append(
                {
                    "stage": "scan",
                    "offset": at,
                    "path": path,
                    "proposed": utf8.proposed_width(data[at]),
                    "accepted": width,
                    "value": value,
                    "class": self._table.label(stands_for),
                    "next": at + width,
                }
            )
            at += width

    def _ill_formed(self, data: bytes, at: int) -> tuple[int, int, str, int]:
        """(width, value, path, code point whose class counts) where no well-formed sequence starts."""
        if self._policy == "byte-alphabet":
            return 1, data[at], "ill-formed byte-alphabet", ord(ALPHABET[data[at]])
        if self._policy == "replace":
            return utf8.maximal_subpart(data, at), data[at], "ill-formed replace", 0xFFFD
        if self._policy == "replace-each-byte":
            return 1, data[at], "ill-formed replace-each-byte", 0xFFFD
        raise Reject(at)

    def _trace_segment(self, document: bytes, segment: Segment, found: list[Decision]) -> None:
        scanned, changed = self._scanned(document, segment)
        for start, end in changed:
            found.append({"stage": "normalize", "offset": start, "path": self._normalizer, "start": start, "end": end})
        if "prepend-metaspace" in self._steps and scanned.data:
            found.append(_put_before(segment.start))
        for part, stretch in self._stretches(scanned):
            if part is not None and part.token is not None:
                found.append(_special(*stretch.document_span(0, len(stretch.data)), part.token))
                continue
            starts = stretch.character_starts()
            put = self._prefix_space and stretch.document_span(0, 1)[0] == stretch.document_span(0, 1)[1]
            if put:
                found.append(_put_before(stretch.document_span(0, 1)[0]))
            if changed or "prepend-metaspace" in self._steps:
                self._trace_changed(stretch, starts, found)
            elif self._policy != "raw":
                if put:
                    self._trace_changed(stretch, starts[:2], found)
                self._trace_scan(document, Segment(*stretch.document_span(int(put), len(stretch.data)), None), found)
            for first, last, rule in self._pretokenizer.ruled_pieces(stretch.text):
                self._trace_piece(stretch, starts[first], starts[last], rule, self._whole_first, found)

    def _trace_changed(self, stretch: Scanned, starts: Sequence[int], found: list[Decision]) -> None:
        """The scan of text that is not the document's own: values and widths are the text's, offsets the document's.
        `starts` are those of the characters to tell of, and the end of the last."""
        for at, character in enumerate(stretch.text[: len(starts) - 1]):
            low, high = starts[at], starts[at + 1]
            alone = high - low == 1 and not character.isascii()
            value = stretch.data[low] if alone else ord(character)
            path = "ill-formed byte-alphabet" if alone else "well-formed" if high - low > 1 else "ascii"
            start, end = stretch.document_span(low, high)
            found.append(
                {
                    "stage": "scan",
                    "offset": start,
                    "path": path,
                    "proposed": utf8.proposed_width(stretch.data[low]),
                    "accepted": high - low,
                    "value": value,
                    "class": self._table.label(ord(character)),
                    "next": end,
                }
            )

    def _trace_piece(
        self, scanned: Scanned, start: int, end: int, rule: str, whole_first: bool, found: list[Decision]
    ) -> None:
        low, high = scanned.document_span(start, end)
        piece = scanned.data[start:end]
        found.append({"stage": "pretokenize", "offset": low, "path": "split", "start": low, "end": high, "rule": rule})
        parts = self._parts(piece, whole_first=whole_first, record=_merge_recorder(low, found))
        ids = self._ids(parts)
        path = WHOLE if whole_first and piece in self.tokens else "part"
        at = start
        for width, identity in zip(self._widths(ids), ids, strict=True):
            first, last = scanned.document_span(at, at + width)
            record = {"stage": "lookup", "offset": first, "path": path, "start": first, "end": last, "id": identity}
            found.append(record)
            at += width

    def _trace_tiktoken(self, document: bytes, valid: int, found: list[Decision]) -> None:
        self._trace_segment(document[:valid], Segment(0, valid, None), found)
        tail = self._tiktoken_tail(document)
        assert tail is not None
        kept, _ = tiktoken_bytes.split_tail(self._prefix_parts(found, document))
        start = sum(map(len, kept))
        # The tokens of the prefix that were taken off are no longer decisions of this document.
        found[:] = [
            each for each in found if each["stage"] not in ("lookup", "merge", "pretokenize") or each["offset"] < start
        ]
        self._trace_piece(
            Scanned("", document[start:], base=start), 0, len(document) - start, "tiktoken-bytes tail", True, found
        )

    def _prefix_parts(self, records: Sequence[Decision], document: bytes) -> list[list[bytes]]:
        pieces: list[list[bytes]] = []
        for each in records:
            if each["stage"] == "pretokenize":
                pieces.append([])
            elif each["stage"] == "lookup":
                pieces[-1].append(document[each["start"] : each["end"]])
        return pieces


_PIECES = ("special", "pretokenize")


def _special(start: int, end: int, identity: int) -> Decision:
    place = {"start": start, "end": end, "id": identity}
    return {"stage": "special", "offset": start, "path": "leftmost-longest", **place}


def _put_before(at: int) -> Decision:
    return {"stage": "normalize", "offset": at, "path": PREFIX_SPACE, "start": at, "end": at}


def _consecutive(parts: Sequence[bytes]) -> list[tuple[int, int]]:
    spans = []
    at = 0
    for part in parts:
        spans.append((at, at + len(part)))
        at += len(part)
    return spans


def _merge_recorder(offset: int, found: list[Decision]) -> Callable[[bytes, bytes, int, int], None]:
    def record(left: bytes, right: bytes, rank: int, position: int) -> None:
        place = {"stage": "merge", "offset": offset, "path": "lowest rank, leftmost"}
        found.append({**place, "left": left.hex(), "right": right.hex(), "rank": rank, "position": position})

    return record
