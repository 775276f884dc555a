"""The oracle for whole products: the right ids of every concatenation of K elements, without going through each one.

100,000,000 documents are too many for the oracle as it is. They are made of few parts, though, and three facts follow
from the written rules:

* *What follows the first piece is a document of its own.* Patterns have no look-behind (pattern.py refuses it), and a
  scanner that stands at a character has no memory. So the ids of a document are those of its first piece and then those
  of the rest, and the rest is a product of fewer elements. (Of several patterns in turn this holds where a piece of the
  one before is not cut further, or is a run of one class; `verified` asks the oracle itself.)
* *A pattern sees a character through its own expressions alone.* Characters that every class, escape and literal of the
  patterns answers alike are interchangeable: the first piece is found once for each row of classes.
* *Nothing merges where no token reaches across.* A symbol over a border is a token that holds the two bytes there side
  by side. Where no token of the vocabulary does, the parts are merged apart.

So what is left to the regular expressions is a table of first pieces by class, and to the merger those rows of elements
that tokens hold together. Ids are compared by their number and a 64-bit polynomial in them; `expected` gives both for
M ** D documents at once. The tables are made from an Oracle's own pretokenizer and merges, and `verified` holds them to
that Oracle's `encode` as a whole.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import regex
from tokassay.oracles import merge
from tokassay.oracles.bytepolicy import scan
from tokassay.oracles.errors import OracleError, Unsupported
from tokassay.oracles.oracle import Oracle
from tokassay.oracles.utf8 import proposed_width

# The digest of ids i1..in is the sum of (ij + 1) * BASE ** (n - j), modulo 2 ** 64. BASE is odd, so that its powers can
# be divided by: 2 ** 64 / phi, as in Fibonacci hashing.
BASE = 0x9E3779B97F4A7C15
WORD = (1 << 64) - 1
MOST = 6  # elements: a cut is kept in a byte
INSIDE = 4  # an element has at most four bytes, so that a cut is before its byte 0 to 3
MEMO = 1 << 20
TABLES = 2048  # of cuts, 30 kB each for 31 classes
KEPT = 256 << 20  # bytes of expectations: 1 MB a block of three axes of 48 elements

Numbers = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.uint8]
Elements = tuple[int, ...]  # indexes into `Products.elements`


class Answers(NamedTuple):
    """Right ids of a block of documents: digests (uint64) and numbers (uint8), one axis an element that varies."""

    digests: Numbers
    counts: Counts


class Begun(NamedTuple):
    """Elements as the patterns see them: their text, the cut before each character and after the last, and whether
    bytes behind them may join with the last ones."""

    elements: Elements
    text: str
    codes: list[int]
    opens: bool


def digest_of(ids: Iterable[int]) -> int:
    """The digest of some ids."""
    found = 0
    for each in ids:
        found = (found * BASE + each + 1) & WORD
    return found


@cache
def _powers(count: int, base: int) -> Numbers:
    found, power = np.empty(count, np.uint64), 1
    for at in range(count):
        found[at] = power
        power = power * base & WORD
    return found


POWERS = _powers(256, BASE)


def digests_of(values: npt.NDArray[np.uint32], offsets: npt.NDArray[Any]) -> Answers:
    """Digests and numbers of ids of many documents: those of document i are values[offsets[i]:offsets[i + 1]], and
    there is one at least. Shapes (n,)."""
    count, rise = len(values), 1 << 12
    # sum of (id + 1) * BASE ** -at over a document, then times BASE ** (its last place): one pass without repeating
    # anything for each id. Powers of a place are those of its block times those inside of the block.
    inverse, rows = pow(BASE, -1, 1 << 64), -(-count // rise)
    most = 1 << rows.bit_length()  # few sizes, so that powers are made few times
    weighted = np.zeros((rows, rise), np.uint64)  # the last document's sum runs into the end, which is zero
    np.add(values, np.uint64(1), out=weighted.reshape(-1)[:count])
    weighted *= _powers(rise, inverse)
    weighted *= _powers(most, pow(inverse, rise, 1 << 64))[:rows, None]
    edges = offsets.astype(np.int64)
    sums = np.add.reduceat(weighted.reshape(-1), edges[:-1])
    last = edges[1:] - 1
    sums *= _powers(rise, BASE)[last & (rise - 1)]
    sums *= _powers(most, pow(BASE, rise, 1 << 64))[last >> (rise.bit_length() - 1)]
    return Answers(sums, np.diff(edges).astype(np.uint8))


class Products:
    """Right ids of documents that are concatenations of up to six elements, under an oracle's contract.

    elements  byte strings of one to four bytes, in the order of the product
    size      how many of them; further entries of `elements` are parts of these, from one character to another

    Raises Unsupported for a contract in which a document is more than its pieces, or a piece more than its merges.
    """

    def __init__(self, oracle: Oracle, elements: Sequence[bytes]) -> None:
        _check(oracle.contract)
        self.oracle = oracle
        self.size = len(elements)
        self.elements = list(elements)
        for element in elements:
            starts = list(scan(element, "byte-alphabet").character_starts())
            for first, last in product(starts, starts):
                if first < last and element[first:last] not in self.elements:
                    self.elements.append(element[first:last])
        self._index = {element: k for k, element in enumerate(self.elements)}
        self._pretokenizer = oracle._pretokenizer
        self._searches = [each.search for each in oracle._pretokenizer._compiled]
        self._atoms = [atom for each in self._pretokenizer.patterns for atom in atoms(each.source)]
        self._classes()
        beside = np.zeros((256, 256), np.bool_)
        for token in oracle.tokens:
            raw = np.frombuffer(token, np.uint8)
            beside[raw[:-1], raw[1:]] = True
        lasts = [element[-1] for element in self.elements]
        firsts = [element[0] for element in self.elements]
        self._bound = beside[np.ix_(lasts, firsts)]
        self._pieces: dict[bytes, tuple[int, int]] = {}
        self._merged: dict[int, tuple[Numbers, Counts, npt.NDArray[np.bool_]]] = {}
        self._cuts: OrderedDict[tuple[Elements, int], npt.NDArray[np.uint8]] = OrderedDict()
        self._expected: OrderedDict[tuple[Elements, int], Answers] = OrderedDict()

    # ---- classes of elements

    def _classes(self) -> None:
        """`class_of[k]`: the class of element k; `members`: an element of each class. Classes of `size` elements come
        first."""
        seen: dict[Any, int] = {}
        self.class_of = np.empty(len(self.elements), np.int64)
        self.members: list[int] = []
        for k, element in enumerate(self.elements):
            scanned = scan(element, "byte-alphabet")
            # What may join with its neighbours, or be cut inside, stands for itself.
            alone = len(scanned.text) == 1 and not _opens(element) and not 0x80 <= element[0] < 0xC0
            key = self._signature(scanned.text) if alone else element
            if key not in seen:
                seen[key] = len(self.members)
                self.members.append(k)
            self.class_of[k] = seen[key]
            if k + 1 == self.size:
                self.kinds = len(self.members)
        # Of each class of the product: its text for matching, the cut before each of its characters and after the last.
        self._texts: list[str] = []
        self._inner: list[list[int]] = []
        for member in self.members[: self.kinds]:
            scanned = scan(self.elements[member], "byte-alphabet")
            self._texts.append(self._pretokenizer.matched_text(scanned.text))
            self._inner.append([*scanned.character_starts()[:-1], INSIDE])
        leads = [self.elements[member][0] for member in self.members[: self.kinds]]
        self._continuing = [kind for kind, lead in enumerate(leads) if 0x80 <= lead < 0xC0]

    def _signature(self, character: str) -> tuple[bool, ...]:
        matched = self._pretokenizer.matched_text(character)
        return tuple(atom.fullmatch(matched) is not None for atom in self._atoms)

    # ---- the first piece

    def _first(self, text: str) -> int:
        """Characters of the first piece: each pattern is applied to what the one before made the first part."""
        end = len(text)
        for search in self._searches:
            found = search(text) if end == len(text) else search(text, 0, end)
            if found:
                low, high = found.span()
                end = low or high
                if low == high:
                    raise Unsupported("a pattern that matches nothing is not modelled for products")
        return end

    def _begun(self, elements: Elements) -> Begun:
        """Some elements as the patterns see them."""
        data = self._joined(elements)
        scanned = scan(data, "byte-alphabet")
        codes = [self._code(elements, at) for at in scanned.character_starts()]
        return Begun(elements, self._pretokenizer.matched_text(scanned.text), codes, _opens(data))

    def _longer(self, begun: Begun, kind: int) -> Begun:
        """The same with a member of a class behind it; only what may join is scanned again."""
        elements = (*begun.elements, self.members[kind])
        if begun.opens and kind in self._continuing:
            return self._begun(elements)
        last, text = len(begun.elements) * INSIDE, self._texts[kind]
        codes = begun.codes[:-1] + [last + each for each in self._inner[kind]]
        return Begun(elements, begun.text + text, codes, _opens(self._joined(elements)))

    def _row(self, begun: Begun) -> list[int]:
        """Cuts of what is begun and a member of each class behind it: `kinds` of them."""
        text, codes, first_of = begun.text, begun.codes, self._first
        size, last = len(text), len(begun.elements) * INSIDE
        ends = [first_of(text + added) for added in self._texts]
        row = [
            codes[end] if end <= size else last + inner[end - size]
            for end, inner in zip(ends, self._inner, strict=True)
        ]
        if begun.opens:
            for kind in self._continuing:
                joined = self._longer(begun, kind)
                row[kind] = joined.codes[first_of(joined.text)]
        return row

    def _joined(self, elements: Elements) -> bytes:
        return b"".join([self.elements[k] for k in elements])

    def _code(self, elements: Elements, at: int) -> int:
        """The cut at byte `at` of some elements: whole elements before it * INSIDE + bytes of the next one."""
        for done, k in enumerate(elements):
            if at < len(self.elements[k]):
                return done * INSIDE + at
            at -= len(self.elements[k])
        return len(elements) * INSIDE

    def cuts(self, prefix: Elements, axes: int) -> npt.NDArray[np.uint8]:
        """Where the first piece ends, of `prefix` and one element of each of `axes` classes. Shape (kinds,) * axes.

        `prefix` holds members of classes; the cut is as in `_code`.
        """
        key = (prefix, axes)
        if key not in self._cuts:
            begun = self._begun(prefix)
            made = self._table(begun, axes) if axes else begun.codes[self._first(begun.text)]
            self._cuts[key] = np.array(made, np.uint8)
            if len(self._cuts) > TABLES:
                self._cuts.popitem(last=False)
        self._cuts.move_to_end(key)
        return self._cuts[key]

    def _table(self, begun: Begun, axes: int) -> list[Any]:
        if axes == 1:
            return self._row(begun)
        return [self._table(self._longer(begun, kind), axes - 1) for kind in range(self.kinds)]

    # ---- merged pieces

    def _piece(self, data: bytes) -> tuple[int, int]:
        """(digest, number) of the ids of one piece."""
        known = self._pieces.get(data)
        if known is None:
            ids = self.oracle._ids(merge.merge(data, self._rank_of))
            known = digest_of(ids), len(ids)
            if len(self._pieces) >= MEMO:
                self._pieces.clear()
            self._pieces[data] = known
        return known

    @property
    def _rank_of(self) -> merge.RankOf:
        rank_of = self.oracle._rank_of
        assert rank_of is not None  # _check
        return rank_of

    def _merge(self, prefix: Elements, need: npt.NDArray[np.bool_]) -> Answers:
        """Ids of `prefix` and one element an axis of `need`, as one piece; right where `need` is true."""
        axes = need.ndim
        if axes == 0:
            digest, count = self._piece(self._joined(prefix))
            return Answers(np.array(digest, np.uint64), np.array(count, np.uint8))
        if not prefix:
            return self._shared(need)
        out = Answers(np.zeros(need.shape, np.uint64), np.zeros(need.shape, np.uint8))
        for at in range(1, len(prefix)):
            if not self._bound[prefix[at - 1], prefix[at]]:
                head = self._merge(prefix[:at], np.array(True))
                return _after(head, self._merge(prefix[at:], need))
        left = need
        for axis in range(axes):
            bound = self._bound[prefix[-1], : self.size] if axis == 0 else self._bound[: self.size, : self.size]
            free = left & ~bound.reshape(_shape(axes, axis, bound))
            if free.any():
                head = self._merge(prefix, _any(free, range(axis, axes)))
                rest = self._merge((), _any(free, range(axis)))
                both = _after(Answers(*(_trailing(part, axes) for part in head)), rest)
                np.copyto(out.digests, both.digests, where=free)
                np.copyto(out.counts, both.counts, where=free)
                left = left & bound.reshape(_shape(axes, axis, bound))
        self._one_by_one(prefix, left, out)
        return out

    def _shared(self, need: npt.NDArray[np.bool_]) -> Answers:
        """`_merge` without a prefix: these are needed again and again, and are kept."""
        axes, shape = need.ndim, need.shape
        if axes not in self._merged:
            self._merged[axes] = np.zeros(shape, np.uint64), np.zeros(shape, np.uint8), np.zeros(shape, np.bool_)
        digests, counts, known = self._merged[axes]
        missing = need & ~known
        if missing.any():
            self._one_by_one((), missing, Answers(digests, counts))
            known |= missing
        return Answers(digests, counts)

    def _one_by_one(self, prefix: Elements, need: npt.NDArray[np.bool_], out: Answers) -> None:
        where = np.nonzero(need)
        if not len(where[0]):
            return
        data, elements = self._joined(prefix), self.elements
        rows = [
            self._piece(data + b"".join([elements[k] for k in each]))
            for each in zip(*(axis.tolist() for axis in where), strict=True)
        ]
        out.digests[where] = np.array([digest for digest, _ in rows], np.uint64)
        out.counts[where] = [count for _, count in rows]

    # ---- all of it

    def expected(self, prefix: Elements, axes: int) -> Answers:
        """Right ids of `prefix` (indexes of elements) and one element of the product an axis. Shape (size,) * axes."""
        if len(prefix) + axes > MOST or len(prefix) + axes == 0:
            raise OracleError(
                f"{len(prefix) + axes} elements", where="products", remedy=f"ask for 1 to {MOST}"
            )
        key = (prefix, axes)
        if key not in self._expected:
            self._expected[key] = self._make(prefix, axes)
            # Nearly all are of one size.
            if len(self._expected) * (self._expected[key].digests.nbytes + 1) > KEPT:
                self._expected.popitem(last=False)
        self._expected.move_to_end(key)
        return self._expected[key]

    def _make(self, prefix: Elements, axes: int) -> Answers:
        shape = (self.size,) * axes
        out = Answers(np.zeros(shape, np.uint64), np.zeros(shape, np.uint8))
        by_class = self.cuts(tuple(self.members[self.class_of[k]] for k in prefix), axes)
        kinds = self.class_of[: self.size]
        codes = by_class[np.ix_(*(kinds,) * axes)] if axes else by_class
        for code in np.unique(by_class).tolist():
            need = codes == code
            done, inside = divmod(code, INSIDE)
            if done == len(prefix) + axes:
                self._put(out, need, self._merge(prefix, need))
            elif done < len(prefix):
                head, rest = self._split(prefix, done, inside)
                self._put(out, need, _after(self._merge(head, np.array(True)), self.expected(rest, axes)))
            elif not inside:
                self._cut_between(out, need, prefix, done - len(prefix))
            else:
                self._cut_inside(out, need, prefix, done - len(prefix), inside)
        return out

    def _split(self, elements: Elements, done: int, inside: int) -> tuple[Elements, Elements]:
        """The elements before a cut and those behind it; parts of an element are elements."""
        if not inside:
            return elements[:done], elements[done:]
        whole = self.elements[elements[done]]
        head, tail = self._index[whole[:inside]], self._index[whole[inside:]]
        return (*elements[:done], head), (tail, *elements[done + 1 :])

    def _cut_between(self, out: Answers, need: npt.NDArray[np.bool_], prefix: Elements, taken: int) -> None:
        """The first piece is `prefix` and the first `taken` axes."""
        axes = need.ndim
        head = self._merge(prefix, _any(need, range(taken, axes)))
        both = _after(Answers(*(_trailing(part, axes) for part in head)), self.expected((), axes - taken))
        self._put(out, need, both)

    def _cut_inside(
        self, out: Answers, need: npt.NDArray[np.bool_], prefix: Elements, taken: int, inside: int
    ) -> None:
        """The first piece is `prefix`, the first `taken` axes, and `inside` bytes of the next one's element."""
        axes = need.ndim
        some = np.flatnonzero(_any(need, [axis for axis in range(axes) if axis != taken]))
        for k in some.tolist():
            (head,), (tail,) = self._split((k,), 0, inside)
            part = np.take(need, k, axis=taken)
            ahead = np.argwhere(_any(part, range(taken, axes - 1)))
            for place in ahead.tolist():
                first = self._merge((*prefix, *place, head), np.array(True))
                both = _after(first, self.expected((tail,), axes - taken - 1))
                at: Any = (*place, k, ...)
                self._put(Answers(out.digests[at], out.counts[at]), need[at], both)

    @staticmethod
    def _put(out: Answers, need: npt.NDArray[np.bool_], found: Answers) -> None:
        np.copyto(out.digests, found.digests, where=need)
        np.copyto(out.counts, found.counts, where=need)

    # ---- held to the oracle

    def document(self, elements: Elements) -> bytes:
        """The bytes of some elements."""
        return self._joined(elements)

    def verified(self, documents: Iterable[Elements]) -> Iterator[tuple[Elements, bool]]:
        """Each of some documents with whether `expected` says of it what the oracle's own `encode` does."""
        for elements in documents:
            ids = self.oracle.encode(self._joined(elements))
            axes = min(2, len(elements) - 1)
            found = self.expected(elements[: len(elements) - axes], axes)
            at = elements[len(elements) - axes :]
            yield elements, (int(found.digests[at]), int(found.counts[at])) == (digest_of(ids), len(ids))


