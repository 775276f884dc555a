"""BPE over characters with byte fallback, and with a suffix at the end of words: the oracle against the library whose
files these are, ids worked out by hand, what is refused, and what other verbs make of such a vocabulary."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokassay.harness.alphabet import CHARACTERS
from tokassay.harness.cli import main
from tokassay.harness.convert import convert
from tokassay.harness.errors import InputError
from tokassay.harness.load import Loaded, load_vocabulary
from tokassay.harness.materialize import materialize
from tokassay.harness.oracle_here import oracle_here
from tokassay.oracles.adapter import Adapter

BLOCK = "\u2581"
PREPEND = {"type": "Prepend", "prepend": BLOCK}
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": BLOCK}
LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
ALPHABET = [BLOCK, *"abcdé日🎉\n", "<", "0"]


def merges_of(symbols: list[str], seed: int, count: int) -> list[tuple[str, str]]:
    """Pairs to merge, each of what is there already, as training makes them."""
    chooser = random.Random(seed)
    known = list(symbols)
    made: list[tuple[str, str]] = []
    while len(made) < count:
        pair = chooser.choice(known), chooser.choice(known)
        if pair not in made and len("".join(pair)) < 6 and "".join(pair) not in known:
            made.append(pair)
            known.append("".join(pair))
    return made


def characters_file(folder: Path, merges: list[tuple[str, str]], **change: Any) -> Path:
    """A tokenizer.json of Llama 2's form."""
    texts = ["<unk>", "<s>", *(f"<0x{byte:02X}>" for byte in range(256)), *ALPHABET, *map("".join, merges)]
    steps = [PREPEND, REPLACE]
    back = [
        {"type": "Replace", "pattern": {"String": BLOCK}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
    ]  # fmt: skip
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    root = {
        "version": "1.0", "truncation": None, "padding": None, "pre_tokenizer": None, "post_processor": None,
        "added_tokens": [{"id": number, "content": text} | flags for number, text in enumerate(texts[:2])],
        "normalizer": {"type": "Sequence", "normalizers": steps},
        "decoder": {"type": "Sequence", "decoders": back},
        "model": {
            "type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True,
            "vocab": {text: number for number, text in enumerate(texts)},
            "merges": [" ".join(pair) for pair in merges],
        } | change.pop("model", {}),
    }  # fmt: skip
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(root | change), encoding="utf-8")
    return path


def documents(seed: int, alphabet: str, count: int = 400) -> list[str]:
    chooser = random.Random(seed)
    return ["", *("".join(chooser.choices(alphabet, k=chooser.randrange(1, 30))) for _ in range(count))]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("steps", [[PREPEND, REPLACE], [REPLACE]])
@pytest.mark.parametrize("specials", ["off", "on"])
def test_characters_as_the_library_has_them(tmp_path: Path, seed: int, steps: list[Any], specials: str) -> None:
    normalizer = {"type": "Sequence", "normalizers": steps}
    path = characters_file(tmp_path, merges_of(ALPHABET, seed, 40), normalizer=normalizer)
    loaded = load_vocabulary(path)
    assert loaded.unmodelled == []
    oracle = oracle_here(loaded.contract.with_variants(specials=specials), loaded)
    library = tokenizers.Tokenizer.from_file(str(path))
    library.encode_special_tokens = specials == "off"
    # What the vocabulary has no token for, up to four bytes of it, and texts of tokens that no text may give.
    for text in [*documents(seed, "abcdé日🎉\n <0xs>\u00a0ẞ𐍈" + BLOCK), "<0x41>", "<s>", "a<s> b", "<unk>"]:
        encoded = library.encode(text, add_special_tokens=False)
        assert oracle.encode(text.encode()) == encoded.ids, text
        assert len(oracle.spans(text.encode())) == len(encoded.ids)


def test_added_tokens_that_merges_make_too(tmp_path: Path) -> None:
    # Gemma's file adds runs of the block: its text finds them before normalizing, and merging makes them of spaces.
    merges = [(BLOCK, BLOCK), (BLOCK * 2, BLOCK), ("a", "b"), ("c", "d")]
    path = characters_file(tmp_path, merges, normalizer=REPLACE)
    root = json.loads(path.read_text(encoding="utf-8"))
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    added = [{"id": root["model"]["vocab"][text], "content": text} | flags for text in (BLOCK * 2, BLOCK * 3, "ab")]
    path.write_text(json.dumps(root | {"added_tokens": root["added_tokens"] + added}), encoding="utf-8")
    loaded = load_vocabulary(path)
    contract = loaded.contract.with_variants(specials="on")
    engine = Adapter()
    engine.load(contract.to_json(), materialize(loaded, contract, tmp_path / "cache"), 1, {})
    library = tokenizers.Tokenizer.from_file(str(path))
    for text in ["a  b", "   ab", f"{BLOCK}  ", f"  {BLOCK * 2}ab", *documents(5, f"abcd  {BLOCK}")]:
        assert engine.encode(text.encode()) == library.encode(text, add_special_tokens=False).ids, text


