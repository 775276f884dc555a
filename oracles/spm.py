"""The oracle for SentencePiece models: `bpe-scores` and `unigram-viterbi`, stage by stage.

    byte policy and normalizer -> merge (or the best path) -> ids

Bytes for which no piece is found are unknown. With byte fallback an unknown stretch is given as one piece a byte;
without it neighbouring unknown ones are one unknown id. Control pieces are never made from text.

The rules are those of SentencePiece 0.2.3 (sentencepiece_model.proto, normalizer.cc, bpe_model.cc, unigram_model.cc,
sentencepiece_processor.cc). Before 0.2.2 ties of the unigram model fell otherwise (docs/GUARD.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

from tokassay.oracles import spm_bpe, utf8
from tokassay.oracles.decisions import PREFIX_SPACE, Decision
from tokassay.oracles.errors import OracleError, Unsupported
from tokassay.oracles.spm_charsmap import Charsmap
from tokassay.oracles.spm_file import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED, Model
from tokassay.oracles.spm_normalize import POLICIES, REPLACEMENT, SPACE, Normalized, Normalizer, UserDefined
from tokassay.oracles.unigram import Unigram

BPE, UNIGRAM = "bpe-scores", "unigram-viterbi"
ALGORITHMS = (BPE, UNIGRAM)
NORMALIZERS = ("none", "charsmap")
_MEMO_PIECE, _MEMO_ENTRIES = 64, 1 << 20


class Tables:
    """What follows from a model alone, whatever the contract. Raises Unsupported for a type of piece that is not known.

    ids  normal and user-defined pieces -> id
    byte_ids  byte -> id
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.by_type: dict[int, dict[bytes, int]] = {kind: {} for kind in range(NORMAL, BYTE + 1)}
        for number, (piece, _, kind) in enumerate(model.pieces):
            if kind not in self.by_type:
                raise Unsupported(f"a piece of type {kind} is not modelled", where=f"piece {number}")
            self.by_type[kind].setdefault(piece, number)
        self.ids = {piece: n for kind in (NORMAL, USER_DEFINED) for piece, n in self.by_type[kind].items()}
        self.byte_ids = {_byte_of(piece): n for piece, n in self.by_type[BYTE].items()}
        self.user_defined = UserDefined(self.by_type[USER_DEFINED])
        self.unused = frozenset(self.by_type[UNUSED])
        self.memo: dict[bytes, list[bytes]] = {}

    def _scores(self, *kinds: int) -> dict[bytes, float]:
        return {piece: self.model.pieces[n][1] for kind in kinds for piece, n in self.by_type[kind].items()}

    @cached_property
    def charsmap(self) -> Charsmap:
        return Charsmap(self.model.charsmap)

    @cached_property
    def ranks(self) -> dict[bytes, int]:
        """Pieces that merging may make -> rank."""
        return spm_bpe.ranks(self._scores(UNUSED, USER_DEFINED, NORMAL))

    @cached_property
    def rank_of(self) -> spm_bpe.RankOf:
        return spm_bpe.by_piece(self.ranks)

    @cached_property
    def joins(self) -> frozenset[tuple[bytes, bytes]]:
        """The pairs of characters that stand beside each other in some piece."""
        return frozenset(_neighbours(self.ranks))

    @cached_property
    def unigram(self) -> Unigram:
        scores = self._scores(NORMAL)
        if not scores:
            raise OracleError("no normal piece", where="model", remedy="fetch the file again")
        return Unigram(scores, frozenset(self.by_type[USER_DEFINED]))


