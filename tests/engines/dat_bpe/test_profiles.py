"""Profile files: what was saved is what is opened, and no content of a file does harm."""

from __future__ import annotations

import copy
import json
import mmap
import os
import pickle
import random
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tokassay.engines.dat_bpe import AddedToken, Encoder, LoadError, ProfileError, profiles

BYTES = {bytes([byte]): byte for byte in range(256)}
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
FLAGS = 36            # of the head: the least byte of its flags
PLACES = 104          # where the sections' places begin in the head
DIGEST = PLACES + 16 * len(profiles.SECTIONS) + 32
START = (DIGEST + 8 + 63) // 64 * 64
FNV = 0x100000001B3


def small_ranks(count: int = 700) -> dict[bytes, int]:
    """All bytes, and random tokens of two parts each, some of which their own bytes do not make."""
    chance = random.Random(1)
    tokens = list(BYTES)
    while len(tokens) < count:
        made = chance.choice(tokens) + chance.choice(tokens)
        if made not in tokens and len(made) < 40:
            tokens.append(made)
    return {token: rank for rank, token in enumerate(tokens)}


def texts(seed: int, count: int = 40) -> list[bytes]:
    chance = random.Random(seed)
    parts = [
        "the ", " of", "don't", "\n\n", "  ", "1234567", "漢字", "дом", "é", "e\u0301", "🙂", "x" * 60, "<s>", "Å",
        "a b",
    ]
    made = ["".join(chance.choices(parts, k=chance.randint(0, 30))).encode() for _ in range(count)]
    made += [bytes(chance.choices(range(256), k=chance.randint(1, 200))) for _ in range(count)]
    return [*made, b"", b"ab" * 500]


def seal(data: bytearray) -> bytearray:
    """Sets the head's digest: FNV-1a over all that stands before it, and over what lies before the text."""
    digest = 0xCBF29CE484222325
    for byte in data[:DIGEST] + data[START : section(data, "text")[0]]:
        digest = (digest ^ byte) * FNV % 2**64
    data[DIGEST : DIGEST + 8] = digest.to_bytes(8, "little")
    return data


def section(data: bytes, name: str) -> tuple[int, int]:
    at = PLACES + 16 * profiles.SECTIONS.index(name)
    start, size = struct.unpack_from("<QQ", data, at)
    return start, size


def with_about(data: bytes, about: bytes) -> bytearray:
    """The file with another description, the head sealed again."""
    start, _ = section(data, "about")
    rest, _ = section(data, profiles.SECTIONS[1])
    made = bytearray(data[:start]) + about + bytes(-len(about) % 64)
    moved = len(made) - rest
    made += data[rest:]
    struct.pack_into("<Q", made, PLACES + 8, len(about))
    for number in range(1, len(profiles.SECTIONS)):
        (at,) = struct.unpack_from("<Q", made, PLACES + 16 * number)
        struct.pack_into("<Q", made, PLACES + 16 * number, at + moved)
    struct.pack_into("<Q", made, 16, len(made))
    return seal(made)


def equal(one: Encoder, other: Encoder, seed: int = 2) -> None:
    documents = texts(seed)
    matching = bool(one.specials)
    for specials in {False, matching}:
        for document in documents:
            ids = one.encode(document, specials=specials)
            assert ids.tolist() == other.encode(document, specials=specials).tolist()
            found, spans = other.encode_spans(document, specials=specials)
            assert found.tolist() == ids.tolist()
            assert spans.tolist() == one.encode_spans(document, specials=specials)[1].tolist()
            assert one.trace_ids(document, specials=specials)[0].tolist() == ids.tolist()
            assert one.trace(document, specials=specials) == other.trace(document, specials=specials)
            assert one.decode(ids) == other.decode(ids)
        batches = [each.encode_batch(documents, threads=2, specials=specials) for each in (one, other)]
        for mine, theirs in zip(*batches, strict=True):
            assert mine.tolist() == theirs.tolist()


