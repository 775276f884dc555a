"""From a name or a path to a vocabulary and its contract."""

from __future__ import annotations

import gzip
import stat
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from tokassay.corpora import fetch
from tokassay.harness import (
    known,
    vocab_clip,
    vocab_cray,
    vocab_gguf,
    vocab_gpt2,
    vocab_hf,
    vocab_js,
    vocab_rwkv,
    vocab_spm,
    vocab_tekken,
    vocab_tiktoken,
    vocab_wordpiece,
)  # fmt: skip
from tokassay.harness.contract import GREEDY, PIECES, WORDPIECE, Contract
from tokassay.harness.errors import InputError
from tokassay.harness.known import Encoding
from tokassay.harness.parsed import Parsed
from tokassay.harness.vocabulary import Vocabulary

FORMATS = (
    "tiktoken", "vocab.bpe", "tokenizer.json", "tekken", "tiktoken.json", "clip", "sentencepiece", "gguf", "cray",
    "vocab.txt", "rwkv",
)  # fmt: skip
# Files that say all of themselves, and who reads them.
WHOLE: Mapping[str, Callable[[bytes, str], Parsed]] = {
    "tokenizer.json": vocab_hf.parse, "tekken": vocab_tekken.parse, "tiktoken.json": vocab_js.parse,
    "clip": vocab_clip.parse, "sentencepiece": vocab_spm.parse, "gguf": vocab_gguf.parse, "cray": vocab_cray.parse,
    "rwkv": vocab_rwkv.parse,
}  # fmt: skip
# Asked for behind a vocabulary's name: its tokens under another algorithm than its file means.
OTHER_ALGORITHMS = (GREEDY,)
MAX_FILE = 1 << 30
_PROFILE = b"TKAPROF\n"  # docs/FORMATS.md
_SENTENCEPIECE_SUFFIXES = (".model", ".spm", ".vocab")


class NotFetched(InputError):
    """A known vocabulary that is in no cache of this machine yet."""


@dataclass(frozen=True)
class Loaded:
    """A vocabulary, the contract it stands for (default variants, specials off), and where both came from.

    `unmodelled` holds the reasons for an opaque contract; `notes` what else a reader should know.
    """

    name: str
    contract: Contract
    vocabulary: Vocabulary
    source_path: Path
    notes: list[str]
    unmodelled: list[str] = field(default_factory=list)
    format: str = ""
    file_sha256: str = ""


def load_vocabulary(
    name_or_path: str | Path, *, pattern: str | None = None, specials: Mapping[str, int] | None = None
) -> Loaded:
    """Load a known encoding by name or alias, or a file by path.

    Known names bring their pattern and special tokens; `pattern` and `specials` replace them. A rank file (or
    GPT-2's pair of files) given by path needs `pattern`: a pattern's name or a regular expression; a vocab.txt the name
    of a rule of WordPiece.
    NAME@greedy-longest, or PATH@greedy-longest, means the vocabulary's tokens under that algorithm: then a pattern
    is of no use. Raises InputError with place and remedy.
    """
    bare, _, algorithm = str(name_or_path).rpartition("@")
    if bare and algorithm in OTHER_ALGORITHMS:
        if pattern is not None:
            raise InputError(f"{algorithm} has no pretokenizer", where="--pattern", remedy="leave it out")
        return as_greedy(load_vocabulary(bare, pattern=any_pattern(bare), specials=specials), str(name_or_path))
    encoding = known.find(str(name_or_path))
    if encoding is not None:
        return _load_known(encoding, pattern, specials)
    path = Path(name_or_path)
    if not path.exists() or path.is_dir():
        path = _inside(path, str(name_or_path))
    return _load_file(path.name, path, None, pattern, specials)


def check_name(name: str) -> None:
    """Raise the InputError of `load_vocabulary` for what is neither a known encoding nor there; nothing is read."""
    bare, _, algorithm = name.rpartition("@")
    wanted = bare if bare and algorithm in OTHER_ALGORITHMS else name
    if known.find(wanted) is None and not Path(wanted).is_file():
        _inside(Path(wanted), wanted)


def under(algorithm: str | None, names: tuple[str, ...]) -> tuple[str, ...]:
    """Vocabulary names under another algorithm, as `load_vocabulary` takes them; None: as they are."""
    if algorithm is None:
        return names
    if algorithm not in OTHER_ALGORITHMS:
        raise InputError(
            f"no vocabulary can be had under {algorithm!r}", where="--algorithm",
            remedy=f"use {' or '.join(OTHER_ALGORITHMS)}, or leave it out: a vocabulary brings its own",
        )
    return tuple(f"{name}@{algorithm}" for name in names)


