"""Conversions of a vocabulary file, each proved before it is written: the same tokens, ids, merges and special tokens
by canonical digests, and the same ids on a corpus by a library that shares no code with us.

What the target cannot hold is named, or refused where ids would change. recover.py has the proof of the merges.
"""

from __future__ import annotations

import json
import tempfile
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any

from tokassay.corpora.open import open_corpus
from tokassay.engines.client import Host, HostFailure
from tokassay.engines.environments import interpreter
from tokassay.engines.roster import load_roster
from tokassay.harness.blocks import Block, Names, cut
from tokassay.harness.compare import Output, differing
from tokassay.harness.contract import ADDED_FLAGS, Contract, canonical_json
from tokassay.harness.errors import AGREED, MISMATCH, InputError
from tokassay.harness.hosts import open_host
from tokassay.harness.load import Loaded, load_vocabulary
from tokassay.harness.materialize import _expressible, ranks_file, tokenizer_json
from tokassay.harness.output import write_whole
from tokassay.harness.pieces import one_line
from tokassay.harness.recover import Recovered, recover, unlike_ranks
from tokassay.harness.vocabulary import Vocabulary

KINDS = ("tiktoken", "tokenizer.json", "profile")
CORPORA = ("battery", "sample")
SPECIALS = "specials:20"  # documents made of special tokens
SOURCES = {"tiktoken": "tiktoken", "tokenizer.json": "tokenizers"}  # the library that reads a format itself
SHOWN = 12  # gaps in words

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Form:
    """A vocabulary as its canonical digest names it, with the contract's other parts that fix ids.

    `vocabulary` has no merge list where that provably means the ranks; its special tokens are those of the contract.
    """

    vocabulary: Vocabulary
    contract: Mapping[str, Any]
    by_ranks: bool

    @property
    def digest(self) -> str:
        return self.vocabulary.digest

    @property
    def contract_digest(self) -> str:
        return sha256(canonical_json(dict(self.contract))).hexdigest()[:16]


@dataclass(frozen=True)
class Comparison:
    """Ids by two programs on the documents of a corpus; `first` is what differs first, in words."""

    corpus: str
    specials: str
    source: str
    target: str
    documents: int
    ids: int
    left_out: int
    differ: int
    first: str = ""

    def to_json(self) -> dict[str, Any]:
        return {**self.__dict__, "same": self.differ == 0}


@dataclass
class Conversion:
    """What was converted, and the proof. `lost` names parts of the source that the target does not hold."""

    source: str
    source_format: str
    kind: str
    out: str
    facts: dict[str, Any]
    before: Form
    after: Form | None = None
    lost: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    compared: list[Comparison] = field(default_factory=list)
    written: list[str] = field(default_factory=list)

    @property
    def digests_equal(self) -> bool:
        return self.after is not None and self.after.digest == self.before.digest

    @property
    def contracts_equal(self) -> bool:
        return self.after is not None and self.after.contract == self.before.contract

    @property
    def proved(self) -> bool:
        """Whether digests, contracts and every id that was compared are equal, and ids were compared at all."""
        ids = sum(one.ids for one in self.compared)
        return self.digests_equal and self.contracts_equal and ids > 0 and not any(c.differ for c in self.compared)

    @property
    def exit_code(self) -> int:
        return AGREED if self.proved else MISMATCH

    def to_json(self) -> dict[str, Any]:
        after = self.after
        return {
            "schema": "tokassay.convert/1",
            "source": self.source, "source_format": self.source_format, "to": self.kind, "out": self.out,
            **self.facts,
            "digest_before": self.before.digest, "digest_after": after.digest if after else None,
            "contract_before": self.before.contract_digest,
            "contract_after": after.contract_digest if after else None,
            "lost": self.lost, "notes": self.notes, "compared": [one.to_json() for one in self.compared],
            "written": self.written, "proved": self.proved, "exit_code": self.exit_code,
        }


