"""A guard for a user's own project: an engine's ids frozen into a file, and asked again after an upgrade.

The frozen ids are the engine's own. Nothing here says that they are right (`tokassay audit` does); a check says whether
they are the same, and where they part first. It needs no oracle, so any file that an engine loads can be guarded.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from types import TracebackType

import numpy as np
from tokassay.corpora.corpus import ContentHash
from tokassay.engines.client import Unsupported
from tokassay.engines.roster import EngineSpec
from tokassay.harness import known, transformers_guard
from tokassay.harness.blocks import Block, Names
from tokassay.harness.compare import REJECT, Output, differing
from tokassay.harness.domains import DOMAINS, UNICODE_VERSIONS, read_table
from tokassay.harness.errors import INFRASTRUCTURE, InputError
from tokassay.harness.golden_file import Frozen, Golden
from tokassay.harness.guard_ask import Asking, find_target, relative, seen_from, special_texts
from tokassay.harness.guard_result import Checked, Divergence, Row, listed
from tokassay.harness.load import Loaded, load_vocabulary
from tokassay.harness.pieces import token_spans, view

# What is frozen unless asked otherwise: structure, real text, code points that Unicode versions class differently, all
# code points there are, and ties.
CORPORA = ("battery", "sample", "versions", "codepoints", "repeats")
# Who is asked unless another is named, by the vocabulary's format.
ENGINES = {
    "tiktoken": "tiktoken", "tekken": "tiktoken", "vocab.bpe": "tokenizers", "tokenizer.json": "tokenizers",
    "sentencepiece": "sentencepiece", "gguf": "sentencepiece", "cray": "dat-greedy", "rwkv": "dat-greedy",
    "vocab.txt": "tokenizers",
}
WITH_SPECIALS = "specials:200"  # added to them where the vocabulary has special or added tokens
WINDOW = 5  # ids shown on either side of the first that differs
ENDINGS = ("ids", "reject", "failure")

Tell = Callable[[str], None]


def freeze(
    vocabulary: str,
    engine: str | None,
    roster: Mapping[str, EngineSpec],
    *,
    out: Path,
    pattern: str | None = None,
    corpora: Sequence[str] = (),
    seed: int = 0,
    tell: Tell = lambda _: None,
) -> Golden:
    """Ask `engine` (NAME or NAME==VERSION; None: the usual one of the vocabulary's format) for the ids of every corpus,
    the default ones unless any are named.

    `out` is where the file will be: a path to the vocabulary is written as seen from there. Raises InputError where
    the engine cannot be asked, and for a corpus that cannot be opened.
    """
    tell(f"loading {vocabulary}")
    loaded = load_vocabulary(vocabulary, pattern=pattern)
    meant = find_target(engine or ENGINES[loaded.format], loaded.contract, roster)
    asked = [(spec, "off") for spec in corpora or CORPORA]
    texts = special_texts(loaded)
    if not corpora and texts and "on" in meant.spec.specials:
        asked.append((WITH_SPECIALS, "on"))
    frozen: list[Frozen] = []
    folder = out.absolute().parent
    with Asking(loaded, meant, roster, texts, folder) as asking:
        said = asking.hello()
        for spec, specials in asked:
            tell(f"{meant.spec.name} {said['version']} on {spec}")
            frozen.append(asking.freeze(seen_from(folder, spec), seed, specials))
    return Golden(
        tokassay=metadata.version("tokassay"),
        vocabulary={
            "given": _given(loaded, vocabulary, out), "format": loaded.format, "sha256": loaded.file_sha256,
            "pattern": pattern,
        },
        contract=loaded.contract,
        unmodelled=tuple(loaded.unmodelled),
        engine=said,
        corpora=tuple(frozen),
        settings=transformers_guard.read_settings(loaded.source_path, loaded.format),
        path=out,
    )


def _given(loaded: Loaded, vocabulary: str, out: Path) -> str:
    """A known name as it is; a path as seen from the folder of the file that is written, so that both may move."""
    if known.find(vocabulary.partition("@")[0]) is not None:
        return vocabulary
    return relative(loaded.source_path, out.absolute().parent)


class Guard:
    """A file of frozen ids and the engine that is held to it. A context manager: leaving it ends the engine."""

    def __init__(
        self,
        golden: Golden,
        roster: Mapping[str, EngineSpec],
        *,
        engine: str | None = None,
        vocabulary: str | None = None,
    ) -> None:
        """`engine`: NAME or NAME==VERSION; without it the frozen one, at the version that this environment has.
        `vocabulary` takes the place of the one that the file names. Raises InputError."""
        self.golden = golden
        given = vocabulary or _locate(golden)
        self.loaded = load_vocabulary(given, pattern=golden.vocabulary["pattern"])
        self.target = find_target(engine or golden.engine["name"], self.loaded.contract, roster)
        folder = golden.path.absolute().parent
        self._asking = Asking(self.loaded, self.target, roster, special_texts(self.loaded), folder)
        self._now: dict[str, str] | None = None

    def __enter__(self) -> Guard:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._asking.__exit__(kind, error, trace)

    @property
    def now(self) -> dict[str, str]:
        """The engine as it is now, with the version of this program. Raises InputError."""
        if self._now is None:
            self._now = {**self._asking.hello(), "tokassay": metadata.version("tokassay")}
        return self._now

    def check(self, tell: Tell = lambda _: None) -> Checked:
        """Everything that the file holds, asked again."""
        now = self.now
        checked = Checked(self.golden, now, changes=self.changes(), settings=self.settings())
        for corpus in self.golden.corpora:
            tell(f"{now['name']} {now['version']} on {corpus.name}")
            checked.rows.append(self.corpus(corpus))
        return checked

    def changes(self) -> list[str]:
        """What is not as it was when the file was made, ids and settings apart: the engine's version first."""
        then, now = self.golden.engine, self.now
        said = []
        if then["name"] != now["name"]:
            said.append(f"engine: {then['name']} {then['version']} is now {now['name']} {now['version']}")
        elif then["version"] != now["version"]:
            said.append(f"engine version: {then['name']} {then['version']} is now {now['version']}")
        if self.loaded.file_sha256 != self.golden.vocabulary["sha256"]:
            old, new = self.golden.contract, self.loaded.contract
            if "opaque" in (old.algorithm, new.algorithm):
                more = "whether its contract did is not known (it is not modelled)"
            else:
                parts = [name for name, value in new.core().items() if value != old.core().get(name)]
                more = f"its contract too, in {listed(parts)}" if parts else "its contract did not"
            said.append(f"vocabulary file: {self.loaded.source_path} changed; {more}")
        for name in ("python", "platform"):
            if then[name] != now[name]:
                said.append(f"{name}: {then[name]} is now {now[name]}")
        return said

    def settings(self) -> list[transformers_guard.Change]:
        """What changed in the tokenizer's other files; empty where the file has no settings."""
        if self.golden.settings is None:
            return []
        now = transformers_guard.read_settings(self.loaded.source_path, self.loaded.format)
        return transformers_guard.compare(self.golden.settings, now or {})

    def corpus(self, corpus: Frozen) -> Row:
        """One corpus asked again. Raises InputError where its documents are no longer those that were frozen."""
        held = {part.domain: part for part in corpus.parts}
        done = dict.fromkeys(DOMAINS, 0)  # documents so far, by domain
        blocks = dict.fromkeys(DOMAINS, 0)
        differ = dict.fromkeys(held, 0)
        found: list[tuple[int, Block, int, Output | None, Output, dict[int, tuple[str, str]]]] = []
        other = self.golden.engine["name"] != self.target.spec.name
        refused, contradicts = 0, False
        names, state = Names(), ContentHash()
        for block in self._asking.blocks(corpus.spec, corpus.seed, names, state):
            part = held.get(block.domain)
            place = blocks[block.domain]
            if part is None or place >= len(part.blocks) or done[block.domain] + block.documents > part.documents:
                raise self._other_corpus(corpus)
            try:
                digest, output, failures = self._asking.ask(corpus.specials, block)
            except Unsupported as error:
                return Row(corpus, {}, unsupported=error.detail)
            first = done[block.domain]
            done[block.domain] += block.documents
            blocks[block.domain] += 1
            if digest == part.blocks[place]:
                continue
            if part.kept is None:
                differ[block.domain] += block.documents
                found.append((int(block.indices[0]), block, 0, None, output, failures))
                continue
            was = _rows(part.kept, first, block.documents)
            unlike = differing(was, output)
            if other:
                either = (was.status == REJECT) | (output.status == REJECT)
                refused += int((either[unlike]).sum())
                unlike = unlike[~either[unlike]]
            elif not len(unlike):
                contradicts = True
            differ[block.domain] += len(unlike)
            if len(unlike):
                i = int(unlike[0])
                found.append((int(block.indices[i]), block, i, was, output, failures))
        if state.done().digest != corpus.content:
            raise self._other_corpus(corpus)
        if contradicts:
            raise InputError(
                f"corpus {corpus.name}: its digest and its ids contradict each other", where=str(self.golden.path),
                remedy="freeze again, or take the file from where it was written",
            )
        if not found:
            return Row(corpus, differ, refused=refused)
        number, block, i, before, after, failures = min(found, key=lambda row: row[0])
        first_found = self._divergence(corpus, number, names[number], block, i, before, after, failures)
        return Row(corpus, differ, first_found, refused)

    def _other_corpus(self, corpus: Frozen) -> InputError:
        now = metadata.version("tokassay")
        return InputError(
            f"corpus {corpus.name} is not the one that was frozen (by tokassay {self.golden.tokassay}; this is {now})",
            where=str(self.golden.path), remedy="freeze again, or use the version and the files that it was made with",
            exit_code=INFRASTRUCTURE,
        )

    def _divergence(
        self, corpus: Frozen, number: int, name: str, block: Block, i: int, before: Output | None, after: Output,
        failures: Mapping[int, tuple[str, str]],
    ) -> Divergence:
        document = block.document(i)
        if before is None:
            return Divergence(number, name, document, block.domain, -1, 0, (), (), None, None)
        old, new = ([int(one) for one in side.of(i)] for side in (before, after))
        endings = ENDINGS[int(before.status[i])], ENDINGS[int(after.status[i])]
        at = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
        start = max(0, at - WINDOW)
        verdict, detail = failures.get(i, ("", ""))
        ids = [side[at] if at < len(side) else None for side in (old, new)]
        span = self._span(corpus.specials, document, old, new, at) if endings == ("ids", "ids") else None
        return Divergence(
            number, name, document, block.domain, at, start, tuple(old[start : at + WINDOW + 1]),
            tuple(new[start : at + WINDOW + 1]), ids[0], ids[1], endings,
            ": ".join(word for word in (verdict, detail) if word), span, (self._token(ids[0]), self._token(ids[1])),
            tuple(_code_points(document if span is None else _whole_characters(document, *span))),
        )

    def _span(
        self, specials: str, document: bytes, old: Sequence[int], new: Sequence[int], at: int
    ) -> tuple[int, int] | None:
        """The bytes behind the ids that differ: from the first that does to where the rest is the same again."""
        table = self.loaded.vocabulary.ids()
        pieces = [table.get(number) for number in new]
        given = [piece for piece in pieces if piece is not None]
        spans = token_spans(given, document) if len(given) == len(pieces) else None
        spans = spans or self._asking.offsets(specials, document)
        if spans is None or len(spans) != len(new) or not spans:
            return None
        same = 0
        while same < min(len(old), len(new)) - at and old[-1 - same] == new[-1 - same]:
            same += 1
        start = spans[at][0] if at < len(spans) else spans[-1][1]
        end = spans[len(new) - same - 1][1] if len(new) - same > at else start
        return (start, max(start, end))

    def _token(self, number: int | None) -> str | None:
        """A token as text, where the vocabulary is known."""
        if number is None:
            return None
        token = self.loaded.vocabulary.ids().get(number)
        if token is not None:
            return view(token)
        return transformers_guard.token_text(self.loaded.source_path, self.loaded.format, number)


def _locate(golden: Golden) -> str:
    """The vocabulary that a file names: a known encoding, or a path as seen from the file's folder."""
    given = str(golden.vocabulary["given"])
    if known.find(given.partition("@")[0]) is not None:
        return given
    path = golden.path.absolute().parent / given
    bare = Path(str(path).partition("@")[0])
    if not path.exists() and not bare.exists():
        raise InputError(
            f"the vocabulary is not at {path}", where=f"{golden.path}: vocabulary.given",
            remedy="restore it, or name it with --vocab",
        )
    return str(path)


def _rows(output: Output, first: int, count: int) -> Output:
    """`count` documents of an output, from the document `first` on."""
    ends = np.concatenate((np.zeros(1, np.int64), output.ends))
    return Output(
        output.status[first : first + count], output.counts[first : first + count],
        output.values[int(ends[first]) : int(ends[first + count])],
    )


def _whole_characters(document: bytes, start: int, end: int) -> bytes:
    """The bytes from `start` to `end`, and those that complete the first and the last character."""
    while 0 < start < len(document) and document[start] & 0xC0 == 0x80:
        start -= 1
    while end < len(document) and document[end] & 0xC0 == 0x80:
        end += 1
    return document[start:end]


def _code_points(data: bytes) -> list[str]:
    """The code points of `data` beyond ASCII with their category in each of our Unicode versions; at most four."""
    said = []
    for letter in [one for one in dict.fromkeys(data.decode("utf-8", "ignore")) if not one.isascii()][:4]:
        labels = category(ord(letter))
        if len(set(labels)) == 1:
            told = f"{labels[0]} in Unicode {UNICODE_VERSIONS[0]} to {UNICODE_VERSIONS[-1]}"
        else:
            pairs = zip(labels, UNICODE_VERSIONS, strict=True)
            told = ", ".join(f"{label} in {version}" for label, version in pairs)
        said.append(f"U+{ord(letter):04X} is {told}")
    return said


@cache
def _tables() -> list[list[tuple[int, int, str]]]:
    return [read_table(version)[0] for version in UNICODE_VERSIONS]


def category(point: int) -> list[str]:
    """The general category of a code point in each version of `UNICODE_VERSIONS`; Cn where a table does not have it."""
    found = []
    for table in _tables():
        place = bisect_right(table, point, key=lambda row: row[0]) - 1
        found.append(table[place][2] if place >= 0 and point <= table[place][1] else "Cn")
    return found