ENCODERS: dict[str, Callable[[], Encoder]] = {
    "plain": lambda: Encoder.from_ranks(small_ranks(), pattern="gpt2", name="own"),
    "merged only": lambda: Encoder.from_ranks(small_ranks(), pattern="cl100k", ignore_merges=False),
    "o200k, 17.0": lambda: Encoder.from_ranks(small_ranks(), pattern="o200k", unicode="17.0"),
    "deepseek": lambda: Encoder.from_ranks(small_ranks(), pattern="deepseek"),
    "gaps": lambda: Encoder.from_ranks(
        BYTES | {b"ab": 1000, b"cd": 3_000_000_000, b"abcd": 2**32 - 2}, pattern="gpt2", specials={"<s>": 500}
    ),
    "general": lambda: Encoder.from_ranks(small_ranks(), pattern=[r"\d", r"[a-z]+|\s+(?!\S)|\s|[^a-z\s]+"]),
    "general by choice": lambda: Encoder.from_ranks(small_ranks(), pattern="cl100k", general=True),
    "added": lambda: Encoder.from_ranks(
        small_ranks(), pattern="gpt2", specials={"<t>": 9000},
        added=[
            AddedToken("<s>", 9001, lstrip=True, rstrip=True), AddedToken("é", 9002, normalized=True, single_word=True),
        ],
        normalizer="nfc",
    ),
    "prefix space, nfc": lambda: Encoder.from_ranks(
        small_ranks(), pattern="qwen3.5", normalizer="nfc", prefix_space=True
    ),
    "pairs": lambda: Encoder.from_pairs(
        BYTES | {b"ab": 256, b"bc": 257, b"abc": 258, b"aabb": 259, b"aa": 260, b"bb": 261},
        [(b"b", b"c"), (b"a", b"a"), (b"b", b"b"), (b"a", b"b"), (b"aa", b"bb"), (b"ab", b"c")], pattern="gpt2",
    ),
    "pairs in order": lambda: Encoder.from_pairs(
        BYTES | {b"ab": 256, b"bc": 257, b"abc": 258}, [(b"a", b"b"), (b"b", b"c"), (b"a", b"bc")], pattern="gpt2",
    ),
    "an empty token": lambda: Encoder.from_ranks(BYTES | {b"": 256, b"aa": 257}, pattern="gpt2"),
}


@pytest.mark.parametrize("kind", list(ENCODERS))
def test_opened_is_as_saved(kind: str, tmp_path: Path) -> None:
    built = ENCODERS[kind]()
    path = tmp_path / "a.profile"
    assert built.save(path) == path.stat().st_size
    opened = Encoder.load(path)
    for name in (
        "name", "pattern", "expressions", "unicode", "normalizer", "specials", "added", "n_vocab", "ignore_merges",
        "pretokenizer_path", "unreachable",
    ):
        assert getattr(opened, name) == getattr(built, name), name
    assert opened.unreachable_ids() == built.unreachable_ids()
    equal(built, opened)
    assert profiles.verify(path)["tokens"] == len(opened._tables.tokens()[0][2])
    again = tmp_path / "b.profile"
    opened.save(again)
    assert again.read_bytes() == path.read_bytes()
    for copied in (pickle.loads(pickle.dumps(opened)), copy.copy(opened), copy.deepcopy(opened)):
        equal(built, copied, seed=3)


def test_embedded_vocabularies(encoder_of: Callable[[str], Encoder], vocabulary: str, tmp_path: Path) -> None:
    built = encoder_of(vocabulary)
    path = tmp_path / "a.profile"
    built.save(path)
    equal(built, Encoder.open(path))


def test_settings_of_an_opened_encoder(tmp_path: Path) -> None:
    path = tmp_path / "a.profile"
    ENCODERS["plain"]().save(path)
    opened = Encoder.open(path, cache_bits=4, level="scalar", without=("words", "linear"))
    copied = pickle.loads(pickle.dumps(opened))
    tuned = [{**each._given.options["settings"], "seed": 0} for each in (opened, copied)]
    assert tuned[0] == tuned[1]
    assert tuned[0]["uses"] == ("cache", "wide", "cuts")
    with pytest.raises(LoadError, match="cache_bits"):
        Encoder.open(path, cache_bits=40)