def convert(
    vocabulary: str,
    kind: str,
    out: Path,
    *,
    pattern: str | None = None,
    specials: Mapping[str, int] | None = None,
    tell: Tell = lambda _: None,
) -> Conversion:
    """Write the vocabulary `vocabulary` (a known name or a path) to `out` as `kind`, if that is proved to be the same.

    A rank file is accompanied by `out` + `.specials.json` where there are special tokens. What is not proved is not
    written: `Conversion.proved` is then false, and says where. Raises InputError for what `kind` cannot hold.
    """
    if kind not in KINDS:
        raise InputError(f"no form is called {kind!r}", where="--to", remedy=f"use {' | '.join(KINDS)}")
    tell(f"loading {vocabulary}")
    loaded = load_vocabulary(vocabulary, pattern=pattern, specials=specials)
    if loaded.contract.algorithm not in ("bpe-ranks", "bpe-pairs"):
        reasons = "; ".join(loaded.unmodelled) or loaded.contract.algorithm
        raise InputError(f"not converted: {reasons}", where=vocabulary, remedy="give a byte-level BPE vocabulary")
    if not loaded.contract.byte_level or loaded.contract.normalizer not in ("none", "nfc"):
        raise InputError(
            "not converted: its normalizer, or that its tokens are no bytes of the text, has no place in every form",
            where=vocabulary, remedy="give a byte-level BPE vocabulary without a normalizer, or with NFC",
        )
    always = tuple(text for text, *_ in loaded.contract.added_tokens)
    counts = {"special_tokens": len(loaded.contract.special_tokens), "added_tokens": len(always)}
    if kind == "tiktoken":
        loaded = as_specials(loaded)
    _refuse(kind, loaded)
    found = recover(loaded.vocabulary)
    before = form_of(loaded, found)
    if kind == "tiktoken" and not before.by_ranks:
        reason = unlike_ranks(loaded.vocabulary, loaded.contract.ignore_merges, found)
        raise InputError(
            f"its merges are not those of its ids as ranks: {reason}", where=f"--to {kind}",
            remedy="convert it to tokenizer.json or to a profile",
        )
    done = Conversion(vocabulary, loaded.format, kind, str(out), facts_of(loaded, found) | counts, before)
    done.lost, done.notes = lost(kind, loaded), notes(kind, loaded, done.facts)
    if kind == "tiktoken" and always:
        done.lost.append(
            f"added tokens: {len(always)} are not special, and tokenizers matches them always; tiktoken does where "
            "special tokens are allowed"
        )
    tell("writing")
    with _beside(out) as folder:
        made = _make(kind, loaded, before, found, folder)
        tell("reading it back")
        again = None if kind == "profile" else load_vocabulary(
            made[0], pattern=_one_pattern(loaded.contract) if kind == "tiktoken" else None,
            specials=dict(loaded.contract.special_tokens) if kind == "tiktoken" else None,
        )
        done.after = _profile_form(made[0], loaded, before) if again is None else form_of(again)
        if kind == "tiktoken":  # a rank file has no normalizer, by whoever reads it
            contract = {**done.after.contract, "normalizer": loaded.contract.normalizer}
            done.after = replace(done.after, contract=contract)
        done.compared += compare(loaded, kind, made[0], always, tell)
        if done.proved:
            tell("putting it in its place")
            for path, target in zip(made, (out, Path(f"{out}.specials.json")), strict=False):
                write_whole(target, path.read_bytes(), "--out")
                done.written.append(str(target))
    return done


# -- before and after ---------------------------------------------------------------------------------------


def form_of(loaded: Loaded, found: Recovered | None = None) -> Form:
    """The canonical form of a loaded vocabulary: as ranks where its merges provably mean them.

    `found` is what `recover` gives for it, where that is known already.
    """
    found = found or recover(loaded.vocabulary)
    contract, vocabulary = loaded.contract, loaded.vocabulary
    texts = named(contract)
    tokens = {token: number for token, number in vocabulary.tokens.items() if token}  # "" is part of no piece
    # The dead texts of a file do no harm, and are no special tokens; see `notes`.
    plain = Vocabulary(tokens, vocabulary.merges, texts)
    by_ranks = not unlike_ranks(plain, contract.ignore_merges, found)
    if by_ranks:
        plain = Vocabulary(tokens, None, texts)
    needed = bool(found.whole) if by_ranks else contract.ignore_merges
    return Form(plain, _contract_of(contract, by_ranks, plain.digest, needed), by_ranks)


def _contract_of(contract: Contract, by_ranks: bool, digest: str, ignore_merges: bool) -> dict[str, Any]:
    """The core of a contract as far as a file of any form holds it: without the post-processor, which is named."""
    core = contract.core()
    core |= {"vocabulary": digest, "specials": "off", "post_processor": "none", "ignore_merges": ignore_merges}
    return core | ({"algorithm": "bpe-ranks"} if by_ranks else {})


