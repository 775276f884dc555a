"""Conversions with their proofs: recovered merges against brute force, ids against the libraries, refusals by name."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import tiktoken
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokassay.harness import convert as module
from tokassay.harness.cli import main
from tokassay.harness.convert import convert, gaps
from tokassay.harness.errors import InputError
from tokassay.harness.load import load_vocabulary
from tokassay.harness.recover import last_merge, recover, unlike_ranks
from tokassay.harness.vocabulary import Vocabulary

Cli = Callable[..., tuple[int, str, str]]


def by_ranks(data: bytes, tokens: dict[bytes, int]) -> list[bytes]:
    """Merging by ranks, as the rule says it: written apart from the code under test."""
    parts = [data[i : i + 1] for i in range(len(data))]
    while True:
        found = [(tokens[a + b], i) for i, (a, b) in enumerate(pairwise(parts)) if a + b in tokens]
        if not found:
            return parts
        _, at = min(found)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]


def by_pairs(data: bytes, merges: list[tuple[bytes, bytes]]) -> list[bytes]:
    """Merging by a list, as the rule says it."""
    order = {pair: number for number, pair in enumerate(merges)}
    parts = [data[i : i + 1] for i in range(len(data))]
    while True:
        found = [(order[pair], i) for i, pair in enumerate(pairwise(parts)) if pair in order]
        if not found:
            return parts
        _, at = min(found)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]


LETTERS = [b"a", b"b"]


def ranked(words: list[bytes]) -> dict[bytes, int]:
    """A vocabulary over two letters; the words' ranks are their places, so that any order is possible."""
    return {token: number for number, token in enumerate(dict.fromkeys([*LETTERS, *words]))}


@settings(max_examples=120)
@given(st.lists(st.text("ab", min_size=2, max_size=6).map(str.encode), max_size=12))
def test_recovered_merges_mean_the_ranks(words: list[bytes]) -> None:
    """Any ranks at all, most of them with exceptions: every text of up to nine letters, drawn, is cut alike."""
    tokens = ranked(words)
    found = recover(Vocabulary(tokens, None, {}))
    chance = random.Random(7)
    for _ in range(40):
        data = bytes(chance.choices(b"ab", k=chance.randint(1, 9)))
        assert by_pairs(data, list(found.pairs)) == by_ranks(data, tokens)
    for token in tokens:
        formed = len(by_ranks(token, tokens)) == 1
        assert formed == (token not in found.whole)


@settings(max_examples=80)
@given(st.lists(st.text("ab", min_size=2, max_size=5).map(str.encode), max_size=8), st.randoms(use_true_random=False))
def test_further_pairs_do_no_harm(words: list[bytes], chance: random.Random) -> None:
    """Every split of every token, as converted rank files list them: still the ranks, by the check and by hand."""
    tokens = ranked(words)
    splits = [
        (word[:cut], word[cut:]) for word in sorted(tokens, key=tokens.__getitem__) for cut in range(1, len(word))
        if word[:cut] in tokens and word[cut:] in tokens
    ]
    vocabulary = Vocabulary(tokens, tuple(splits), {})
    assert unlike_ranks(vocabulary, ignore_merges=True) == ""
    for _ in range(30):
        data = bytes(chance.choices(b"ab", k=chance.randint(1, 9)))
        assert by_pairs(data, splits) == by_ranks(data, tokens)


def test_an_exception_by_hand() -> None:
    """`ab` and `bc` rank above `abc`: lower ranks leave three parts of it, all ranks form it from ab + c."""
    tokens = {b"a": 0, b"b": 1, b"c": 2, b"abc": 3, b"ab": 4, b"bc": 5}
    found = recover(Vocabulary(tokens, None, {}))
    assert found.exceptions == (b"abc",) and found.whole == ()
    assert found.pairs == ((b"ab", b"c"), (b"a", b"b"), (b"b", b"c"))
    assert last_merge(b"abc", tokens) == (b"ab", b"c")