def as_greedy(loaded: Loaded, name: str) -> Loaded:
    """The ordinary tokens of a vocabulary under `greedy-longest`, by the name `name`. Raises InputError."""
    if loaded.contract.algorithm == GREEDY:
        return loaded
    if loaded.contract.algorithm == WORDPIECE:
        raise InputError(
            f"the tokens of {WORDPIECE} are parts of words, and not what stands in a text", where=name,
            remedy=f"give a vocabulary whose tokens are bytes to have it under {GREEDY}",
        )
    if loaded.contract.algorithm in ("opaque", *PIECES) or not loaded.contract.byte_level:
        reasons = "; ".join(loaded.unmodelled) or "they are pieces of normalized text"
        raise InputError(
            f"the tokens of this file are not known as bytes: {reasons}", where=name,
            remedy=f"give a vocabulary whose tokens are bytes to have it under {GREEDY}",
        )
    vocabulary = Vocabulary(loaded.vocabulary.tokens, None, loaded.vocabulary.specials)
    contract = Contract(
        GREEDY, vocabulary.digest, special_tokens=loaded.contract.special_tokens,
        added_tokens=loaded.contract.added_tokens, byte_policy="raw",
    )
    return replace(loaded, name=name, contract=contract, vocabulary=vocabulary)


def any_pattern(name: str) -> str | None:
    """A pattern for a file that does not say one, where it will not be used."""
    path = Path(name)
    if known.find(name) is not None or not path.is_file():
        return None
    kind = detect(read(path), path)
    return {"tiktoken": "gpt2", "vocab.bpe": "gpt2", "vocab.txt": "bert-cased"}.get(kind)


def _inside(path: Path, given: str) -> Path:
    if path.is_dir():
        for name in ("tokenizer.json", "vocab.bpe", "merges.txt", "tekken.json", "vocab.txt"):
            if (path / name).is_file():
                return path / name
        raise InputError("the folder holds no vocabulary file", where=given, remedy="give the file itself")
    names = ", ".join(e.name for e in known.encodings())
    raise InputError(
        f"no encoding and no file is called {given!r}",
        where="--vocab",
        remedy=f"give a path or one of {names}; see `tokassay vocab list`",
    )


def known_path(encoding: Encoding) -> Path | None:
    """The encoding's file where it is embedded or already fetched, else None."""
    if encoding.file is not None:
        return known.vocabulary_folder() / encoding.file
    return fetch.cached_file(fetch.find_entry(encoding.catalog))


def _load_known(encoding: Encoding, pattern: str | None, specials: Mapping[str, int] | None) -> Loaded:
    path = known_path(encoding)
    if path is None:
        raise NotFetched(
            f"{encoding.name} is not fetched yet",
            where="--vocab",
            remedy=f"run `tokassay vocab fetch {encoding.name}` once",
        )
    return _load_file(encoding.name, path, encoding, pattern, specials)


def _load_file(
    name: str, path: Path, encoding: Encoding | None, pattern: str | None, specials: Mapping[str, int] | None
) -> Loaded:
    data = read(path)
    digest = sha256(data).hexdigest()
    if encoding is not None and digest != encoding.sha256 and path.suffix == ".gz":
        digest = sha256(path.read_bytes()).hexdigest()  # a catalogue's SHA-256 is that of the file as it came
    if encoding is not None and digest != encoding.sha256:
        raise InputError(
            f"SHA-256 is {digest}, should be {encoding.sha256}",
            where=str(path),
            remedy="the file was changed or truncated: delete it, then fetch or install again",
        )
    kind = encoding.format if encoding is not None else detect(data, path)
    parsed = _parse(kind, data, path, encoding, pattern, specials)
    contract, vocabulary = parsed.contract(digest)
    return Loaded(name, contract, vocabulary, path, parsed.notes, parsed.unmodelled, kind, digest)