def _profile_form(path: Path, loaded: Loaded, before: Form) -> Form:
    """What a profile itself holds: every id's bytes asked of the opened file, and the contract that it states.

    Its merges are tables that are not read back: their proof is the comparison of ids. So the list is the source's.
    """
    from tokassay.engines.dat_bpe import Encoder, profiles

    about = profiles.read(path)[2]
    encoder = Encoder.open(path)
    rows = {one.text: one for one in encoder.added}
    held = {one.id for one in rows.values()}
    tokens: dict[bytes, int] = {}
    for number in range(encoder.n_vocab):
        if number not in held:
            with suppress(ValueError):  # a gap
                tokens[encoder.token_bytes(number)] = number
    vocabulary = Vocabulary(tokens, before.vocabulary.merges, {text: one.id for text, one in rows.items()})
    stated = {
        "vocabulary": vocabulary.digest,
        "normalizer": encoder.normalizer,
        "pretokenizer": list(encoder.expressions),
        "add_prefix_space": bool(about["prefix_space"]),
        "ignore_merges": bool(encoder.ignore_merges) and encoder.unreachable > 0,
    }
    # It does not tell a special token from an added one without flags: both are matched alike.
    asked = [[text, number, []] for text, number in loaded.contract.special_tokens]
    asked += [[text, number, sorted(flags)] for text, number, flags in loaded.contract.added_tokens]
    found = [[text, one.id, sorted(flag for flag in ADDED_FLAGS if getattr(one, flag))] for text, one in rows.items()]
    if sorted(found) != sorted(asked):
        stated["added_tokens"] = found
    return Form(vocabulary, {**before.contract, **stated}, before.by_ranks)


def facts_of(loaded: Loaded, found: Recovered) -> dict[str, Any]:
    """Counts: tokens, merges of the source and recovered ones, exceptions, whole-piece tokens, gaps."""
    vocabulary, contract = loaded.vocabulary, loaded.contract
    used = {*named(contract).values(), *vocabulary.tokens.values()}
    return {
        "tokens": len(vocabulary.tokens),
        "merges_listed": None if vocabulary.merges is None else len(vocabulary.merges),
        "merges_recovered": len(found.pairs),
        "exceptions": len(found.exceptions),
        "whole_piece_tokens": len(found.whole),
        "gaps": gaps(used),
    }


def named(contract: Contract) -> dict[str, int]:
    """Special and other added tokens, text -> id."""
    return dict(contract.special_tokens) | {text: number for text, number, _ in contract.added_tokens}


def as_specials(loaded: Loaded) -> Loaded:
    """The same with added tokens that have no flags among the special ones: both are matched alike, if they are."""
    contract = loaded.contract
    moved = [(text, number) for text, number, flags in contract.added_tokens if not flags]
    specials = tuple(sorted([*contract.special_tokens, *moved], key=lambda row: (row[1], row[0])))
    rest = tuple(row for row in contract.added_tokens if row[2])
    return replace(loaded, contract=replace(contract, special_tokens=specials, added_tokens=rest))


def gaps(used: set[int]) -> list[list[int]]:
    """Runs `[first, last]` of ids below the highest that stand for nothing."""
    free = sorted(set(range(max(used, default=-1) + 1)) - used)
    runs = []
    for _, group in groupby(enumerate(free), key=lambda pair: pair[1] - pair[0]):
        numbers = [number for _, number in group]
        runs.append([numbers[0], numbers[-1]])
    return runs


# -- what cannot be said ------------------------------------------------------------------------------------


def _refuse(kind: str, loaded: Loaded) -> None:
    """Raise InputError where the target would give other ids."""
    contract = loaded.contract

    def refuse(what: str, remedy: str) -> InputError:
        return InputError(what, where=f"--to {kind}", remedy=remedy)

    if kind == "tiktoken":
        if len(contract.pretokenizer) != 1:
            count = len(contract.pretokenizer)
            raise refuse(f"tiktoken splits by one expression, this by {count}", "convert it to a profile")
        if contract.added_tokens:
            text, number, flags = contract.added_tokens[0]
            raise refuse(
                f"added token {text!r} ({number}) has flags ({', '.join(flags)}), which tiktoken has not "
                f"({len(contract.added_tokens)} tokens in all)", "convert it to a profile",
            )
        if contract.add_prefix_space:
            raise refuse("tiktoken puts no space before the text", "convert it to a profile")
    if kind == "tokenizer.json" and not _expressible(loaded.vocabulary, contract.with_variants(specials="on")):
        numbers: dict[int, str] = {}
        for text, number in named(contract).items():
            if number in numbers:
                raise refuse(
                    f"{numbers[number]!r} and {text!r} share id {number}: tokenizers keeps one of them",
                    "convert it to tiktoken or to a profile",
                )
            numbers[number] = text
        raise refuse("its prefix space or an added token cannot be said there", "convert it to a profile")