class SentencePiece:
    """One contract over one model.

    `contract` is the contract's JSON object; algorithm, normalizer, prefix, white space, byte fallback and unknown id
    are its to say, pieces, scores and character map the model's. Raises Unsupported for what is not modelled,
    OracleError for what is not whole.
    """

    tracks_spans = False

    def __init__(self, contract: Mapping[str, Any], tables: Tables) -> None:
        self.contract, self.tables, self.model = contract, tables, tables.model
        self.algorithm = str(contract.get("algorithm"))
        if self.algorithm not in ALGORITHMS:
            raise Unsupported(f"algorithm {self.algorithm!r} is not modelled", where="contract: algorithm")
        if contract.get("specials") != "off":
            # Whether a prefix stands behind one is decided by no common rule (ggml-org/llama.cpp#23840).
            raise Unsupported("special tokens in text are not modelled for pieces", where="contract: specials")
        for name, idle in (("pretokenizer", [[], ()]), ("ignore_merges", [False])):
            if contract.get(name, idle[0]) not in idle:
                raise Unsupported(f"{name} is not modelled for pieces", where=f"contract: {name}")
        if contract.get("normalizer") not in NORMALIZERS:
            raise Unsupported(f"normalizer {contract.get('normalizer')!r} is not modelled for pieces")
        self._policy = str(contract.get("byte_policy"))
        if self._policy not in POLICIES:
            raise Unsupported(f"byte policy {self._policy!r} is not modelled for pieces", where="contract: byte_policy")
        self.fallback, self.unknown = bool(contract.get("byte_fallback")), contract.get("unknown")
        if self.fallback and len(tables.byte_ids) < 256:
            raise OracleError("byte fallback without 256 byte pieces", where="model", remedy="fetch the file again")
        if self.unknown is None and not self.fallback:
            raise OracleError("no unknown piece", where="model", remedy="fetch the file again")
        self._normalizer = Normalizer(
            tables.charsmap if contract.get("normalizer") == "charsmap" else None,
            tables.user_defined,
            prefix=bool(contract.get("add_prefix_space")),
            whitespace=contract.get("whitespace", ()),
        )

    # ---- the stages

    def _parts(self, data: bytes, record: spm_bpe.Record | None = None) -> list[bytes]:
        """The parts of a normalized text, unknown ones character by character."""
        tables = self.tables
        if self.algorithm == UNIGRAM:
            return tables.unigram.best(data)
        begun = spm_bpe.symbols(data, tables.user_defined)
        if tables.unused:
            seen: spm_bpe.Parts = {}
            parts = spm_bpe.linked(begun, tables.rank_of, record, seen)
            return [each for part in parts for each in spm_bpe.split_again(part, tables.unused, seen)]
        if record is not None:
            return spm_bpe.linked(begun, tables.rank_of, record)
        return [part for stretch in self._stretches(begun) for part in self._merged(stretch)]

    def _stretches(self, begun: Sequence[spm_bpe.Symbol]) -> Iterator[Sequence[spm_bpe.Symbol]]:
        """The symbols cut between characters that stand beside each other in no piece. Nothing merges across such a
        place, so the sides are merged as if the other were not there."""
        at, joins = 0, self.tables.joins
        for place, ((left, frozen), (right, too)) in enumerate(pairwise(begun), 1):
            if frozen or too or (left, right) not in joins:
                yield begun[at:place]
                at = place
        if begun:
            yield begun[at:]

    def _merged(self, stretch: Sequence[spm_bpe.Symbol]) -> list[bytes]:
        if len(stretch) == 1:
            return [stretch[0][0]]
        rank_of, memo = self.tables.rank_of, self.tables.memo
        if len(stretch) > _MEMO_PIECE:
            return spm_bpe.linked(stretch, rank_of)
        key = b"".join([part for part, _ in stretch])
        known = memo.get(key)
        if known is None:
            if len(memo) >= _MEMO_ENTRIES:
                memo.clear()
            known = memo[key] = spm_bpe.linked(stretch, rank_of)
        return known

    def _given(self, parts: Sequence[bytes]) -> Iterator[tuple[int, int]]:
        """(id, bytes of the normalized text behind it): all of an unknown stretch is behind its last id."""
        waiting, ids, byte_ids = 0, self.tables.ids, self.tables.byte_ids
        for part in parts:
            number = ids.get(part)
            if waiting and (number is not None or self.fallback):
                yield self._unknown_id(), waiting
                waiting = 0
            if number is not None:
                yield number, len(part)
            elif self.fallback:
                for byte in part[:-1]:
                    yield byte_ids[byte], 0
                yield byte_ids[part[-1]], len(part)
            else:
                waiting += len(part)
        if waiting:
            yield self._unknown_id(), waiting

    def _unknown_id(self) -> int:
        assert self.unknown is not None
        return int(self.unknown)

    # ---- the operations

    def encode(self, document: bytes) -> list[int]:
        """The ids of a document. Raises Reject where the byte policy refuses it."""
        return [number for number, _ in self._given(self._parts(self._normalizer.text(document, self._policy)))]

    def normalized(self, document: bytes) -> Normalized:
        """What the normalizer made of a document. Raises Reject."""
        return self._normalizer.normalize(document, self._policy)

    def spans(self, document: bytes) -> list[tuple[int, int]]:
        """Document bytes (start, end) behind each id of encode(document), as sentencepiece.proto has them: one after
        the other they are the text that is kept. Behind the byte pieces of a character stands nothing, but for the
        last, which has all of it; behind a prefix nothing."""
        normal = self.normalized(document)
        return [(start, end) for _, start, end in self._placed(normal, self._parts(normal.data))]

    def _placed(self, normal: Normalized, parts: Sequence[bytes]) -> Iterator[tuple[int, int, int]]:
        at = 0
        for number, width in self._given(parts):
            yield number, normal.origin[at], normal.origin[at + width]
            at += width

    def changes(self, document: bytes) -> bool:
        """Whether the normalizer changes something of the document other than how a space is written."""
        return any(each["path"] != PREFIX_SPACE for each in self._changed(document, self.normalized(document)))

    def decode(self, ids: Sequence[int]) -> bytes:
        """The text of the ids: pieces with spaces for U+2581, without the prefix; bytes as they are where they make
        well-formed characters, else U+FFFD for each; nothing for a control piece."""
        pieces, waiting, text = self.model.pieces, bytearray(), bytearray()
        beginning = True
        for number in ids:
            if not 0 <= number < len(pieces):
                raise OracleError(f"no piece has id {number}", where="ids", remedy="give ids of this vocabulary")
            piece, _, kind = pieces[number]
            if kind == BYTE:
                waiting.append(_byte_of(piece))
                continue
            text += _well_formed(bytes(waiting))
            waiting.clear()
            beginning = beginning and not text
            if kind == CONTROL:
                continue
            took = False
            if beginning and (self.contract.get("add_prefix_space") or self._collapses):
                took = piece.startswith(SPACE)
                piece = piece.removeprefix(SPACE)
            text += self.model.unknown_surface if kind == UNKNOWN else piece.replace(SPACE, b" ")
            # Where white space is collapsed, all of it goes from the beginning.
            beginning = beginning and not text and not (took and not self._collapses)
        return bytes(text + _well_formed(bytes(waiting)))

    @property
    def _collapses(self) -> bool:
        return "collapse" in self.contract.get("whitespace", ())

    # ---- the trace

    def decisions(self, document: bytes) -> list[Decision]:
        """What every stage decided. Raises Reject like encode."""
        normal = self.normalized(document)
        found = list(self._changed(document, normal))

        def joined(left: bytes, right: bytes, rank: int, position: int) -> None:
            place = {"stage": "merge", "offset": 0, "path": "highest score, leftmost"}
            found.append({**place, "left": left.hex(), "right": right.hex(), "rank": rank, "position": position})

        parts = self._parts(normal.data, joined if self.algorithm == BPE else None)
        for number, start, end in self._placed(normal, parts):
            kind = self.model.pieces[number][2]
            path = {UNKNOWN: "unknown", BYTE: "byte fallback"}.get(kind, "piece")
            found.append(
                {"stage": "lookup", "offset": start, "path": path, "start": start, "end": end, "id": number}
            )
        return found

    def _changed(self, document: bytes, normal: Normalized) -> Iterator[Decision]:
        """The stretches that the normalizer changed: from where one chunk begins to where the next does that left
        something. A space written as U+2581 is the same."""
        origin, data = normal.origin, normal.data
        edges = sorted({0, *origin, len(document)})
        at = 0
        if normal.prefixed:
            start = origin[0]
            yield {"stage": "normalize", "offset": start, "path": PREFIX_SPACE, "start": start, "end": start}
            at = len(SPACE) if data.startswith(SPACE) else 1
        for start, end in pairwise(edges):
            begun = at
            while at < len(data) and origin[at] < end:
                at += 1
            if data[begun:at].replace(SPACE, b" ") != document[start:end].replace(SPACE, b" "):
                yield {"stage": "normalize", "offset": start, "path": "charsmap", "start": start, "end": end}


def _neighbours(pieces: Mapping[bytes, int]) -> Iterator[tuple[bytes, bytes]]:
    """The pairs of characters that stand beside each other in some piece."""
    for piece in pieces:
        at = 0
        before = b""
        while at < len(piece):
            width = spm_bpe.width_at(piece, at)
            character = piece[at : at + width]
            if before:
                yield before, character
            before = character
            at += width


def _byte_of(piece: bytes) -> int:
    """The byte that a piece `<0xNN>` stands for."""
    try:
        byte = int(piece[3:5], 16)
    except ValueError:
        byte = -1
    if piece != b"<0x%02X>" % (byte & 0xFF) or byte < 0:
        raise OracleError(f"{piece!r} is no byte piece", where="model", remedy="fetch the file again")
    return byte


def _well_formed(data: bytes) -> bytes:
    """Well-formed characters, and U+FFFD for every other byte."""
    made = [
        data[start:end] if good else REPLACEMENT * (end - start) for start, end, good in utf8.runs(data)
    ]
    return b"".join(made)
