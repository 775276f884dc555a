"""Cases for driver.c, and how it is built: standard library only, for the sessions install little."""

from __future__ import annotations

import base64
import json
import os
import random
import shlex
import shutil
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "engines" / "dat_bpe" / "csrc"
GREEDY = ROOT / "engines" / "dat_greedy" / "csrc"
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wpedantic", "-Werror"]
THREADS = ["-g", "-O1", "-fsanitize=thread"]
# family, contractions, digits (pretokenize.h) and the rank file of each.
FAMILIES = {
    "gpt2": ((0, 1, 0), "r50k_base.tiktoken"),
    "cl100k": ((1, 2, 3), "cl100k_base.tiktoken"),
    "o200k": ((2, 2, 3), "o200k_base.tiktoken"),
    "deepseek": ((3, 0, 3), "r50k_base.tiktoken"),
    "deepseek, interpreted": ((0, 1, 0), "r50k_base.tiktoken"),
    "look-around": ((0, 1, 0), "r50k_base.tiktoken"),
}
# Families that programs split, in place of a machine: programs.json holds their words, and a test of the general path
# compiles them again.
PROGRAMS: dict[str, dict[str, list[list[int]]]] = json.loads(Path(__file__).with_name("programs.json").read_text())
SPECIALS = {
    b"<|endoftext|>": 300_000, b"<|end": 300_001, b"|><|": 300_002, "e\u0301".encode(): 300_003, b"x": 300_004,
}
# Bits of special.h: lstrip and rstrip, none, rstrip and normalized, normalized, single_word and normalized.
FLAGS = {
    b"<|endoftext|>": 3, b"<|end": 0, b"|><|": 2 | 8, "e\u0301".encode(): 8, b"x": 4 | 8,
}
PARTS = [
    *(part.encode() for part in (
        "the ", " of", "and", "'s", "'LL", "'\u017f", "\n", "\r\n", "   ", "\t", "\u00a0", "\u2028", "1234567",
        "٣", "²", "漢字", "かな", "дом", "Дом", "ǅ", "ʰ", "\u0301", "\u0903", "\u0323", "\u212b", "e\u0301",
        "\u1100\u1161", "\u11a8", "/", "...", "🙂", "HTTPServer", "x", "\0",
    )),
    *(bytes([byte]) for byte in (0x80, 0x9F, 0xA0, 0xBF, 0xC1, 0xC3, 0xE0, 0xED, 0xF0, 0xF4, 0xF5, 0xFF)),
    *SPECIALS,
]


def ranks(file: str) -> dict[bytes, int]:
    """Token bytes -> rank of an embedded rank file."""
    lines = (ROOT / "fixtures" / "vocab" / file).read_bytes().splitlines()
    return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines)}


def small_ranks() -> dict[bytes, int]:
    """All bytes and the first merges of GPT-2: quick to load thousands of times."""
    everything = sorted(ranks("r50k_base.tiktoken").items(), key=lambda item: item[1])
    return dict(everything[:700])