def lost(kind: str, loaded: Loaded) -> list[str]:
    """Parts of the source that the target has no place for, and where they go."""
    contract, said = loaded.contract, []
    if kind == "tiktoken":
        said.append(f"pattern: a rank file has none; give it to whoever reads it: {contract.pretokenizer[0]}")
        if contract.special_tokens:
            said.append(f"special tokens: {len(contract.special_tokens)}, in a file of their own beside it")
        if contract.normalizer != "none":
            said.append(f"normalizer: {contract.normalizer} is to be applied to a text before it is encoded")
    if contract.post_processor != "none":
        said.append(f"post-processor: {contract.post_processor} is not carried over; ids are compared before it")
    return said


def notes(kind: str, loaded: Loaded, facts: Mapping[str, Any]) -> list[str]:
    """What a reader should know of gaps, exceptions and dead texts."""
    said = []
    if facts["gaps"]:
        count = sum(last - first + 1 for first, last in facts["gaps"])
        shown = ", ".join(str(a) if a == b else f"{a}..{b}" for a, b in facts["gaps"][:SHOWN])
        kept = "; special tokens stand in model.vocab too, so that none is renumbered"
        kept = kept if kind == "tokenizer.json" else ""
        said.append(f"id gaps: {shown} ({count} ids) stand for nothing and stay so{kept}")
    if facts["exceptions"]:
        formed = facts["exceptions"] - facts["whole_piece_tokens"]
        said.append(
            f"{facts['exceptions']} tokens are not two parts by lower ranks: {formed} are the last merge of their own "
            "bytes by all ranks"
        )
    if facts["whole_piece_tokens"]:
        where = " (ignore_merges)" if kind == "tokenizer.json" else ""
        count = facts["whole_piece_tokens"]
        said.append(f"{count} tokens are formed by no merging: whole pieces are looked up first{where}")
    dead = [text for text in loaded.vocabulary.specials if text not in named(loaded.contract)]
    if dead:
        said.append(f"{len(dead)} texts are never encoded and are left out: {', '.join(map(repr, dead[:3]))}")
    if b"" in loaded.vocabulary.tokens and kind != "tiktoken":
        said.append(f"the empty token ({loaded.vocabulary.tokens[b'']}) is never encoded and is left out")
    return said


# -- making -------------------------------------------------------------------------------------------------


@contextmanager
def _beside(out: Path) -> Iterator[Path]:
    """A folder for files that are not proved yet."""
    with tempfile.TemporaryDirectory(prefix="tokassay-convert-") as folder:
        yield Path(folder)