def _parse(
    kind: str,
    data: bytes,
    path: Path,
    encoding: Encoding | None,
    pattern: str | None,
    specials: Mapping[str, int] | None,
) -> Parsed:
    where = str(path)
    if kind in WHOLE:
        if pattern is not None or specials is not None:
            raise InputError(
                f"a {kind} file brings its own pattern and special tokens",
                where=where,
                remedy="leave --pattern and --specials out",
            )
        if kind == "tiktoken.json" and encoding is not None:
            return vocab_js.parse(data, where, normalizer=encoding.normalizer, unreachable=encoding.unreachable)
        return WHOLE[kind](data, where)
    asked = pattern if pattern is not None or encoding is None else encoding.pattern
    if kind == "vocab.txt":
        named = specials if specials is not None or encoding is None else encoding.specials
        return vocab_wordpiece.parse(data, where, rule=asked, specials=named)
    split = known.resolve_pattern(asked, where)
    if kind == "vocab.bpe":
        return _parse_pair(path, split, specials, encoding)
    texts = specials if specials is not None else (encoding.specials if encoding is not None else {})
    parsed = vocab_tiktoken.parse(
        data,
        where,
        pretokenizer=split,
        specials=texts,
        normalizer=encoding.normalizer if encoding else "none",
        unreachable=encoding.unreachable if encoding else None,
    )
    if specials is None and encoding is None:
        parsed.notes.append("a rank file names no special tokens: none are known; give --specials to name them")
    return parsed


def _parse_pair(
    path: Path, split: tuple[str, ...], specials: Mapping[str, int] | None, encoding: Encoding | None
) -> Parsed:
    if specials is not None:
        raise InputError("encoder.json brings its own special tokens", where=str(path), remedy="leave --specials out")
    pair = vocab_gpt2.partner(path)
    if encoding is not None and encoding.merges is not None:
        pair = known.vocabulary_folder() / encoding.merges, path
    if pair is None:
        raise InputError(
            "a merge list needs its ids beside it",
            where=str(path),
            remedy="name the two files vocab.bpe and encoder.json, or merges.txt and vocab.json",
        )
    return vocab_gpt2.parse(read(pair[0]), read(pair[1]), (str(pair[0]), str(pair[1])), pretokenizer=split)


def read(path: Path) -> bytes:
    """The file's bytes, gunzipped where it is gzip. Raises InputError for what cannot be read."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):  # whoever reads a pipe waits for whoever writes into it
            raise InputError("no regular file", where=str(path), remedy="give a vocabulary file")
        if found.st_size > MAX_FILE:
            raise InputError("larger than 1 GiB: not a vocabulary", where=str(path), remedy="give a vocabulary file")
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path), remedy="check the path") from None
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"damaged gzip: {error}", where=str(path), remedy="fetch the file again") from None


def detect(data: bytes, path: Path) -> str:
    """The file's format, by its content. Raises InputError for an unknown one."""
    if not data:
        raise InputError("the file is empty", where=str(path), remedy="fetch it again")
    if data.startswith(vocab_cray.MAGIC):
        return "cray"
    if data.startswith(vocab_clip.HEAD):
        return "clip"
    if data.startswith(vocab_gguf.MAGIC):
        return "gguf"
    pair = vocab_gpt2.partner(path)
    head = data[:4096].lstrip()
    if head.startswith(b"{"):
        return _detect_json(data, path, pair is not None)
    if head.startswith(b"#version") or (pair is not None and path == pair[0]):
        return "vocab.bpe"
    if vocab_rwkv.is_lines(head):
        return "rwkv"
    if vocab_wordpiece.is_lines(data):
        return "vocab.txt"
    first = data.split(b"\n", 1)[0].split(b" ")
    if len(first) == 2 and first[1].strip().isdigit():
        return "tiktoken"
    if data[:1] == b"\n" or path.name.endswith(_SENTENCEPIECE_SUFFIXES):
        return "sentencepiece"
    if data.startswith(_PROFILE):
        raise InputError(
            "a profile, which dat-bpe alone opens: `tokassay encode --vocab FILE` without further options",
            where=str(path), remedy="give the vocabulary that it was built from",
        )
    raise InputError("not a vocabulary format that is known", where=str(path), remedy=f"known are {', '.join(FORMATS)}")


def _detect_json(data: bytes, path: Path, paired: bool) -> str:
    # encoder.json has tokens called "model" and "config": what they hold tells the formats apart.
    root = vocab_gpt2.read_json(data, str(path))
    if isinstance(root.get("model"), dict):
        return "tokenizer.json"
    if isinstance(root.get("config"), dict) and "vocab" in root:
        return "tekken"
    if vocab_js.is_one(root):
        return "tiktoken.json"
    if paired:
        return "vocab.bpe"
    raise InputError(
        "JSON, but neither tokenizer.json nor tekken nor tiktoken's nor encoder.json",
        where=str(path),
        remedy=f"known are {', '.join(FORMATS)}",
    )


def read_specials(path: Path) -> dict[str, int]:
    """Special tokens from a JSON object of text -> id. Raises InputError."""
    return vocab_gpt2.read_ids(vocab_gpt2.read_json(read(path), str(path)), str(path))