def documents(seed: int, count: int, longest: int) -> list[bytes]:
    """Documents of parts and of any bytes, long pieces, and one document that threads share if `longest` is 20,000."""
    chance = random.Random(seed)
    made = [b"", b"'", b"\xf0\x9f", b"<|endoftext|", b" " * longest, b"a" * longest, "漢".encode() * (longest // 3)]
    made += [b"a" + "\u0301\u0323".encode() * (longest // 4), "\u1100\u1161\u11a8".encode() * (longest // 9)]
    made.append(bytes(chance.choices(b"etaoinshrdlu", k=longest)))
    made.append(b"the cat, 12 dogs\n" * (2 * longest))
    for _ in range(count):
        made.append(b"".join(chance.choices(PARTS, k=chance.randint(1, 60))))
        made.append(bytes(chance.choices(range(256), k=chance.randint(1, 60))))
    return made


def _tokens(tokens: Mapping[bytes, int]) -> bytes:
    rows = sorted(tokens.items(), key=lambda item: item[1])
    offsets = [0]
    for token, _ in rows:
        offsets.append(offsets[-1] + len(token))
    numbers = struct.pack(f"={len(rows)}I", *(number for _, number in rows))
    head = struct.pack("=Q", len(rows)) + struct.pack(f"={len(offsets)}Q", *offsets)
    return head + numbers + b"".join(token for token, _ in rows)


def _triples(tokens: Mapping[bytes, int], merges: Sequence[tuple[bytes, bytes]]) -> bytes:
    order = {token: place for place, token in enumerate(sorted(tokens, key=tokens.__getitem__))}
    flat = [order[token] for left, right in merges for token in (left, right, left + right)]
    return struct.pack("=Q", len(merges)) + struct.pack(f"={len(flat)}I", *flat)


def merge_list(tokens: Mapping[bytes, int]) -> list[tuple[bytes, bytes]]:
    """Some split of each token into two, in an order that is not that of the ids: irregular on purpose."""
    chance = random.Random(6)
    found = []
    for token in tokens:
        cuts = [cut for cut in range(1, len(token)) if token[:cut] in tokens and token[cut:] in tokens]
        found += [(token[:cut], token[cut:]) for cut in chance.sample(cuts, min(len(cuts), 2))]
    chance.shuffle(found)
    return found


def write_case(
    path: Path, family: str, tokens: Mapping[bytes, int], texts: Sequence[bytes], *, ignore_merges: bool = False,
    stages: bool = False, merges: Sequence[tuple[bytes, bytes]] | None = None,
) -> Path:
    """A case file as driver.c reads it; Unicode 16.0.

    stages  NFC, a prefix space, and the special tokens with flags
    merges  a merge list in place of the ranks
    """
    offsets = [0]
    for text in texts:
        offsets.append(offsets[-1] + len(text))
    parameters, _ = FAMILIES[family]
    programs = PROGRAMS.get(family, {"words": []})["words"]
    starts = [0]
    for words in programs:
        starts.append(starts[-1] + len(words))
    flat = struct.pack(f"={starts[-1]}I", *(word for words in programs for word in words))
    path.write_bytes(
        struct.pack("=8Q", *parameters, 2, int(ignore_merges), stages, stages, merges is not None)
        + struct.pack(f"={len(starts) + 1}Q", len(programs), *starts) + flat + _tokens(tokens) + _tokens(SPECIALS)
        + bytes(FLAGS.values() if stages else [0] * len(SPECIALS)) + _triples(tokens, merges or [])
        + struct.pack("=Q", len(texts)) + struct.pack(f"={len(offsets)}Q", *offsets) + b"".join(texts)
    )
    return path


def write_greedy(path: Path, tokens: Mapping[bytes, int], texts: Sequence[bytes]) -> Path:
    """A case file as greedy.c reads it."""
    offsets = [0]
    for text in texts:
        offsets.append(offsets[-1] + len(text))
    numbers = struct.pack(f"={len(offsets)}Q", *offsets)
    path.write_bytes(_tokens(tokens) + struct.pack("=Q", len(texts)) + numbers + b"".join(texts))
    return path


def compiler() -> list[str]:
    """The C compiler: $CC or cc. Ends the program where there is none."""
    words = shlex.split(os.environ.get("CC", "cc"))
    if not words or shutil.which(words[0]) is None:
        sys.exit(f"no C compiler: {' '.join(words) or 'CC is empty'}")
    return words


def build(target: Path, *flags: str, driver: str = "driver.c") -> Path:
    """driver.c, or greedy.c, with all warnings as errors."""
    # Either folder has a unity.c: the first one is the driver's.
    folders = [GREEDY, SOURCES] if driver == "greedy.c" else [SOURCES]
    command = [*compiler(), "-std=c11", *WARNINGS, *flags, "-pthread", *(f"-I{folder}" for folder in folders)]
    subprocess.run([*command, str(Path(__file__).with_name(driver)), "-o", str(target)], check=True)
    return target


def unrandomized() -> list[str]:
    """What a command needs before it under the thread sanitizer: its shadow memory collides with some kernels' address
    randomization."""
    return ["setarch", "-R"] if shutil.which("setarch") and sys.platform == "linux" else []


def run(command: Sequence[str | Path], **environment: str) -> str:
    """The output of a driver; a failure ends the program with what it printed."""
    done = subprocess.run(
        [str(word) for word in command], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout.strip()