def test_the_leftmost_of_two_merges_by_hand() -> None:
    """`aaa` ranks below `aa`: its bytes are aa + a, since of two merges of one rank the left one is made."""
    tokens = {b"a": 0, b"aaa": 1, b"aa": 2}
    assert last_merge(b"aaa", tokens) == (b"aa", b"a")
    assert recover(Vocabulary(tokens, None, {})).pairs == ((b"aa", b"a"), (b"a", b"a"))


def test_a_token_that_nothing_forms() -> None:
    tokens = {b"a": 0, b"b": 1, b"aba": 2}
    found = recover(Vocabulary(tokens, None, {}))
    assert found.whole == (b"aba",) and found.pairs == ()
    with pytest.raises(KeyError):
        last_merge(b"aba", tokens)


@pytest.mark.parametrize(
    ("merges", "ignore", "told"),
    [
        (((b"a", b"b"), (b"ab", b"a")), False, ""),
        (((b"ab", b"a"), (b"a", b"b")), False, "merge 1"),
        (((b"a", b"b"),), False, "which is not listed"),
        (((b"a", b"b"), (b"a", b"ba")), False, "ranks merge (b'ab', b'a')"),
    ],
)
def test_lists_that_are_not_the_ranks(merges: tuple[tuple[bytes, bytes], ...], ignore: bool, told: str) -> None:
    tokens = {b"a": 0, b"b": 1, b"ab": 2, b"aba": 3} | ({b"ba": 4} if (b"a", b"ba") in merges else {})
    assert told in unlike_ranks(Vocabulary(tokens, merges, {}), ignore) and bool(told) == bool(
        unlike_ranks(Vocabulary(tokens, merges, {}), ignore)
    )


def test_whole_pieces_need_ignore_merges() -> None:
    vocabulary = Vocabulary({b"a": 0, b"b": 1, b"aba": 2}, (), {})
    assert "formed by no merging" in unlike_ranks(vocabulary, ignore_merges=False)
    assert unlike_ranks(vocabulary, ignore_merges=True) == ""


def test_gaps() -> None:
    assert gaps({0, 1, 4, 6}) == [[2, 3], [5, 5]] and gaps(set()) == [] and gaps({0}) == []


# -- whole files --------------------------------------------------------------------------------------------