def _make(kind: str, loaded: Loaded, form: Form, found: Recovered, folder: Path) -> list[Path]:
    """The target's file, and the one of special tokens beside a rank file."""
    contract = loaded.contract.with_variants(specials="on")
    if kind == "profile":
        from tokassay.harness.commands.profile import encoder_of

        path = folder / "vocab.profile"
        encoder_of(loaded, contract.unicode).save(path)
        return [path]
    if kind == "tokenizer.json":
        merges = found.pairs if form.by_ranks else loaded.vocabulary.merges or ()
        needed = bool(form.contract["ignore_merges"])
        path = folder / "tokenizer.json"
        path.write_bytes(tokenizer_json(loaded.vocabulary, merges, replace(contract, ignore_merges=needed)))
        return [path]
    path = folder / "vocab.tiktoken"
    path.write_bytes(ranks_file(loaded.vocabulary))
    if not contract.special_tokens:
        return [path]
    beside = folder / "specials.json"
    beside.write_text(json.dumps(dict(contract.special_tokens), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return [path, beside]


def _one_pattern(contract: Contract) -> str:
    return contract.pretokenizer[0]


# -- comparing ids ------------------------------------------------------------------------------------------


class Reader:
    """A program that reads one file itself and encodes blocks."""

    name = ""

    def encode(self, block: Block) -> Output:
        raise NotImplementedError

    def close(self) -> None:
        """End whatever runs."""


class HostReader(Reader):
    """An engine in a host of its own."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.name = f"{host.spec.name} {host.hello()['version']}"

    def encode(self, block: Block) -> Output:
        return Output.from_frames(self._host.encode(block.body).output)

    def close(self) -> None:
        self._host.close()


class ProfileReader(Reader):
    """dat-bpe on a profile: our own, held to the library that reads the source."""

    def __init__(self, path: Path, specials: str) -> None:
        from tokassay.engines import dat_bpe

        self._encoder, self._specials = dat_bpe.Encoder.open(path), specials == "on"
        self.name = f"dat-bpe {dat_bpe.__version__} (profile)"

    def encode(self, block: Block) -> Output:
        import numpy as np

        documents = [block.document(i) for i in range(block.documents)]
        values, offsets = self._encoder.encode_batch(documents, threads=1, specials=self._specials)
        return Output(np.zeros(len(documents), np.uint8), np.diff(offsets).astype(np.uint64), values.astype(np.uint32))


def reader(form: str, path: Path, loaded: Loaded, specials: str) -> Reader:
    """Who reads `path` of the form `form` and encodes: the format's own library, else the oracle. HostFailure."""
    contract = loaded.contract.with_variants(specials=specials)
    if form == "profile":
        return ProfileReader(path, specials)
    roster = load_roster()
    if form not in SOURCES:
        return HostReader(open_host("oracle", loaded, contract, roster=roster))
    if form == "tiktoken":
        contract = replace(contract, algorithm="bpe-ranks", normalizer="none", normalization=None)
    spec = roster[SOURCES[form]]
    host = Host(spec, interpreter(spec))
    try:
        host.load(contract.to_json(), {form: str(path.absolute())})
        return HostReader(host)
    except BaseException:
        host.close()
        raise


def compare(loaded: Loaded, kind: str, made: Path, always: Sequence[str], tell: Tell) -> Iterator[Comparison]:
    """The ids of the source by one program and of the file that was made by another, corpus by corpus.

    `always`: texts that tokenizers matches even where special tokens are off; documents with one are left out there.
    """
    texts = loaded.contract.texts
    asked = [(spec, "off") for spec in CORPORA] + ([(SPECIALS, "on")] if texts else [])
    for spec, specials in asked:
        tell(f"comparing ids on {spec}")
        readers: list[Reader] = []
        try:
            for form, path in ((_source_form(loaded), loaded.source_path), (kind, made)):
                readers.append(reader(form, path, loaded, specials))
            skipped = [text.encode() for text in always] if specials == "off" else []
            yield _compared(spec, specials, texts, readers, loaded.contract.normalizer, skipped)
        except HostFailure as error:
            raise InputError(
                f"the ids of {spec} could not be compared: {error.verdict} ({error.detail})", where=f"--to {kind}",
                remedy="nothing was written; see that tiktoken and tokenizers are installed (tokassay engines check)",
            ) from None
        finally:
            for one in readers:
                one.close()


def _source_form(loaded: Loaded) -> str:
    """The source's format if a library reads that file itself; tiktoken reads no gzip, and has no normalizer."""
    compressed = loaded.source_path.read_bytes()[:2] == b"\x1f\x8b"
    return "oracle" if compressed else loaded.format


def _compared(
    spec: str, specials: str, texts: Sequence[str], readers: Sequence[Reader], normalizer: str, skipped: Sequence[bytes]
) -> Comparison:
    documents = ids = left_out = wrong = 0
    first = ""
    names = Names()
    for block in cut(open_corpus(spec, specials=texts), names):
        # Libraries take text: how ill-formed bytes are handled is no part of any of these files.
        if block.domain == "bytes":
            left_out += block.documents
            continue
        a, b = (one.encode(block) for one in readers)
        usable = [i for i in range(block.documents) if _usable(block.document(i), normalizer, skipped)]
        chosen = set(usable)
        left_out += block.documents - len(usable)
        documents += len(usable)
        ids += int(a.counts[usable].sum()) if usable else 0
        unlike = [int(i) for i in differing(a, b) if int(i) in chosen]
        wrong += len(unlike)
        if unlike and not first:
            i = unlike[0]
            sides = "; ".join(
                f"{one.name}: {' '.join(map(str, side.of(i)[:12].tolist())) or 'no ids'}"
                for one, side in zip(readers, (a, b), strict=True)
            )
            first = f"{names[int(block.indices[i])]} {one_line(block.document(i))}: {sides}"
    return Comparison(spec, specials, readers[0].name, readers[1].name, documents, ids, left_out, wrong, first)


def _usable(document: bytes, normalizer: str, skipped: Sequence[bytes]) -> bool:
    """Whether the libraries are to agree on a document: where only one normalizes, it must change nothing."""
    if any(text in document for text in skipped):
        return False
    return normalizer == "none" or unicodedata.is_normalized("NFC", document.decode())
