"""Writes a vocabulary as the files that engines load, into the cache.

Each file says what the contract says: a `tokenizer.json` has the derived merges and, only under specials
"on", the added tokens. A vocabulary of `greedy-longest` is a CRAY file for its engines, and ranks for the oracle.
A file that cannot be derived is absent: an engine that needs it is then unsupported, not wrong.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from base64 import b64encode
from collections.abc import Callable, Collection
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from tokassay.engines.dat_greedy.crayfile import GREATEST_ID, pack
from tokassay.harness import materialize_spm
from tokassay.harness.alphabet import from_alphabet, to_alphabet
from tokassay.harness.contract import GREEDY, PIECES, WORDPIECE, Contract
from tokassay.harness.hf_stages import GPT2_PATTERN, STEPS, decoder_of_characters
from tokassay.harness.load import Loaded
from tokassay.harness.vocab_gguf import gguf, name_of
from tokassay.harness.vocab_wordpiece import tokenizer_json_stages
from tokassay.harness.vocabulary import Pair, Vocabulary

HARNESS = "tokassay.harness"
SOURCES = (
    (HARNESS, "materialize.py"), (HARNESS, "vocabulary.py"), (HARNESS, "alphabet.py"), (HARNESS, "hf_stages.py"),
    (HARNESS, "materialize_spm.py"), (HARNESS, "vocab_spm.py"), (HARNESS, "vocab_gguf.py"),
    (HARNESS, "vocab_gguf_spm.py"), (HARNESS, "vocab_wordpiece.py"),
    ("tokassay.engines.dat_greedy", "crayfile.py"),
)


@cache
def form() -> str:
    """Digest of the code that makes the files. Part of the folder's name, so that files of other code are not reused,
    and of a result's key."""
    sources = [files(package).joinpath(name).read_bytes() for package, name in SOURCES]
    return hashlib.sha256(b"\0".join(sources)).hexdigest()[:8]


def materialize(loaded: Loaded, contract: Contract, cache_dir: Path) -> dict[str, str]:
    """Name -> path of "tiktoken", "tokenizer.json", "vocab.bpe", "encoder.json", "dat", "gguf", "rwkv", "vocab.txt",
    "sentencepiece" (those that can be derived) and "source".

    Files lie under `cache_dir/<core digest>-<form>/`, are written whole or not at all, and reused when present with
    the digest that lies beside each. `contract` is `loaded.contract` under any variants and specials policy. The
    files depend on the core alone.
    """
    paths = {"source": str(loaded.source_path.absolute())}  # a host has a working directory of its own
    if contract.algorithm == "opaque":
        return paths
    if contract.algorithm in PIECES:
        return paths | materialize_spm.files(loaded, contract, cache_dir / f"{contract.core_digest}-{form()}", _keep)
    folder = cache_dir / f"{contract.core_digest}-{form()}"
    vocabulary = loaded.vocabulary
    if contract.algorithm == WORDPIECE:
        if not _sparse(vocabulary.ids()):
            paths["vocab.txt"] = _keep(folder / "vocab.txt", lambda: lines_file(vocabulary))
        made = wordpiece_json(vocabulary, contract)
        if made is not None:
            paths["tokenizer.json"] = _keep(folder / "tokenizer.json", lambda: made)
        return paths
    if contract.algorithm in ("bpe-ranks", GREEDY):
        paths["tiktoken"] = _keep(folder / "vocab.tiktoken", lambda: ranks_file(vocabulary))
    if contract.algorithm == GREEDY:
        if loaded.format == "cray":
            paths["dat"] = paths["source"]  # the very file, not what we should have made of its tokens
        elif max(vocabulary.tokens.values(), default=0) <= GREATEST_ID:
            paths["dat"] = _keep(folder / "vocab.dat", lambda: pack(vocabulary.tokens).to_bytes())
        if loaded.format == "rwkv":
            paths["rwkv"] = paths["source"]
        elif contract.unknown is None:
            paths["rwkv"] = _keep(folder / "vocab.rwkv.txt", lambda: literals_file(vocabulary))
        return paths
    if contract.byte_fallback or contract.end_of_word:  # only a tokenizer.json says where merging begins
        own = vocabulary.merges or ()
        write = partial(tokenizer_json, vocabulary, own, contract, filled=True)
        paths["tokenizer.json"] = _keep(folder / "tokenizer.json", write)
        return paths
    named = {
        "tokenizer.json": "tokenizer.json", "vocab.bpe": "vocab.bpe", "encoder.json": "encoder.json",
        "gguf": "vocab.gguf",
    }
    if name_of(contract) is None or _sparse(vocabulary.ids()):
        del named["gguf"]
    underivable = folder / "no-merges"
    if underivable.exists():
        return paths
    present = all(_whole(folder / file) for file in named.values())
    merges = () if present else merge_list(vocabulary)
    if merges is None:
        _keep(underivable, lambda: b"some token is not made of two parts by lower ranks\n")
        return paths
    writers: dict[str, Callable[[], bytes]] = {
        "tokenizer.json": lambda: tokenizer_json(vocabulary, merges, contract, filled=True),
        "vocab.bpe": lambda: merges_file(merges),
        "encoder.json": lambda: ids_file(vocabulary),
        "gguf": lambda: gguf(vocabulary, merges, contract),
    }
    if not _expressible(vocabulary, contract):
        del writers["tokenizer.json"], writers["gguf"]
    for name, file in named.items():
        if name in writers:
            paths[name] = _keep(folder / file, writers[name])
    return paths


