"""GGUF as a vocabulary: a header written out by hand, every way it can be broken, and what llama.cpp's files hold."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tokassay.harness import known
from tokassay.harness.alphabet import to_alphabet
from tokassay.harness.contract import Contract
from tokassay.harness.errors import InputError
from tokassay.harness.load import load_vocabulary
from tokassay.harness.vocab_gguf import gguf, name_of, parse

CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
BYTES = [to_alphabet(bytes([byte])) for byte in range(256)]


def string(text: str | bytes) -> bytes:
    data = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(data)) + data


def value(given: Any) -> bytes:
    """Texts and lists of texts or of i32, as the format writes them."""
    if isinstance(given, str):
        return struct.pack("<I", 8) + string(given)
    if isinstance(given, bool):
        return struct.pack("<I?", 7, given)
    if isinstance(given, int):
        return struct.pack("<II", 4, given)
    if isinstance(given, float):
        return struct.pack("<If", 6, given)
    if given and isinstance(given[0], int):
        return struct.pack(f"<IIQ{len(given)}i", 9, 5, len(given), *given)
    return struct.pack("<IIQ", 9, 8, len(given)) + b"".join(string(one) for one in given)


def made(version: int = 3, **changes: Any) -> bytes:
    """A file of the 256 bytes, `he`, `hel`, a control token, a token of the user's and an unused one."""
    values: dict[str, Any] = {
        "general.architecture": "gpt2",
        "gpt2.context_length": 1024,
        "gpt2.attention.layer_norm_epsilon": 1e-5,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": [*BYTES, "he", "hel", "<|end|>", "<user>", "[PAD260]"],
        "tokenizer.ggml.token_type": [1] * 258 + [3, 4, 5],
        "tokenizer.ggml.merges": ["h e", "he l"],
        "tokenizer.ggml.add_bos_token": False,
    }
    values |= {f"tokenizer.ggml.{key}": one for key, one in changes.items()}
    values = {key: one for key, one in values.items() if one is not None}
    head = b"GGUF" + struct.pack("<IQQ", version, 0, len(values))
    return head + b"".join(string(key) + value(one) for key, one in values.items())


@pytest.mark.parametrize("version", [2, 3])
def test_what_a_file_says(version: int) -> None:
    contract, vocabulary = parse(made(version), "made.gguf").contract("")
    assert (contract.algorithm, contract.pretokenizer, contract.normalizer) == ("bpe-ranks", (GPT2,), "none")
    assert (contract.special_tokens, contract.added_tokens) == ((("<|end|>", 258),), (("<user>", 259, ()),))
    assert len(vocabulary.tokens) == 258 and vocabulary.tokens[b"hel"] == 257
    assert vocabulary.tokens[b" "] == 32 and vocabulary.specials == {"<|end|>": 258}


def test_the_name_of_an_expression_decides_whole_pieces() -> None:
    """Llama 3's takes a piece whole that is a token; here merging does not reach `xyz`."""
    tokens = [*BYTES, "he", "xyz"]
    changes = {"tokens": tokens, "token_type": [1] * 258, "merges": ["h e"]}
    for pre, whole in (("llama-bpe", True), ("dbrx", False)):
        contract, _ = parse(made(pre=pre, **changes), "made.gguf").contract("")
        assert (contract.pretokenizer, contract.ignore_merges) == ((CL100K,), whole)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model": "rwkv"}, "tokenizer.ggml.model: rwkv is not modelled"),
        ({"model": None}, "tokenizer.ggml.model: None is not modelled"),
        ({"pre": "falcon"}, "the expression that 'falcon' stands for is not known here"),
        ({"pre": None}, "the expression that 'default' stands for is not known here"),
        ({"tokens": ["\u200d", *BYTES[1:]], "token_type": [1] * 256, "merges": []}, "token 0, '\\u200d', is no text"),
        ({"tokens": BYTES[1:], "token_type": [1] * 255, "merges": []}, "byte 0x00 has no token"),
    ],
)
def test_what_is_not_modelled_is_opaque_with_its_reason(changes: dict[str, Any], reason: str) -> None:
    parsed = parse(made(**changes), "made.gguf")
    contract, _ = parsed.contract("ab" * 32)
    assert (contract.algorithm, contract.vocabulary) == ("opaque", "ab" * 32)
    assert reason in parsed.unmodelled[0]