def test_a_copy_is_of_the_same_profile_or_none(tmp_path: Path) -> None:
    path = tmp_path / "a.profile"
    ENCODERS["plain"]().save(path)
    kept = Encoder.open(path)
    pickled = pickle.dumps(kept)
    ids = kept.encode(b"hello").tolist()
    ENCODERS["merged only"]().save(path)
    assert kept.encode(b"hello").tolist() == ids  # the file that it mapped is still there, without a name
    with pytest.raises(ProfileError, match="not the profile that was open"):
        pickle.loads(pickled)
    path.unlink()
    with pytest.raises(LoadError, match="No such file"):
        pickle.loads(pickled)


def test_a_save_replaces_files_only(tmp_path: Path) -> None:
    """Not a pipe (a device is the same), and not a link but what it names."""
    encoder = ENCODERS["pairs"]()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(LoadError, match="no regular file") as caught:
        encoder.save(tmp_path / "pipe")
    assert (caught.value.where, (tmp_path / "pipe").is_fifo()) == (str(tmp_path / "pipe"), True)
    (tmp_path / "link").symlink_to(tmp_path / "named")
    encoder.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and profiles.is_profile(tmp_path / "named")


def test_a_profile_is_loaded_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.profile"
    ENCODERS["pairs"]().save(path)
    assert Encoder.load(path).n_vocab == Encoder.open(path).n_vocab
    for given in ({"pattern": "cl100k"}, {"specials": {"<x>": 6}}, {"unicode": "15.0"}, {"ignore_merges": False},
                  {"general": True}):
        with pytest.raises(LoadError, match="a profile says itself") as caught:
            Encoder.load(path, **given)  # type: ignore[arg-type]
        assert f"leave out {next(iter(given))}=" in caught.value.remedy


def test_what_is_saved_is_opened(tmp_path: Path) -> None:
    """Without any expression a text is one piece; a name may be a path of bytes that are no text."""
    for name, pattern in (("ranks", []), ("a\udcff", "gpt2"), ("naïve", "gpt2")):
        encoder = Encoder.from_ranks(small_ranks(), pattern=pattern, name=name)
        encoder.save(tmp_path / "a.profile")
        opened = Encoder.open(tmp_path / "a.profile")
        assert (opened.name, opened.expressions) == (name, encoder.expressions)
        assert opened.encode(b"a b  ab").tolist() == encoder.encode(b"a b  ab").tolist()


def test_what_would_not_be_opened_is_not_saved(tmp_path: Path) -> None:
    encoder = ENCODERS["pairs"]()
    encoder.name = 5  # type: ignore[assignment]
    with pytest.raises(LoadError, match="has a 'name' that is no str"):
        encoder.save(tmp_path / "a.profile")
    assert not [*tmp_path.iterdir()]


def test_paths_are_text_or_bytes(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path / "a.profile")
    ENCODERS["pairs"]().save(path)
    opened = Encoder.open(path)
    assert opened.path == str(tmp_path / "a.profile")
    assert pickle.loads(pickle.dumps(opened)).n_vocab == Encoder.load(path).n_vocab
    assert profiles.verify(path)["size"] == os.path.getsize(path)
    with pytest.raises(LoadError, match=f"^{tmp_path}/b: No such file"):
        Encoder.open(os.fsencode(tmp_path / "b"))


def test_a_save_that_fails_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        ENCODERS["pairs"]().save(tmp_path / "absent" / "a.profile")
    assert (caught.value.filename, caught.value.filename2) == (str(tmp_path / "absent" / "a.profile"), None)
    ENCODERS["pairs"]().save(tmp_path / ("a" * 255))  # as long as a name may be: the temporary one is no longer
    assert [len(each.name) for each in tmp_path.iterdir()] == [255]


