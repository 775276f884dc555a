"""A SentencePiece vocabulary as the files that engines load: the model itself, and a tokenizer.json where one means it.

A tokenizer.json is made by the rules by which such models are converted (scores become merges, or stay scores; the
normalizer becomes a sequence of them), with two changes that keep it true to the contract: nothing that is never made
from text has a name that text could spell, and the unknown token's name is what the model decodes it to. It is handed
out only if no part is lost, and if on a sample it does what the model says. Otherwise there is none.
"""

from __future__ import annotations

import json
import random
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

from tokassay.harness import vocab_gguf_spm
from tokassay.harness.contract import BPE_SCORES, Contract
from tokassay.harness.load import Loaded, read
from tokassay.harness.vocab_spm import BYTE, NORMAL, SPACE, UNKNOWN, UNUSED, USER_DEFINED, SentencePieces
from tokassay.oracles import spm_bpe
from tokassay.oracles.spm_charsmap import Charsmap
from tokassay.oracles.spm_normalize import Normalizer, UserDefined

Keep = Callable[[Path, Callable[[], bytes]], str]
Merges = list[tuple[bytes, bytes]]
SAMPLE = 1 << 16  # bytes of the embedded text that a derivation is tried on
RUNS, DRAWN = 70, 500  # the longest run of one character, and texts drawn, where pieces tie
# Every shape of white space at the ends and between.
BLANKS = ("", " ", "  ", "a", " a", "a ", "  a  b   c  ", "\u2581", " \u2581 a\u2581", "a\n b", "\t a \u3000")


class Lost(Exception):
    """Why no tokenizer.json means a contract."""


def files(loaded: Loaded, contract: Contract, folder: Path, keep: Keep) -> dict[str, str]:
    """Name -> path of "sentencepiece" (the model), and "tokenizer.json" where there is one that means the contract.
    `folder` holds what is made; `keep(path, write)` writes a file unless it is there."""
    paths: dict[str, str] = {}
    source = loaded.source_path.absolute()
    if loaded.format == "gguf":
        paths["sentencepiece"] = keep(folder / "pieces.model", lambda: vocab_gguf_spm.model(read(source), str(source)))
    if loaded.format == "sentencepiece":
        data = read(source)
        packed = source.stat().st_size != len(data)  # gzip, which engines do not unpack
        paths["sentencepiece"] = keep(folder / "pieces.model", lambda: data) if packed else str(source)
    reason = folder / "no-tokenizer-json"
    if reason.exists():
        return paths
    made = folder / "tokenizer.json"
    try:
        paths["tokenizer.json"] = keep(made, lambda: tokenizer_json(loaded.vocabulary, contract))
    except Lost as lost:
        told = f"{lost}\n".encode()
        keep(reason, lambda: told)
    return paths


def tokenizer_json(vocabulary: Any, contract: Contract) -> bytes:
    """A Hugging Face tokenizer.json that means the contract. Raises Lost where none does, or none is proved to."""
    assert isinstance(vocabulary, SentencePieces)
    kinds = {kind: [p.text for p in vocabulary.pieces if p.kind == kind] for kind in (USER_DEFINED, UNUSED)}
    if kinds[UNUSED] and contract.algorithm == BPE_SCORES:  # it is merged all the same, and split again
        raise Lost("unused pieces have no counterpart")
    if contract.unknown is None or "suffix" in contract.whitespace or "literal" in contract.whitespace:
        raise Lost("no unknown piece, or white space that is not written as U+2581 before a word")
    names = _names(vocabulary, contract)
    charsmap = Charsmap(vocabulary.charsmap) if contract.normalizer == "charsmap" else None
    if kinds[USER_DEFINED]:
        if contract.algorithm == BPE_SCORES:
            raise Lost("behind an added token there is a prefix, behind a user-defined piece there is none")
        for piece in kinds[USER_DEFINED]:
            if charsmap is not None and any(charsmap.begins(c.encode()) for c in piece.decode("utf-8", "replace")):
                raise Lost(f"the character map changes the user-defined piece {piece!r}")
    words = _by_words(contract, charsmap)
    normalizers = _normalizers(vocabulary, contract, words)
    _try_normalizer(normalizers, charsmap, contract, words)
    model = (_bpe if contract.algorithm == BPE_SCORES else _unigram)(vocabulary, contract, names)
    blocks = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": False}
    root: dict[str, Any] = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": normalizers},
        "pre_tokenizer": blocks if words else None, "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": _decoders(contract)},
        "model": model,
    }  # fmt: skip
    return json.dumps(root, ensure_ascii=False).encode("utf-8")