def _expressible(vocabulary: Vocabulary, contract: Contract) -> bool:
    """Whether a tokenizer.json, or a GGUF, can say it.

    It cannot put the prefix space once before several splits, give an added text the name of another token, or give
    two added texts one id (o200k_harmony does: the library keeps one of them).
    """
    if contract.add_prefix_space and contract.pretokenizer != (GPT2_PATTERN,):
        return False
    added = _added(contract)
    if len({row["id"] for row in added}) != len(added):
        return False
    for row in added:
        named = from_alphabet(row["content"])
        if named is not None and vocabulary.tokens.get(named, row["id"]) != row["id"]:
            return False
    return True


def merge_list(vocabulary: Vocabulary) -> tuple[Pair, ...] | None:
    """The vocabulary's own merges, or those proved from its ranks; None where there is no proof."""
    if vocabulary.merges is not None:
        return vocabulary.merges
    return vocabulary.derivation.pairs if vocabulary.derivation.proved else None


def _keep(path: Path, write: Callable[[], bytes]) -> str:
    """Writes `path` unless it is there and whole; whole or not at all, even when two processes do it at once."""
    if not _whole(path):
        data = write()
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, data)
        _replace(_digest_of(path), hashlib.sha256(data).hexdigest().encode())
    return str(path)


def _digest_of(path: Path) -> Path:
    """Where the digest of a file lies."""
    return path.with_name(f"{path.name}.sha256")


def _whole(path: Path) -> bool:
    """Whether a file is there as it was written: engine and oracle would both believe what was changed since."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() == _digest_of(path).read_text(encoding="ascii")
    except (OSError, ValueError):
        return False


def _replace(path: Path, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def ranks_file(vocabulary: Vocabulary) -> bytes:
    """`base64 rank` lines of the ordinary tokens by id; the empty token as `=`, as tiktoken reads it."""
    rows = sorted((number, token) for token, number in vocabulary.tokens.items())
    return b"".join(b"%s %d\n" % (b64encode(token) or b"=", number) for number, token in rows)


def literals_file(vocabulary: Vocabulary) -> bytes:
    """RWKV's form: lines of id, Python literal and number of bytes, by id; text where the bytes are UTF-8."""
    rows = sorted((number, token) for token, number in vocabulary.tokens.items() if token)
    return "".join(f"{number} {_literal(token)} {len(token)}\n" for number, token in rows).encode("utf-8")


def _literal(token: bytes) -> str:
    try:
        return repr(token.decode("utf-8"))
    except UnicodeDecodeError:
        return repr(token)


def lines_file(vocabulary: Vocabulary) -> bytes:
    """BERT's `vocab.txt`: a token a line by id, special tokens too; an empty line where an id has none."""
    table = vocabulary.ids()
    return b"".join(table.get(number, b"") + b"\n" for number in range(max(table, default=-1) + 1))


def wordpiece_json(vocabulary: Vocabulary, contract: Contract) -> bytes | None:
    """A Hugging Face tokenizer.json that hands the contract over; None where none can say it."""
    stages = tokenizer_json_stages(contract.normalizer, contract.pretokenizer)
    table = {number: token.decode("utf-8") for number, token in vocabulary.ids().items()}
    if stages is None or contract.unknown not in table:
        return None
    root = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": _added(contract),
        "normalizer": stages[0],
        "pre_tokenizer": stages[1],
        "post_processor": None,
        "decoder": {"type": "WordPiece", "prefix": contract.continuing_prefix, "cleanup": False},
        "model": {
            "type": "WordPiece",
            "unk_token": table[contract.unknown],
            "continuing_subword_prefix": contract.continuing_prefix,
            "max_input_chars_per_word": contract.max_word_chars,
            "vocab": {token: number for number, token in sorted(table.items())},
        },
    }
    return json.dumps(root, ensure_ascii=False).encode("utf-8")


def merges_file(merges: tuple[Pair, ...]) -> bytes:
    """GPT-2's `vocab.bpe`."""
    lines = [f"{to_alphabet(left)} {to_alphabet(right)}\n" for left, right in merges]
    return ("#version: 0.2\n" + "".join(lines)).encode("utf-8")


def _alphabet_ids(vocabulary: Vocabulary) -> dict[str, int]:
    """Ordinary tokens by id under their byte-alphabet names; the empty token is no part of any piece and is
    left out."""
    rows = sorted((number, token) for token, number in vocabulary.tokens.items() if token)
    return {to_alphabet(token): number for number, token in rows}


def ids_file(vocabulary: Vocabulary) -> bytes:
    """GPT-2's `encoder.json`, ordinary tokens only: special tokens are in the contract."""
    return json.dumps(_alphabet_ids(vocabulary), ensure_ascii=False).encode("utf-8")