BYTES = [bytes([n]) for n in range(256)]
WORDS = [b"th", b"the", b" t", b" the", b"nthe", b"  ", b"    ", b"\xc3\xa9", b"<|"]
# `nthe` first would need `nth`: `ents` is formed by nothing, and is looked up whole.
RANKS = {token: number for number, token in enumerate([*BYTES, *WORDS, b"ents"])}
SPECIALS = {"<|end|>": 270, "<|im|>": 272}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A rank file with an id gap and a whole-piece token, its special tokens, and the corpora cut short."""
    lines = b"".join(b"%s %d\n" % (base64.b64encode(token), number) for token, number in RANKS.items())
    (tmp_path / "v.tiktoken").write_bytes(lines)
    (tmp_path / "v.specials.json").write_text(json.dumps(SPECIALS))
    texts = tmp_path / "texts.txt"
    texts.write_text("the ents of the  then\n    café the\nents\n<|end|>the<|im|> ents\nother\n", encoding="utf-8")
    monkeypatch.setattr(module, "CORPORA", (f"{texts}@lines",))
    return tmp_path


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    def run(*words: object) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main(["vocab", "convert", *[str(word) for word in words]])
        out, err = capsys.readouterr()
        return int(stop.value.code or 0), out, err

    return run


def make(cli: Cli, files: Path, kind: str, name: str) -> dict[str, Any]:
    words = (files / "v.tiktoken", "--pattern", "gpt2", "--specials", files / "v.specials.json", "--to", kind)
    code, out, err = cli(*words, "--out", files / name, "--json")
    assert code == 0, err or out
    report: dict[str, Any] = json.loads(out)
    return report


def test_ranks_to_json_and_back(cli: Cli, files: Path) -> None:
    report = make(cli, files, "tokenizer.json", "v.json")
    assert report["proved"] and report["digest_before"] == report["digest_after"]
    assert (report["tokens"], report["exceptions"], report["whole_piece_tokens"]) == (266, 1, 1)
    assert report["gaps"] == [[266, 269], [271, 271]]
    assert [row["source"].split()[0] for row in report["compared"]] == ["tiktoken", "tiktoken"]
    assert [row["target"].split()[0] for row in report["compared"]] == ["tokenizers", "tokenizers"]
    code, out, _ = cli(files / "v.json", "--to", "tiktoken", "--out", files / "back.tiktoken")
    assert code == 0 and "proved equal" in out and report["digest_before"] in out
    assert (files / "back.tiktoken").read_bytes() == (files / "v.tiktoken").read_bytes()
    assert json.loads((files / "back.tiktoken.specials.json").read_text()) == SPECIALS


def test_the_libraries_read_what_was_written(cli: Cli, files: Path) -> None:
    """Not by our comparison: both libraries, called here, on a text of this test."""
    make(cli, files, "tokenizer.json", "v.json")
    pattern = load_vocabulary("gpt2").contract.pretokenizer[0]
    ranks = tiktoken.Encoding("t", pat_str=pattern, mergeable_ranks=RANKS, special_tokens=SPECIALS)
    library = tokenizers.Tokenizer.from_file(str(files / "v.json"))
    for text in ("the other ents", "ents", "a<|im|>b<|end|>", "    then\u00e9"):
        assert library.encode(text).ids == ranks.encode(text, allowed_special="all")
    assert library.encode("ents").ids == [RANKS[b"ents"]]  # by whole-piece look-up alone
    assert library.token_to_id("<|im|>") == 272 and library.id_to_token(271) is None


def test_a_profile_is_held_to_the_library_of_its_source(cli: Cli, files: Path) -> None:
    report = make(cli, files, "profile", "v.profile")
    assert report["proved"] and "dat-bpe" in report["compared"][0]["target"]


@pytest.mark.parametrize("fault", ["a merge left out", "an id moved", "a special token left out", "no whole pieces"])
def test_a_fault_of_the_writer_is_caught_and_nothing_is_written(
    fault: str, cli: Cli, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file that is made is wrong: the proof says so, and the file does not come to its place."""
    real = module.tokenizer_json

    def spoiled(*arguments: Any) -> bytes:
        root = json.loads(real(*arguments))
        if fault == "a merge left out":
            root["model"]["merges"].remove("t h")
        elif fault == "an id moved":
            root["model"]["vocab"]["th"], root["model"]["vocab"]["the"] = 257, 256
        elif fault == "a special token left out":
            root["added_tokens"].pop()
        else:
            root["model"]["ignore_merges"] = False
        return json.dumps(root).encode()

    monkeypatch.setattr(module, "tokenizer_json", spoiled)
    words = (files / "v.tiktoken", "--pattern", "gpt2", "--specials", files / "v.specials.json")
    code, out, err = cli(*words, "--to", "tokenizer.json", "--out", files / "v.json")
    assert (code == 1 and "NOT proved equal: nothing was written" in out) or (code == 2 and err)
    assert not (files / "v.json").exists()