def _names(vocabulary: SentencePieces, contract: Contract) -> list[str]:
    """The names of the pieces by id. What text must not spell has a space in it, which no normalized text has."""
    found: list[str] = []
    try:
        for piece in vocabulary.pieces:
            if piece.kind == UNKNOWN:
                found.append(vocabulary.unknown_surface.decode("utf-8"))
            else:
                text = piece.text.decode("utf-8")
                found.append(text if piece.kind in (NORMAL, USER_DEFINED, BYTE) else f" {text}")
    except UnicodeDecodeError as error:
        raise Lost(f"a piece is not UTF-8: {error.object[:40]!r}") from None
    if len(set(found)) < len(found) or " " not in found[contract.unknown or 0]:
        raise Lost("two pieces have one name, or text can spell what an unknown id decodes to")
    return found


def _by_words(contract: Contract, charsmap: Charsmap | None) -> bool:
    """Whether the usual pre-tokenizer writes spaces and puts the prefix. It puts none before a text that begins with a
    space or a block, so it fits where none does: white space is collapsed, and blocks are mapped to it."""
    mapped = charsmap.longest(SPACE, 0) if charsmap is not None else None
    return contract.add_prefix_space and "collapse" in contract.whitespace and mapped == (len(SPACE), b" ")


def _normalizers(vocabulary: SentencePieces, contract: Contract, words: bool) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    if contract.normalizer == "charsmap":
        made.append({"type": "Precompiled", "precompiled_charsmap": b64encode(vocabulary.charsmap).decode()})
    collapse, prefix = "collapse" in contract.whitespace, [{"type": "Prepend", "prepend": "\u2581"}]
    if collapse:
        made += [_replace(r"\A +", ""), _replace(r" +\z", ""), _replace(" {2,}", " ")]
    if words:
        return made
    made.append(_replace(" ", "\u2581", "String"))
    made += [_replace("\u2581+\\z", "")] if collapse else []  # a block of the text's own goes like a space
    return made + prefix * contract.add_prefix_space


def _replace(pattern: str, content: str, kind: str = "Regex") -> dict[str, Any]:
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def _decoders(contract: Contract) -> list[dict[str, Any]]:
    spaces = _replace("\u2581", " ", "String")
    fallback = [{"type": "ByteFallback"}] if contract.byte_fallback else []
    if "collapse" in contract.whitespace:  # every block goes from the beginning
        return [*fallback, {"type": "Fuse"}, _replace("\\A\u2581+", ""), spaces]
    prefix = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}]
    return [spaces, *fallback, {"type": "Fuse"}, *(prefix if contract.add_prefix_space else [])]


def _try_normalizer(
    steps: Sequence[Mapping[str, Any]], charsmap: Charsmap | None, contract: Contract, words: bool
) -> None:
    """The steps, carried out as they are written, against the normalizer. Raises Lost."""
    normalizer = Normalizer(
        charsmap, UserDefined(()), prefix=contract.add_prefix_space, whitespace=contract.whitespace
    )
    for text in (*BLANKS, *sample().decode("utf-8", "ignore").split("\n")):
        made = text
        for step in steps:
            if step["type"] == "Precompiled":
                assert charsmap is not None
                made = _mapped(charsmap, made.encode()).decode()
            elif step["type"] == "Prepend":
                made = step["prepend"] + made if made else made
            elif "String" in step["pattern"]:
                made = made.replace(step["pattern"]["String"], step["content"])
            else:
                made = re.sub(step["pattern"]["Regex"].replace(r"\z", r"\Z"), step["content"], made)
        if words:
            made = made.replace(" ", "\u2581")
            made = "\u2581" + made if made and not made.startswith("\u2581") else made
        if made.encode() != normalizer.text(text.encode(), "reject"):
            raise Lost(f"the normalizer does not come out the same on {text[:40]!r}")


def _mapped(charsmap: Charsmap, data: bytes) -> bytes:
    made, at = b"", 0
    while at < len(data):
        width, text = charsmap.longest(data, at) or (1, data[at : at + 1])
        made, at = made + text, at + width
    return made