def tokenizer_json(
    vocabulary: Vocabulary, merges: tuple[Pair, ...], contract: Contract, *, filled: bool = False
) -> bytes:
    """A Hugging Face tokenizer.json that means the contract. `filled`: with a text for each number that has none."""
    spelled = _spelling(contract)
    rows = sorted((number, token) for token, number in vocabulary.tokens.items() if token)
    ids = {spelled(token): number for number, token in rows}
    if contract.byte_fallback:
        # What no merge makes keeps its id. The unknown token is not named: with byte fallback nothing is unknown, and
        # some libraries want the named one among the added tokens, where its text would be matched.
        ids |= {text: number for text, number in vocabulary.specials.items() if text not in ids}
    added = _added(contract)
    for row in added:
        # In the model's vocabulary too: otherwise the library numbers it on from the vocabulary's size, gaps
        # ignored.
        ids.setdefault(row["content"], row["id"])
    if filled:
        ids |= _placeholders(ids)
    root = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": _normalizer(contract),
        "pre_tokenizer": None if contract.byte_fallback else _pre_tokenizer(contract),
        "post_processor": None,
        "decoder": _decoder(contract),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": contract.end_of_word or None,
            "fuse_unk": contract.byte_fallback,
            "byte_fallback": contract.byte_fallback,
            "ignore_merges": contract.ignore_merges,
            "vocab": ids,
            "merges": _merges([(spelled(left), spelled(right)) for left, right in merges]),
        },
    }
    return json.dumps(root, ensure_ascii=False).encode("utf-8")


def _placeholders(ids: dict[str, int]) -> dict[str, int]:
    """A text for each number below the greatest that has none: of a special token that is off, of a gap.

    Published files have no such holes, and libraries rely on it: tokie did not end on a character whose bytes do not
    merge (`ea 8f a4` under DeepSeek V3's, specials off). No piece has a space in it, as the byte alphabet writes it
    otherwise. Ids that are mostly holes are left as they are: one of 4 billion would need as many texts.
    """
    numbers = set(ids.values())
    if _sparse(numbers):
        return {}
    return {f"no token {number}": number for number in range(max(numbers, default=0)) if number not in numbers}


def _sparse(numbers: Collection[int]) -> bool:
    """Whether ids are mostly holes: a form with a row for each number is then not written."""
    return max(numbers, default=0) > 2 * len(numbers)


def _spelling(contract: Contract) -> Callable[[bytes], str]:
    """How a token is written: in the byte alphabet, or as the text that it is."""
    if contract.byte_fallback:
        return bytes.decode
    suffix = contract.end_of_word.encode("utf-8")
    if not suffix:
        return to_alphabet
    return lambda token: to_alphabet(token.removesuffix(suffix)) + contract.end_of_word * token.endswith(suffix)


def _merges(pairs: list[tuple[str, str]]) -> list[str] | list[tuple[str, str]]:
    """`a b` for each, unless a part has a space."""
    return pairs if any(" " in part for pair in pairs for part in pair) else [" ".join(pair) for pair in pairs]


def _normalizer(contract: Contract) -> dict[str, Any] | None:
    rows = [STEPS[step] for step in contract.steps]
    return rows[0] if len(rows) == 1 else {"type": "Sequence", "normalizers": rows} if rows else None


def _decoder(contract: Contract) -> dict[str, Any]:
    if contract.byte_fallback:
        return decoder_of_characters(contract.steps)
    own = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    if not contract.end_of_word:
        return own
    space = {"type": "Replace", "pattern": {"String": contract.end_of_word}, "content": " "}
    return {"type": "Sequence", "decoders": [own, space]}


def _added(contract: Contract) -> list[dict[str, Any]]:
    if contract.specials != "on":
        return []
    rows: list[tuple[int, str, bool, tuple[str, ...]]]
    rows = [(number, text, True, ()) for text, number in contract.special_tokens]
    rows += [(number, text, False, flags) for text, number, flags in contract.added_tokens]
    return [
        {
            "id": number,
            "content": text,
            "single_word": "single_word" in flags,
            "lstrip": "lstrip" in flags,
            "rstrip": "rstrip" in flags,
            "normalized": "normalized" in flags,
            "special": special,
        }
        for number, text, special, flags in sorted(rows)
    ]


def _pre_tokenizer(contract: Contract) -> dict[str, Any]:
    own = contract.pretokenizer == (GPT2_PATTERN,) and contract.gaps == "kept"
    last = {
        "type": "ByteLevel",
        "add_prefix_space": contract.add_prefix_space,
        "trim_offsets": False,
        "use_regex": own,
    }
    if own:
        return last
    how = {"behavior": "Isolated", "invert": False}
    if contract.gaps == "dropped":
        how = {"behavior": "Removed", "invert": True}
    splits = [{"type": "Split", "pattern": {"Regex": pattern}, **how} for pattern in contract.pretokenizer]
    return {"type": "Sequence", "pretokenizers": [*splits, last]}
