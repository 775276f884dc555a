"""Documents with special tokens in them: real paragraphs joined the way web text is, and the hard places by
rule.

Real web text holds one `<|endoftext|>` a document. With specials off the same bytes are ordinary text, so
this corpus is audited both ways. `specials` gives 1,000 joined documents after the ruled ones; `specials:N`
gives N.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokassay.corpora.corpus import Corpus, from_documents
from tokassay.corpora.document import Document
from tokassay.corpora.draws import Draws
from tokassay.corpora.sample import sample

DEFAULT = ("<|endoftext|>",)
JOINED = 1000
PARAGRAPH = 2000
# Pairs are looked at for this many specials at most: some vocabularies have over a thousand.
PAIRED = 12
AROUND = (
    ("", ""),
    (" ", " "),
    ("\n", "\n"),
    ("\n\n", "\n\n"),
    ("", " "),
    (" ", ""),
    ("", "\n"),
    ("\t", "\r\n"),
    ("  ", "  "),
)
PLACES: tuple[tuple[str, bytes, bytes], ...] = (
    ("alone", b"", b""), ("between letters", b"a", b"b"), ("between digits", b"1", b"2"),
    ("before a contraction", b"it", b"'s"),
    ("after an apostrophe", b"'", b"s"), ("in runs of spaces", b"a   ", b"   b"),
    ("in runs of newlines", b"a\n\n", b"\n\nb"),
    ("after spaces at the end", b"a  ", b""), ("between marks", b"!", b"!"),
    ("between bytes FF", b"\xff", b"\xff"),
    ("after a cut lead", b"\xe2\x82", b"x"), ("after a lone lead", b"a\xc3", b"\xa9"),
    ("before a continuation", b"a", b"\x80"),
    ("between NULs", b"\0", b"\0"), ("before a mark", b"e", "\u0301".encode()),
    ("after a joiner", "\u200d".encode(), "\u200d".encode()),
    ("between ideographs", "日".encode(), "本".encode()),
)  # fmt: skip


def ruled(specials: Sequence[str]) -> Iterator[Document]:
    """Every place, neighbour, overlap and near miss, for each special token."""
    for text in specials:
        data = text.encode()
        for place, before, after in PLACES:
            yield Document(f"{text} {place}", before + data + after, f"a special token {place}")
        for times in (2, 3, 10):
            yield Document(f"{text} x{times}", data * times, "adjacent special tokens")
        for name, near in near_misses(text):
            yield Document(f"{text} {name}", near.encode(), f"no special token: {name}")
        for k in range(1, len(data)):
            yield Document(f"{text} restart {k}", data[:k] + data, "a partial match, then the whole")
    few = specials[:PAIRED]
    for a in few:
        for b in few:
            if a != b:
                yield Document(f"{a} then {b}", (a + b).encode(), "two different special tokens side by side")
            for k in range(1, min(len(a), len(b))):
                if a != b and a.endswith(b[:k]):
                    yield Document(
                        f"{a} over {b} by {k}",
                        (a + b[k:]).encode(),
                        "special tokens that overlap: leftmost first",
                    )
    for a in specials:
        for b in specials:
            if a != b and b.startswith(a):
                yield Document(
                    f"{a} in {b}", b.encode() + a.encode(), "one special token begins another: longest first"
                )


def near_misses(text: str) -> Iterator[tuple[str, str]]:
    """Texts one edit away from a special token's."""
    half = len(text) // 2
    yield "without its last character", text[:-1]
    yield "without its first character", text[1:]
    yield "in the other case", text.swapcase()
    yield "with a space inside", f"{text[:half]} {text[half:]}"
    yield "with a NUL inside", f"{text[:half]}\0{text[half:]}"
    yield "with a zero width space inside", f"{text[:half]}\u200b{text[half:]}"
    yield "in full width", "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


def joined(specials: Sequence[str], size: int, seed: int) -> Iterator[Document]:
    """Documents of 2 to 12 real paragraphs with a special token after each, as a training stream has them."""
    # Long files are cut between characters: what is joined here is well-formed.
    paragraphs = [d.data[:PARAGRAPH].decode("utf-8", "ignore").encode() for d in sample() if d.data]
    for k in range(size):
        draws = Draws("specials", seed, k)
        # The first special token is the joiner of real streams: half of all documents have only that one.
        usual = draws.chance(0.5)
        before, after = draws.choice(AROUND)
        parts = []
        for _ in range(1 + draws.length(12)):
            text = specials[0] if usual else draws.choice(specials)
            parts.append(draws.choice(paragraphs) + f"{before}{text}{after}".encode())
        yield Document(f"specials {seed}/{k}", b"".join(parts), "real paragraphs joined by special tokens")


def open_specials(size: int, seed: int, specials: Sequence[str]) -> Corpus:
    """The corpus `specials:<size>` for a vocabulary's special texts (default `<|endoftext|>`)."""
    texts = tuple(specials) or DEFAULT
    spec = f"specials:{size}"

    def make() -> Iterator[Document]:
        seen: set[bytes] = set()
        for document in ruled(texts):
            if document.data not in seen:
                seen.add(document.data)
                yield document
        yield from joined(texts, size, seed)

    return from_documents(spec, spec, lambda _: make())