def test_ids_worked_out_by_hand(tmp_path: Path) -> None:
    """Block and a join first, then the pair (ab); é is no token here and is its two bytes."""
    loaded = load_vocabulary(characters_file(tmp_path, [(BLOCK, "a"), ("a", "b"), (BLOCK + "a", "b")]))
    number = loaded.vocabulary.tokens
    oracle = oracle_here(loaded.contract, loaded)
    block, word, pair = (number[text.encode()] for text in (BLOCK, f"{BLOCK}ab", "ab"))
    assert oracle.encode(b"ab ab") == [word, word]
    assert oracle.encode(b"bab") == [block, number[b"b"], pair]
    assert oracle.encode(b" ") == [block, block]
    assert oracle.encode("ñ".encode()) == [block, 2 + 0xC3, 2 + 0xB1]
    assert oracle.encode(b"\xff") == [block, 2 + 0xFF]  # under byte-alphabet a byte is its own token
    assert oracle.decode([word, word]) == b"ab ab"
    assert oracle.decode([block, 2 + 0xC3, 2 + 0xB1]) == "ñ".encode()
    assert oracle.spans("ab ñ".encode()) == [(0, 2), (2, 3), (3, 4), (4, 5)]


def test_a_derived_file_means_the_same_and_wants_no_added_token(tmp_path: Path) -> None:
    loaded = load_vocabulary(characters_file(tmp_path, merges_of(ALPHABET, 7, 40)))
    paths = materialize(loaded, loaded.contract, tmp_path / "cache")
    assert set(paths) == {"source", "tokenizer.json"}  # ranks and vocab.bpe cannot say where merging begins
    root = json.loads(Path(paths["tokenizer.json"]).read_text(encoding="utf-8"))
    assert (root["added_tokens"], root["model"]["unk_token"]) == ([], None)
    library = tokenizers.Tokenizer.from_file(paths["tokenizer.json"])
    oracle = oracle_here(loaded.contract, loaded)
    for text in documents(7, "abcdé日🎉\n <s>\u00a0"):
        ids = library.encode(text, add_special_tokens=False).ids
        assert oracle.encode(text.encode()) == ids
        assert library.decode(ids, skip_special_tokens=False).encode() == oracle.decode(ids)


def test_the_verb_decodes_by_the_contracts_rule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = characters_file(tmp_path, [(BLOCK, "a")])
    word = load_vocabulary(path).vocabulary.tokens[f"{BLOCK}a".encode()]
    with pytest.raises(SystemExit):
        main(["decode", "--vocab", str(path), "--hex", str(word), str(2 + 0xC3), str(2 + 0xB1), str(word)])
    assert capsys.readouterr().out == "a\u00f1 a".encode().hex() + "\n"