def test_ids_are_compared_beyond_the_digest(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that reads the same file otherwise is seen, though all digests are equal."""
    real = module.HostReader.encode

    def deaf(self: Any, block: Any) -> Any:
        output = real(self, block)
        if self.name.startswith("tokenizers"):
            output.values[-1] += 1
        return output

    monkeypatch.setattr(module.HostReader, "encode", deaf)
    done = convert(str(files / "v.tiktoken"), "tokenizer.json", files / "v.json", pattern="gpt2", specials=SPECIALS)
    assert done.digests_equal and done.contracts_equal and not done.proved
    assert done.compared[0].differ == 1 and "other" in done.compared[0].first
    assert not (files / "v.json").exists()


def test_a_normalizer_and_tokens_that_are_not_special_are_named(cli: Cli, files: Path) -> None:
    make(cli, files, "tokenizer.json", "v.json")
    root = json.loads((files / "v.json").read_text(encoding="utf-8"))
    root["normalizer"] = {"type": "NFC"}
    root["added_tokens"][0] |= {"special": False, "normalized": False}
    (files / "n.json").write_text(json.dumps(root), encoding="utf-8")
    code, out, _ = cli(files / "n.json", "--to", "tiktoken", "--out", files / "n.tiktoken")
    assert code == 0, out
    for told in ("normalizer: nfc", "added tokens: 1 are not special", "pattern: a rank file has none"):
        assert told in out


def refused(cli: Cli, files: Path, source: object, kind: str, *told: str) -> None:
    code, _, err = cli(source, "--to", kind, "--out", files / "no")
    assert code == 2 and all(word in err for word in told), err
    assert not (files / "no").exists()


def changed(files: Path, name: str, **parts: Any) -> Path:
    root = json.loads((files / "v.json").read_text(encoding="utf-8"))
    for key, value in parts.items():
        root[key] = value(root[key]) if callable(value) else value
    path = files / name
    path.write_text(json.dumps(root), encoding="utf-8")
    return path


def test_what_a_format_cannot_hold_is_refused_by_name(cli: Cli, files: Path) -> None:
    make(cli, files, "tokenizer.json", "v.json")
    flagged = changed(files, "a.json", added_tokens=lambda rows: [{**rows[0], "lstrip": True}, *rows[1:]])
    refused(cli, files, flagged, "tiktoken", "'<|end|>' (270) has flags (lstrip)")
    turned = [json.loads((files / "v.json").read_text(encoding="utf-8"))["model"]["merges"][at] for at in (1, 0)]
    other = changed(files, "c.json", model=lambda model: {**model, "merges": [*turned, *model["merges"][2:]]})
    refused(cli, files, other, "tiktoken", "merges are not those of its ids as ranks: merge")
    splits = {"type": "Split", "pattern": {"Regex": r"\p{N}"}, "behavior": "Isolated", "invert": False}
    twice = changed(files, "d.json", pre_tokenizer=lambda last: {"type": "Sequence", "pretokenizers": [splits, last]})
    refused(cli, files, twice, "tiktoken", "one expression, this by 2")
    shared = {**SPECIALS, "<|again|>": 270}  # as o200k_harmony has
    with pytest.raises(InputError, match="share id 270"):
        convert(str(files / "v.tiktoken"), "tokenizer.json", files / "no", pattern="gpt2", specials=shared)
    opaque = changed(files, "e.json", model={"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"})
    refused(cli, files, opaque, "tiktoken", "WordLevel")
    refused(cli, files, files / "v.json", "gguf", "--to", "tiktoken | tokenizer.json | profile")


def test_a_file_is_not_replaced_unasked(cli: Cli, files: Path) -> None:
    (files / "v.json").write_text("mine")
    words = (files / "v.tiktoken", "--pattern", "gpt2", "--to", "tokenizer.json", "--out", files / "v.json")
    code, _, err = cli(*words)
    assert code == 2 and "--replace" in err and (files / "v.json").read_text() == "mine"
    assert cli(*words, "--replace")[0] == 0 and (files / "v.json").read_text() != "mine"


def test_nothing_compared_is_nothing_proved(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (files / "empty.txt").write_text("\n")
    monkeypatch.setattr(module, "CORPORA", (f"{files / 'empty.txt'}@lines",))
    done = convert(str(files / "v.tiktoken"), "tokenizer.json", files / "v.json", pattern="gpt2")
    assert done.digests_equal and not done.proved and not (files / "v.json").exists()


def test_gpt2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole published vocabulary; docs/GUARD.md has the larger ones, both ways."""
    monkeypatch.setattr(module, "CORPORA", ("repeats",))
    there = convert("gpt2", "tokenizer.json", tmp_path / "gpt2.json")
    assert there.proved and there.facts["merges_recovered"] == 50_000 and there.facts["exceptions"] == 0
    assert load_vocabulary(tmp_path / "gpt2.json").contract.core_digest == load_vocabulary("gpt2").contract.core_digest