def atoms(source: str) -> list[regex.Pattern[str]]:
    """What a pattern asks of single characters: its classes, escapes and literals, each with and without case."""
    found = re.findall(r"\[(?:\\.|[^\]\\])*\]|\\[pP](?:\{[^}]*\}|.)|\\x..|\\u....|\\.|[^\\\[]", source, re.DOTALL)
    single = dict.fromkeys(each for each in found if each not in r"|?*+{}()^.$" and each != r"\Z")
    return [regex.compile(each, regex.VERSION0 | flag) for each in single for flag in (0, regex.IGNORECASE)]


def _check(contract: Any) -> None:
    for field, wanted in (
        ("byte_policy", "byte-alphabet"), ("normalizer", "none"), ("specials", "off"), ("add_prefix_space", False),
        ("ignore_merges", False), ("unknown", None), ("byte_fallback", False), ("end_of_word", ""), ("gaps", "kept"),
    ):
        if (contract.get(field) or wanted) != wanted:
            what = f"{field} {contract.get(field)!r} is not modelled for products"
            raise Unsupported(what, where=f"contract: {field}")
    if contract["algorithm"] not in ("bpe-ranks", "bpe-pairs"):
        raise Unsupported("products are modelled for merges only", where="contract: algorithm")


def _opens(data: bytes) -> bool:
    """Whether continuation bytes behind `data` may make a character with its last bytes."""
    return any(proposed_width(byte) > back for back, byte in enumerate(reversed(data[-3:]), 1))


def _any(need: npt.NDArray[np.bool_], axes: Iterable[int]) -> npt.NDArray[np.bool_]:
    return np.asarray(need.any(axis=tuple(axes)))


def _shape(axes: int, axis: int, bound: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    """The shape in which `bound`, whose last axis is `axis`, meets an array of `axes` axes."""
    return (1,) * (axis + 1 - bound.ndim) + bound.shape + (1,) * (axes - axis - 1)


def _trailing(part: npt.NDArray[Any], axes: int) -> npt.NDArray[Any]:
    """The array with axes of length one behind its own, `axes` in all."""
    return part.reshape(part.shape + (1,) * (axes - part.ndim))


def _after(head: Answers, rest: Answers) -> Answers:
    """The ids of `head` and then those of `rest`; shapes are broadcast."""
    return Answers(head.digests * POWERS[rest.counts] + rest.digests, head.counts + rest.counts)

