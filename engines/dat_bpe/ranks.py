"""Rank files (`base64 rank` lines) and the encodings that are embedded."""

from __future__ import annotations

import binascii
import hashlib
import os
import stat
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from tokassay.engines.dat_bpe.errors import LoadError

# The greatest id; 2**32 - 1 means "none" inside the tables.
GREATEST_ID = 2**32 - 2


@dataclass(frozen=True)
class Encoding:
    """What a rank file does not say about itself."""

    file: str
    sha256: str
    pattern: str
    specials: Mapping[str, int] = field(default_factory=dict)


# SHA-256 as tiktoken pins them; patterns and special tokens from its openai_public module.
_R50K = "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"
_CL100K = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
_O200K = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
_HARMONY = {
    "<|startoftext|>": 199998, "<|endoftext|>": 199999, "<|reserved_200000|>": 200000, "<|reserved_200001|>": 200001,
    "<|return|>": 200002, "<|constrain|>": 200003, "<|reserved_200004|>": 200004, "<|channel|>": 200005,
    "<|start|>": 200006, "<|end|>": 200007, "<|message|>": 200008, "<|reserved_200009|>": 200009,
    "<|reserved_200010|>": 200010, "<|reserved_200011|>": 200011, "<|call|>": 200012, "<|endofprompt|>": 200018,
} | {f"<|reserved_{number}|>": number for number in range(200013, 201088)}

ENCODINGS: dict[str, Encoding] = {
    "gpt2": Encoding("r50k_base.tiktoken", _R50K, "gpt2", {"<|endoftext|>": 50256}),
    "cl100k_base": Encoding("cl100k_base.tiktoken", _CL100K, "cl100k", {
        "<|endoftext|>": 100257, "<|fim_prefix|>": 100258, "<|fim_middle|>": 100259, "<|fim_suffix|>": 100260,
        "<|endofprompt|>": 100276,
    }),
    "o200k_base": Encoding(
        "o200k_base.tiktoken", _O200K, "o200k", {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}
    ),
    "o200k_harmony": Encoding("o200k_base.tiktoken", _O200K, "o200k", _HARMONY),
}
ALIASES = {
    "r50k_base": "gpt2", "r50k": "gpt2", "cl100k": "cl100k_base", "o200k": "o200k_base", "harmony": "o200k_harmony",
}


def embedded_ranks(encoding: Encoding) -> tuple[dict[bytes, int], str]:
    """The ranks of an embedded encoding and the file's name; LoadError if the file is not what was pinned."""
    source = files("tokassay.fixtures") / "vocab" / encoding.file
    data = source.read_bytes()
    if hashlib.sha256(data).hexdigest() != encoding.sha256:
        raise LoadError(
            "the file is not the pinned one (SHA-256)", where=str(source), remedy="install the package again"
        )
    return parse_ranks(data, str(source)), str(source)


def read_ranks(path: str | Path) -> dict[bytes, int]:
    """The ranks of a file. LoadError if it cannot be read or is not a rank file."""
    return parse_ranks(read_file(path, "a rank file"), str(path))


def read_file(path: str | Path, what: str) -> bytes:
    """What stands in a file. LoadError where it cannot be read, or is a pipe or a device, which would not end."""
    try:
        problem = "" if stat.S_ISREG(os.stat(path).st_mode) or Path(path).is_dir() else "no regular file"
        if not problem:
            return Path(path).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        problem = str(getattr(error, "strerror", None) or error)
    raise LoadError(problem, where=str(path), remedy=f"give the path of {what}")


def parse_ranks(data: bytes, where: str) -> dict[bytes, int]:
    """Token bytes -> id, from `base64 rank` lines; `=` is the empty token. LoadError names the bad line."""
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            left, right = line.split()
            token = b"" if left == b"=" else b64decode(left, validate=True)
            rank = int(right)
        except (ValueError, binascii.Error) as error:
            raise LoadError(
                f"not a `base64 rank` line: {line[:60]!r}", where=f"{where}:{number}",
                remedy="give a whole tiktoken rank file",
            ) from error
        if not 0 <= rank <= GREATEST_ID:
            raise LoadError(
                f"id {rank} is outside 0..{GREATEST_ID}", where=f"{where}:{number}", remedy="give ids of 32 bits"
            )
        if token in ranks:
            raise LoadError(
                f"token {token.hex()} has a second id", where=f"{where}:{number}", remedy="leave one line a token"
            )
        ranks[token] = rank
    if not ranks:
        raise LoadError("no ranks", where=where, remedy="give a whole tiktoken rank file")
    return ranks