def _unigram(vocabulary: SentencePieces, contract: Contract, names: Sequence[str]) -> dict[str, Any]:
    if contract.byte_fallback:
        raise Lost("text could spell the names of byte pieces, <0x00> to <0xFF>")
    floor = min(piece.score for piece in vocabulary.pieces if piece.kind == NORMAL)
    rows: list[tuple[str, float]] = []
    for name, piece in zip(names, vocabulary.pieces, strict=True):
        # A user-defined piece is worth 0.1 for each byte after the first. What no text spells must not be the least.
        bonus = 0.1 * (len(piece.text) - 1)
        rows.append((name, {NORMAL: piece.score, USER_DEFINED: bonus}.get(piece.kind, max(piece.score, floor))))
    return {"type": "Unigram", "unk_id": contract.unknown, "vocab": rows, "byte_fallback": False}


def _bpe(vocabulary: SentencePieces, contract: Contract, names: Sequence[str]) -> dict[str, Any]:
    merges = merge_list({piece.text: piece.score for piece in vocabulary.pieces if piece.kind == NORMAL})
    return {
        "type": "BPE", "dropout": None, "unk_token": names[contract.unknown or 0],
        "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": True,
        "byte_fallback": contract.byte_fallback, "ignore_merges": False,
        "vocab": {name: number for number, name in enumerate(names)},
        "merges": [[left.decode(), right.decode()] for left, right in merges],
    }  # fmt: skip


def merge_list(scores: Mapping[bytes, float]) -> Merges:
    """Merges that mean scores: for each piece that its own characters form the two parts just before it does, best
    score first. Raises Lost where they do not mean the same.

    By the lemma of recover.py, which holds for scores as it does for ranks, no other two neighbours ever make that
    piece. Where no two of the scores are equal that is the whole proof. Among equal ones merging takes the leftmost,
    and a list has no ties: there the longer pieces come first, and the list is tried on runs and on texts drawn of
    these pieces. Llama's runs of spaces are such pieces: from the left, each grows by one space until it is longest.
    """
    ranks = spm_bpe.ranks(scores)
    rank_of, none = spm_bpe.by_piece(ranks), UserDefined(())
    merges: Merges = []
    for piece in sorted(scores, key=lambda piece: (ranks[piece], -len(piece))):
        last: list[tuple[bytes, bytes]] = []
        parts = spm_bpe.linked(
            spm_bpe.symbols(piece, none), rank_of, lambda left, right, *_, last=last: last.append((left, right))
        )
        if len(parts) == 1 and last:
            merges.append(last[-1])
    places = {pair: place for place, pair in enumerate(merges)}

    def place_of(left: bytes, right: bytes) -> int | None:
        return places.get((left, right))

    for text in _trials([left + right for left, right in merges], ranks):
        begun = spm_bpe.symbols(text, none)
        if spm_bpe.linked(begun, place_of) != spm_bpe.linked(begun, rank_of):
            raise Lost(f"merging by a list does not come out as by scores on {text[:40]!r}")
    return merges


def _trials(pieces: Sequence[bytes], ranks: Mapping[bytes, int]) -> Iterator[bytes]:
    """The texts that a list is tried on: real ones, and where pieces tie runs of their characters and draws of them."""
    yield from (SPACE + line.replace(b" ", SPACE) for line in sample().split(b"\n"))
    counts: dict[int, int] = {}
    for piece in pieces:
        counts[ranks[piece]] = counts.get(ranks[piece], 0) + 1
    tied = [piece for piece in pieces if counts[ranks[piece]] > 1]
    for character in dict.fromkeys(character for piece in tied for character in piece.decode()):
        for size in range(1, RUNS):
            yield from (character.encode() * size + behind for behind in (b"", b"a", SPACE + b"the", b"\n"))
    draw = random.Random(0)
    for _ in range(DRAWN if tied else 0):
        yield b"".join(draw.choice(tied if draw.random() < 0.7 else pieces) for _ in range(draw.randint(2, 12)))


@cache
def sample() -> bytes:
    """The beginnings of the embedded texts."""
    folder = resources("tokassay.fixtures").joinpath("sample")
    named = sorted((one for one in folder.iterdir() if one.name.endswith(".txt")), key=lambda one: one.name)
    texts = [one.read_bytes() for one in named]
    return b"\n".join(text[: SAMPLE // len(texts)] for text in texts)