def test_nothing_is_left_of_a_failed_save(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.profile").mkdir()
    with pytest.raises(LoadError, match="no regular file"):
        ENCODERS["pairs"]().save(folder / "a.profile")
    assert [each.name for each in folder.iterdir()] == ["a.profile"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("profiles") / "whole.profile"
    Encoder.from_ranks(small_ranks(), pattern="gpt2", specials={"<s>": 9000}).save(path)
    return path.read_bytes()


def refused(path: Path, data: bytes) -> ProfileError:
    path.write_bytes(data)
    with pytest.raises(ProfileError) as caught:
        _ = Encoder.open(path).name  # the description is read when it is asked for
    assert caught.value.where == str(path)
    assert "tokassay profile build" in caught.value.remedy
    return caught.value


def test_the_layout_is_as_written_here(whole: bytes) -> None:
    magic, version, order, size = struct.unpack_from("<8sIIQ", whole)
    assert (magic, version, order, size) == (b"TKAPROF\n", 4, 0x01020304, len(whole))
    assert seal(bytearray(whole)) == whole
    at = START
    for name in profiles.SECTIONS:
        start, length = section(whole, name)
        assert (name, start) == (name, at)
        at += (length + 63) // 64 * 64
    assert at == len(whole)
    start, length = section(whole, "text")
    assert whole[start : start + length] == b"".join(small_ranks())


def test_truncated(whole: bytes, tmp_path: Path) -> None:
    ends = {0, 1, 7, 8, 12, 16, 23, 24, DIGEST, DIGEST + 7, START, len(whole) - 1}
    ends |= {section(whole, name)[0] for name in profiles.SECTIONS}
    path = tmp_path / "a.profile"
    for end in sorted(ends - {0}):
        refused(path, whole[:end])
    assert "bytes" in str(refused(path, whole + bytes(64)))
    path.write_bytes(b"")
    with pytest.raises(LoadError):
        Encoder.open(path)


def test_every_bit_of_the_head(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.profile"
    for at in range(DIGEST + 8):
        data = bytearray(whole)
        data[at] ^= 1 << at % 8
        refused(path, data)


def test_what_the_refusal_says(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.profile"
    swapped = bytearray(whole)
    struct.pack_into(">I", swapped, 12, 0x01020304)
    assert "byte order" in str(refused(path, seal(swapped)))
    newer = bytearray(whole)
    struct.pack_into("<I", newer, 8, 99)
    assert "version 99" in str(refused(path, seal(newer)))
    assert "not a profile" in str(refused(path, bytes(4096)))


def test_absurd_heads_sealed_again(whole: bytes, tmp_path: Path) -> None:
    """Every number of the head in turn is 0, 1, or as large as it can be: refused, or harmless."""
    path = tmp_path / "a.profile"
    for at in range(24, DIGEST - 32, 4):
        for value in (0, 1, 63, 0x7FFFFFFF, 0xFFFFFFFF):
            data = bytearray(whole)
            struct.pack_into("<I", data, at, value)
            path.write_bytes(seal(data))
            with suppress(ProfileError):
                Encoder.open(path).encode(b"hello world <s> ab", specials=True)


FIELDS: dict[str, Any] = {
    "name": "own", "package": "0.1.0", "expressions": [GPT2], "unicode": "16.0", "normalizer": "none",
    "prefix_space": False, "ignore_merges": True, "general": False, "added": [["<s>", 9000, 0]],
}
WRONG = [None, True, 7, -1, 2**70, 1.5, "x", [], {}, [[]], [None], ["\\w"], ["(" * 300], [["", 1, 0]], [["a", -1, 0]],
         [["a", 2**40, 0]], [["a", 1, 99]], [["a", 1.5, 0]], [["\ud800", 1, 0]], [[1, 1, 0]], [["a", 1, 0]] * 2, "99.0",
         [["a", 1]], [["a", 1, 0, 0]], [["a", True, 0]]]


@pytest.mark.parametrize("field", list(FIELDS))
def test_wrong_descriptions(field: str, whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.profile"
    path.write_bytes(with_about(whole, json.dumps(FIELDS).encode()))
    assert Encoder.open(path).encode(b"<s>", specials=True).tolist() == [9000]
    for value in WRONG:
        path.write_bytes(with_about(whole, json.dumps(FIELDS | {field: value}).encode()))
        try:
            opened = Encoder.open(path)
            opened.encode(b"a <s>")  # needs no description
            assert opened.specials
        except LoadError as error:
            assert error.where.startswith(str(path))
            assert error.remedy
        else:
            assert type(value) is type(FIELDS[field])
    without = {name: value for name, value in FIELDS.items() if name != field}
    refused(path, with_about(whole, json.dumps(without).encode()))
    refused(path, with_about(whole, json.dumps(FIELDS | {"more": 1}).encode()))


def test_descriptions_that_are_no_json(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.profile"
    for about in (b"", b"{", b"\xff\xfe", b"[" * 100_000, b"1" * 10_000, b"null", b"[]", b"NaN", b"{}" * 2):
        refused(path, with_about(whole, about))


def test_a_description_of_another_pattern(whole: bytes, tmp_path: Path) -> None:
    changes: list[dict[str, Any]] = [
        {"expressions": [CL100K]}, {"expressions": [r"\S+|\s+"]}, {"ignore_merges": False}, {"unicode": "15.0"},
    ]
    for change in changes:
        refused(tmp_path / "a.profile", with_about(whole, json.dumps(FIELDS | change).encode()))


def test_the_head_and_the_description_name_one_way(whole: bytes, tmp_path: Path) -> None:
    for flag in (8, 16, 32):  # nfc, a prefix space, programs: the description has none of them
        made = bytearray(whole)
        made[FLAGS] |= flag
        refused(tmp_path / "a.profile", seal(made))
    refused(tmp_path / "a.profile", with_about(whole, json.dumps(FIELDS | {"general": True}).encode()))


def test_added_tokens_of_head_and_description(whole: bytes, tmp_path: Path) -> None:
    """They are matched as the head's sections say, and checked there; the description must say the same."""
    path = tmp_path / "a.profile"
    refused(path, with_about(whole, json.dumps(FIELDS | {"added": [["<t>", 9000, 0]]}).encode()))
    damages = {"added_text": b"\xff", "added_offsets": b"\x01", "added_flags": b"\x10", "added_ids": b"\x01"}
    for name, damage in damages.items():
        made = bytearray(whole)
        at, size = section(whole, name)
        assert size
        made[at : at + 1] = damage
        refused(path, made)
        refused(path, seal(made))
    made = bytearray(whole)
    at, _ = section(whole, "about")
    made[at + 20] ^= 1  # a description that was damaged is seen when a file is opened
    path.write_bytes(made)
    with pytest.raises(ProfileError):
        Encoder.open(path)


def test_the_same_pattern_the_general_way(whole: bytes, tmp_path: Path) -> None:
    """Slower and of the same ids: not damage."""
    path = tmp_path / "a.profile"
    path.write_bytes(whole)
    plain = Encoder.open(path)
    made = with_about(whole, json.dumps(FIELDS | {"general": True}).encode())
    made[FLAGS] |= 32
    path.with_name("b.profile").write_bytes(seal(made))
    general = Encoder.open(path.with_name("b.profile"))
    assert (plain.pretokenizer_path, general.pretokenizer_path) == ("machine", "general")
    for document in texts(3):
        assert plain.encode(document).tolist() == general.encode(document).tolist()


def test_what_is_no_file(tmp_path: Path) -> None:
    """A pipe is neither waited for nor read."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, tmp_path / "absent", Path("/dev/zero"), Path("/dev/null"), Path("a\0b")):
        assert not profiles.is_profile(path)
        with pytest.raises(LoadError) as caught:
            Encoder.open(path)
        assert caught.value.remedy


# Runs in a process of its own: a crash, or a walk that goes on for ever, must not be pytest's.
HOSTILE = """
import random, struct, sys
from tokassay.engines.dat_bpe import Encoder, ProfileError, profiles
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_profiles import DIGEST, PLACES, damaged, section, seal, texts
whole, path = Path(sys.argv[2]).read_bytes(), Path(sys.argv[2] + ".own")
seed, count = int(sys.argv[3]), int(sys.argv[4])
documents = texts(seed, 6) + [b"a" * 3000, "\\u6f22".encode() * 700, bytes(range(256)) * 4, b"etaoin" * 2000]
for number in range(seed, seed + count):
    path.unlink(missing_ok=True)
    path.write_bytes(damaged(whole, number))
    level = ("scalar", None)[number % 2]
    without = ((), ("words",), ("linear", "cuts"), ("cache",))[number % 4]
    try:
        encoder = Encoder.open(path, level=level, without=without)
    except ProfileError:
        continue
    for call in (
        lambda: [encoder.encode(each, specials=number % 3 == 0) for each in documents],
        lambda: encoder.decode(encoder.encode(documents[3])),
        lambda: [encoder.encode_spans(each) for each in documents],
        lambda: encoder.encode_list(documents[1]), lambda: encoder.encode_batch(documents, threads=3),
        lambda: [encoder.trace(each[:300]) for each in documents], lambda: encoder.pretokens(documents[2]),
        lambda: encoder.decode(list(range(300))), lambda: [encoder.token_bytes(i) for i in range(0, 9100, 700)],
        lambda: encoder.token_id(b"ab"), encoder.unreachable_ids,
    ):
        try:
            call()
        except (ValueError, MemoryError, OverflowError):
            pass
    try:
        profiles.verify(path)
    except ProfileError:
        pass
"""


def damaged(whole: bytes, seed: int) -> bytearray:
    """Bytes of one section changed, in one of several ways; the head sealed again, so that it is opened."""
    chance = random.Random(seed)
    data = bytearray(whole)
    start, size = section(whole, chance.choice(profiles.SECTIONS[1:]))
    way = seed % 5
    if way == 0:
        for _ in range(chance.randint(1, 40)):
            data[start + chance.randrange(max(size, 1))] ^= 1 << chance.randrange(8)
    elif way == 1:
        data[start : start + size] = chance.randbytes(size)
    elif way == 2:
        data[start : start + size] = bytes([chance.choice([0, 1, 0x7F, 0xFF])]) * size
    elif way == 3:  # small numbers: tokens that there are, in circles
        words = size // 4
        data[start : start + 4 * words] = struct.pack(f"<{words}I", *chance.choices(range(800), k=words))
    else:  # every word is one of few
        words, few = size // 4, [chance.randrange(800) for _ in range(2)]
        data[start : start + 4 * words] = struct.pack(f"<{words}I", *chance.choices(few, k=words))
    return seal(data)


def test_damaged_contents_do_no_harm(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "whole.profile"
    path.write_bytes(whole)
    done = subprocess.run(
        [sys.executable, "-c", HOSTILE, str(Path(__file__).parent), str(path), "0", "150"],
        capture_output=True, text=True, timeout=240, check=False,
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])


def test_circles_in_damaged_tables_end(whole: bytes, tmp_path: Path) -> None:
    """What leads a walk in a circle: a token that is its own shorter one, or its own last merge, or pairs with any."""
    path = tmp_path / "a.profile"
    for name, step in (("shorter", 4), ("splits", 8), ("values", 4), ("pairs", 8), ("two", 4)):
        start, size = section(whole, name)
        data = bytearray(whole)
        for at in range(size // step):
            number = at % 700
            pair = (number << 21 | 2**21 - 1) << 21 | number
            value = {"splits": number << 32 | number, "pairs": pair}.get(name, number)
            data[start + step * at : start + step * at + step] = value.to_bytes(step, "little")
        if name == "pairs":
            first, length = section(whole, "filter")
            data[first : first + length] = b"\xff" * length
        path.write_bytes(seal(data))
        script = (
            "import sys; from tokassay.engines.dat_bpe import Encoder\n"
            "for level in ('scalar', None):\n"
            "    for without in ((), ('words',), ('linear',)):\n"
            "        encoder = Encoder.open(sys.argv[1], level=level, without=without)\n"
            "        for text in (b'the quick brown fox', b'a' * 30000, bytes(range(256)) * 30, b'x' * 47):\n"
            "            encoder.encode(text)"
        )
        done = subprocess.run([sys.executable, "-c", script, str(path)], timeout=60, check=False, capture_output=True)
        assert done.returncode == 0, (name, done.stderr[-2000:])


def test_a_mapping_is_only_read(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.profile"
    path.write_bytes(whole)
    encoder = Encoder.open(path)
    assert isinstance(encoder._given.options["block"], mmap.mmap)
    equal(encoder, Encoder.open(path))
    assert path.read_bytes() == whole