@pytest.mark.parametrize(
    ("changes", "reason", "place"),
    [
        ({"token_type": [1, 1]}, "261 tokens and 2 types", "made.gguf"),
        ({"tokens": [*BYTES, "he", "he", "a", "b", "c"]}, "is also that of id 256", "made.gguf, token 257"),
        ({"merges": ["h e", "he xy"]}, "the merge needs b'xy', which has no id", "made.gguf, merge 1"),
        ({"merges": ["h e l"]}, "not a merge of two", "made.gguf, merge 0"),
        ({"merges": None}, "no list of texts under tokenizer.ggml.merges", "made.gguf"),
        ({"tokens": "all"}, "no list of texts under tokenizer.ggml.tokens", "made.gguf"),
    ],
)
def test_what_contradicts_itself_is_refused_with_its_place(changes: dict[str, Any], reason: str, place: str) -> None:
    with pytest.raises(InputError, match=reason) as caught:
        parse(made(**changes), "made.gguf")
    assert caught.value.where == place and caught.value.remedy


def test_a_file_cut_anywhere_is_refused() -> None:
    data = made()
    for size in [*range(4, 200), *range(200, len(data), 97), len(data) - 1]:
        with pytest.raises(InputError, match=r"ends inside its header|of version"):
            parse(data[:size], "cut.gguf")
    with pytest.raises(InputError, match="version 1"):
        parse(made(1), "old.gguf")
    # A length that nothing can hold is no allocation.
    lying = b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**63)
    with pytest.raises(InputError, match="ends inside its header"):
        parse(lying, "lying.gguf")


def test_it_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    path = tmp_path / "any.name"
    path.write_bytes(made())
    loaded = load_vocabulary(path)
    assert (loaded.format, loaded.contract.algorithm) == ("gguf", "bpe-ranks")
    with pytest.raises(InputError, match="brings its own pattern"):
        load_vocabulary(path, pattern="gpt2")


def test_what_is_written_is_read_as_the_same_contract() -> None:
    loaded = load_vocabulary("gpt2")
    merges = loaded.vocabulary.derivation.pairs
    for specials in ("on", "off"):
        contract = loaded.contract.with_variants(specials=specials)
        data = gguf(loaded.vocabulary, merges, contract)
        read, vocabulary = parse(data, "written.gguf").contract("")
        assert vocabulary.tokens == loaded.vocabulary.tokens
        assert (read.algorithm, read.pretokenizer) == (contract.algorithm, contract.pretokenizer)
        assert read.special_tokens == (contract.special_tokens if specials == "on" else ())
    # The beginning, by hand: magic, version 3, no tensors, six key-values, and the first of them.
    first = "47475546 03000000 0000000000000000 0600000000000000 1400000000000000"
    assert data.startswith(bytes.fromhex(first) + b"general.architecture" + struct.pack("<IQ", 8, 4) + b"gpt2")


def test_an_id_without_a_token_is_unused() -> None:
    loaded = load_vocabulary("gpt2")
    gap = replace(loaded.vocabulary, tokens={b"a": 0, b"b": 2}, specials={})
    data = gguf(gap, (), loaded.contract)
    assert string("[PAD1]") in data
    assert struct.pack("<IIQ3i", 9, 5, 3, 1, 5, 1) in data  # normal, unused, normal


@pytest.mark.parametrize(
    ("name", "changes", "named"),
    [
        ("gpt2", {}, "gpt-2"),
        ("gpt2", {"ignore_merges": True}, None),  # no name has this expression and takes pieces whole
        ("gpt2", {"normalizer": "nfc"}, None),
        ("gpt2", {"add_prefix_space": True}, None),
        ("cl100k_base", {}, "dbrx"),
        ("cl100k_base", {"ignore_merges": True}, "llama-bpe"),
        ("cl100k_base", {"algorithm": "bpe-pairs", "ignore_merges": True}, "llama-bpe"),
        ("o200k_base", {}, "gpt-4o"),
        ("tekken", {}, "tekken"),
        ("tekken", {"algorithm": "bpe-pairs"}, None),  # llama.cpp takes pieces whole there, which may matter
        ("qwen", {}, "qwen2"),
        ("gpt2", {"added_tokens": (("x", 1, ("lstrip",)),), "specials": "on"}, None),
        ("gpt2", {"added_tokens": (("x", 1, ("lstrip",)),)}, "gpt-2"),
    ],
)
def test_the_name_of_a_contract(name: str, changes: dict[str, Any], named: str | None) -> None:
    contract = Contract("bpe-ranks", "00" * 32, pretokenizer=(known.patterns()[name],))
    assert name_of(replace(contract, **changes)) == named


@pytest.mark.network
@pytest.mark.parametrize(("slug", "name"), [("gguf-gpt-2", "gpt2"), ("gguf-llama-bpe", "llama3_json")])
def test_files_of_llama_cpp_are_the_vocabularies_that_they_are_called(slug: str, name: str) -> None:
    """Made by its own converter from the published files: the same canonical digest, and the same contract."""
    from tokassay.corpora.fetch import fetch_file, find_entry

    encoding = known.find(name)
    assert encoding is not None
    if encoding.file is None:
        fetch_file(find_entry(encoding.catalog))
    assert load_vocabulary(fetch_file(find_entry(slug))).contract == load_vocabulary(name).contract
