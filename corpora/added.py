"""The neighbourhoods of added tokens: what stands beside one, between two, and inside one that is then none.

Flags look at neighbours: `lstrip` and `rstrip` take blanks, `single_word` asks for no word character, `normalized` is
matched in other text than was given. So every representative stands before, behind, around and between the tokens, and
splits them. `added:N` has N drawn rows of tokens, cut tokens, blanks and representatives after the ruled ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokassay.corpora.corpus import Corpus, from_documents
from tokassay.corpora.document import Document
from tokassay.corpora.draws import Draws
from tokassay.corpora.joined import DEFAULT, PAIRED
from tokassay.corpora.tuples import REPRESENTATIVES

DRAWN = 2000
BLANKS = (" ", "  ", "   ", "\n", " \n", "\n ", "\r\n", "\t", "\u00a0", "\u3000", "\u2028", "\x85", "\x0b", "\u200b")
# [] is the token, {} a representative.
FORMS = ("{}[]", "[]{}", "{}[]{}", "[]{}[]", "a{}[]", "[]{}a", "[]{}[]{}[]")
WORD = ("a", "_", "1", "é", "日", "\u0301", "\u200d", "-")


def ruled(texts: Sequence[str]) -> Iterator[Document]:
    """Every representative in every form, blanks of every kind on both sides, and splits."""
    few = texts[:PAIRED]
    for text in few:
        token = text.encode()
        for name, data in REPRESENTATIVES:
            for form in FORMS:
                made = form.encode().replace(b"{}", data).replace(b"[]", token)
                yield Document(f"added {text} {form} {name}", made, f"an added token beside {name}")
            half = len(text) // 2
            made = text[:half].encode() + data + text[half:].encode()
            yield Document(f"added {text} split by {name}", made, f"{name} inside of what would be an added token")
        for before in BLANKS:
            for after in BLANKS:
                for left, right in (("", ""), ("a", "b")):
                    made = f"{left}{before}{text}{after}{right}".encode()
                    yield Document(f"added {text} {before!r} {after!r} {left}", made, "an added token between blanks")
        for before in WORD:
            for after in WORD:
                yield Document(f"added {text} {before} {after}", f"{before}{text}{after}".encode(), "inside of a word")
        for k in range(1, len(text)):
            yield Document(f"added {text} end {k}", (text + text[k:]).encode(), "the end of an added token behind it")
    for first in few:
        for second in few:
            for between in (*BLANKS, *WORD):
                made = f"{first}{between}{second}".encode()
                yield Document(f"added {first} {between!r} {second}", made, "two added tokens and what is between")


def drawn(texts: Sequence[str], size: int, seed: int) -> Iterator[Document]:
    """The first `size` rows of a seed."""
    for k in range(size):
        draws = Draws("added", seed, k)
        parts: list[bytes] = []
        for _ in range(1 + draws.length(8)):
            text, kind = draws.choice(texts), draws.below(4)
            if kind == 0:
                parts.append(draws.choice(REPRESENTATIVES)[1])
            elif kind == 1:
                parts.append(draws.choice(BLANKS).encode())
            elif kind == 2:
                parts.append(text[: 1 + draws.below(len(text))].encode())
            else:
                parts.append(text.encode())
        yield Document(f"added {seed}/{k}", b"".join(parts), "added tokens, cut ones, blanks and classes in a row")


def open_added(spec: str, size: int, seed: int, texts: Sequence[str]) -> Corpus:
    """The corpus `added:<size>` for a vocabulary's special and added texts (default `<|endoftext|>`)."""
    held = tuple(text for text in texts if text) or DEFAULT

    def make() -> Iterator[Document]:
        seen: set[bytes] = set()
        for document in ruled(held):
            if document.data not in seen:
                seen.add(document.data)
                yield document
        yield from drawn(held, size, seed)

    return from_documents(spec, spec, lambda _: make())