def test_tabs_may_take_the_place_of_their_byte(tmp_path: Path) -> None:
    """Gemma 1 has U+0009 where a token for byte 09 would be: it never needs that token."""
    path = characters_file(tmp_path, [])
    root = json.loads(path.read_text(encoding="utf-8"))
    vocab = {("\t" if text == "<0x09>" else text): number for text, number in root["model"]["vocab"].items()}
    loaded = load_vocabulary(characters_file(tmp_path, [], model={"vocab": vocab}))
    assert loaded.unmodelled == []
    assert oracle_here(loaded.contract, loaded).encode(b"a\t")[-1] == 2 + 9
    del vocab["\t"]
    assert load_vocabulary(characters_file(tmp_path, [], model={"vocab": vocab})).unmodelled == [
        "model.vocab: byte 0x09 has no token"
    ]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"pre_tokenizer": {"type": "Whitespace"}}, "pre_tokenizer: Whitespace over characters is not modelled"),
        ({"normalizer": {"type": "Sequence", "normalizers": [REPLACE, {"type": "NFKD"}]}}, "normalizers[1]: NFKD"),
        ({"model": {"dropout": 0.5}}, "model.dropout: 0.5"),
    ],
)
def test_what_is_not_modelled_is_named(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    loaded = load_vocabulary(characters_file(tmp_path, [], **change))
    assert loaded.contract.algorithm == "opaque"
    assert any(reason in row for row in loaded.unmodelled), loaded.unmodelled


def test_a_split_at_the_spaces_that_are_gone_is_none(tmp_path: Path) -> None:
    """Gemma 3: its Split never finds a U+0020, for the normalizer left none."""
    idle = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
    plain = load_vocabulary(characters_file(tmp_path, []))
    assert load_vocabulary(characters_file(tmp_path, [], pre_tokenizer=idle)).contract == plain.contract


@pytest.mark.parametrize(("row", "place"), [(["a", "q"], "model.merges[1]"), (["a"], "model.merges[1]")])
def test_damaged_merges_are_named_by_place(tmp_path: Path, row: list[str], place: str) -> None:
    path = characters_file(tmp_path, [], model={"merges": [["a", "b"], row], "vocab": _with(tmp_path, "ab")})
    with pytest.raises(InputError) as caught:
        load_vocabulary(path)
    assert place in caught.value.where


def _with(folder: Path, text: str) -> dict[str, int]:
    vocab: dict[str, int] = json.loads(characters_file(folder, []).read_text(encoding="utf-8"))["model"]["vocab"]
    return vocab | {text: len(vocab)}


def words_file(folder: Path, merges: list[tuple[str, str]]) -> Path:
    """A tokenizer.json of CLIP's form."""
    texts = [*CHARACTERS, *(character + "</w>" for character in CHARACTERS), *("".join(pair) for pair in merges)]
    pieces = r"\p{L}+|\p{N}|[^\s\p{L}\p{N}]+"
    split = {"type": "Split", "pattern": {"Regex": pieces}, "behavior": "Removed", "invert": True}
    root = {
        "version": "1.0", "truncation": None, "padding": None, "post_processor": None, "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, LEVEL]}, "decoder": LEVEL,
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": "</w>", "fuse_unk": False, "byte_fallback": False,
            "vocab": {text: number for number, text in enumerate(texts)},
            "merges": [" ".join(pair) for pair in merges],
        },
    }  # fmt: skip
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(root), encoding="utf-8")
    return path


@pytest.fixture
def words(tmp_path: Path) -> Loaded:
    merges = merges_of(["a", "b", "Ã", "©", "a</w>", "b</w>", "©</w>"], 3, 30)
    return load_vocabulary(words_file(tmp_path, [pair for pair in merges if not pair[0].endswith("</w>")]))


def test_words_as_the_library_has_them(words: Loaded) -> None:
    assert words.unmodelled == []
    assert (words.contract.end_of_word, words.contract.gaps) == ("</w>", "dropped")
    oracle = oracle_here(words.contract, words)
    library = tokenizers.Tokenizer.from_file(str(words.source_path))
    for text in documents(5, "abAB é\u00c9e\u0301\n 1.,İΑΣ\u212a"):
        assert oracle.encode(text.encode()) == library.encode(text, add_special_tokens=False).ids, text


def test_of_words_by_hand(tmp_path: Path) -> None:
    loaded = load_vocabulary(words_file(tmp_path, [("a", "b</w>"), ("a", "a")]))
    oracle = oracle_here(loaded.contract, loaded)
    number = {text: at for at, text in enumerate([*CHARACTERS, *(each + "</w>" for each in CHARACTERS)])}
    assert oracle.encode(b"ab  AB") == [512, 512]  # blanks are lost, and so is case
    assert oracle.encode(b"aab") == [number["a"], 512]
    assert oracle.encode(b"aaa") == [513, number["a</w>"]]
    assert oracle.spans(b" aab ab") == [(1, 2), (2, 4), (5, 7)]
    assert oracle.decode([number["a"], 512]) == b"aab "


def test_other_forms_are_refused(words: Loaded, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no place in every form"):
        convert(str(words.source_path), "tiktoken", tmp_path / "out")
    with pytest.raises(InputError, match="not known as bytes"):
        load_vocabulary(f"{words.source_path}@greedy-longest")


def test_every_merge_is_reached(words: Loaded) -> None:
    """A token is reached from its bytes with the suffix on the last one; single ones are what merging begins with."""
    reaches = words.vocabulary.reaches
    assert reaches(b"a") and reaches(b"a</w>")
    assert not reaches(b"zz</w>")
    assert not reaches(b"</w>a")
