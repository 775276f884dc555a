"""Which vocabulary a file holds, over formats: digests by an independent reading, what is alike, what a name says."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tokassay.corpora.catalogue import catalogue
from tokassay.harness import identity_table, known
from tokassay.harness.alphabet import to_alphabet
from tokassay.harness.cli import main
from tokassay.harness.identity import alike, described, identities, identity_of, mislabelled
from tokassay.harness.load import Loaded, load_vocabulary
from tokassay.harness.vocabulary import derive_pairs

FOLDER = known.vocabulary_folder()
EMBEDDED = [each.name for each in known.encodings() if each.file]


def ranks(path: Path) -> dict[bytes, int]:
    """A rank file, read here and not by the harness."""
    return {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, path.read_bytes().splitlines())}


def of(text: str) -> str:
    return sha256(text.encode("ascii")).hexdigest()


@pytest.mark.parametrize("name", EMBEDDED)
def test_the_table_says_what_the_embedded_files_hold(name: str) -> None:
    assert identity_table.derive([name]) == {name: identities()[name]}


def test_the_table_is_of_all_known_encodings_whose_tokens_are_known() -> None:
    """None is left out but those that are opaque: none is."""
    assert set(identities()) == {each.name for each in known.encodings()}


def test_digests_by_the_definition() -> None:
    table = ranks(FOLDER / "r50k_base.tiktoken")
    rows = sorted((number, token) for token, number in table.items())
    listed = identities()["gpt2"]
    assert listed.tokens == of("".join(f"{number} {token.hex()}\n" for number, token in rows))
    assert listed.specials == of(f"50256 {b'<|endoftext|>'.hex()}\n")
    assert (listed.count, listed.special_count) == (50256, 1)
    order = ""
    for _, token in rows:
        cuts = [at for at in range(1, len(token)) if token[:at] in table and token[at:] in table]
        order += f"{token.hex()} {' '.join(map(str, cuts))}\n" if cuts else ""
    assert listed.order == of(order)


def write(path: Path, change: Callable[[dict[bytes, int]], object] | None = None) -> Path:
    table = ranks(FOLDER / "r50k_base.tiktoken")
    if change is not None:
        change(table)
    path.write_bytes(b"".join(b"%s %d\n" % (base64.b64encode(token), number) for token, number in table.items()))
    return path


def pair(folder: Path, *, swapped: bool = False) -> Path:
    """GPT-2 as vocab.bpe and encoder.json, with the ids as they are; `swapped`: two merges have changed places."""
    table = ranks(FOLDER / "r50k_base.tiktoken")
    merges = list(derive_pairs(table).pairs)
    if swapped:
        merges[0], merges[1] = merges[1], merges[0]
    lines = [f"{to_alphabet(left)} {to_alphabet(right)}" for left, right in merges]
    (folder / "vocab.bpe").write_text("\n".join(["#version: 0.2", *lines]) + "\n", encoding="utf-8")
    ids = {to_alphabet(token): number for token, number in table.items()} | {"<|endoftext|>": 50256}
    (folder / "encoder.json").write_text(json.dumps(ids), encoding="utf-8")
    return folder / "vocab.bpe"


def load(path: Path) -> Loaded:
    return load_vocabulary(path, pattern="gpt2")


def test_two_formats_of_one_vocabulary_are_one(tmp_path: Path) -> None:
    (found,) = alike(identity_of(load(pair(tmp_path))) or identities()["traps"])
    assert (found.name, found.order, found.specials) == ("gpt2", True, True)


def test_another_order_of_merges_is_said(tmp_path: Path) -> None:
    shown = described(load(pair(tmp_path, swapped=True)))
    assert shown["says"] == ["the same tokens as gpt2, in another order of merges, and the same special tokens"]
    assert [each["order"] for each in shown["alike"]] == [False]


def test_a_rank_file_has_no_special_tokens(tmp_path: Path) -> None:
    shown = described(load(write(tmp_path / "some.tiktoken")))
    assert shown["says"] == ["the same tokens and merges as gpt2, with 0 special tokens where that has 1"]
    assert (shown["known"], shown["mislabelled"]) == (True, None)


def swap(table: dict[bytes, int]) -> None:
    table[b" the"], table[b" of"] = table[b" of"], table[b" the"]


CHANGES = [swap, lambda table: table.pop(b" the"), lambda table: table.update({b" thezz": 50256})]


@pytest.mark.parametrize("change", CHANGES)
def test_one_token_makes_another_vocabulary(tmp_path: Path, change: Any) -> None:
    shown = described(load(write(tmp_path / "some.tiktoken", change)))
    assert (shown["known"], shown["says"]) == (False, ["no known vocabulary has these tokens"])


@pytest.mark.parametrize(
    ("name", "says"),
    [("cl100k_base.tiktoken", "cl100k_base"), ("my-Llama3.model", "llama3"), ("qwen2.tiktoken", "qwen"),
     ("gpt2.tiktoken", None), ("r50k.txt", None), ("ranks.tiktoken", None)],
)  # fmt: skip
def test_a_name_that_says_something_else(tmp_path: Path, name: str, says: str | None) -> None:
    loaded = load(write(tmp_path / name))
    identity = identity_of(loaded)
    assert identity is not None
    found = mislabelled(loaded, identity)
    assert (found[0] if found else None) == says


def test_an_unknown_vocabulary_is_not_called_mislabelled(tmp_path: Path) -> None:
    """Nothing is known of what it is, so nothing is said of its name."""
    assert described(load(write(tmp_path / "llama3.tiktoken", swap)))["mislabelled"] is None


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as caught:
        main(["vocab", *words])
    return int(caught.value.code or 0), capsys.readouterr().out


@pytest.mark.parametrize(("name", "change", "code"), [("a", None, 0), ("llama3", None, 1), ("a", swap, 4)])
def test_the_verb(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, change: Any, code: int) -> None:
    path = str(write(tmp_path / f"{name}.tiktoken", change))
    assert run(capsys, "identify", path)[0] == code
    got, out = run(capsys, "identify", "gpt2", path, "--json")
    shown = json.loads(out)
    assert (got, shown["exit_code"], len(shown["vocabularies"])) == (code, code, 2)
    assert shown["vocabularies"][0]["known"]


def test_a_wrong_name_is_said_in_one_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _, out = run(capsys, "identify", str(write(tmp_path / "llama3.tiktoken")))
    assert "its name says llama3 (llama3.tiktoken); its tokens and merges are those of gpt2" in out


def test_show_says_it_too(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run(capsys, "show", "o200k_base")
    assert code == 0
    assert "identity: the same tokens and merges as o200k_harmony, with 2 special tokens where that has 1,091" in out


def test_the_list_fits_eighty_columns(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out = run(capsys, "list")
    assert code == 0
    rows = {line.split()[0]: line for line in reversed(out.splitlines()) if line.strip()}
    for each in known.encodings():
        assert each.name in rows, "a name is never cut or folded"
        assert identities()[each.name].algorithm in rows[each.name]
    assert max(map(len, out.splitlines())) <= 88  # the two lines that explain signs may be longer


def test_no_file_of_a_licence_that_forbids_it_is_in_the_tree() -> None:
    """What is embedded is MIT by its catalogue entry, or was made here."""
    licences = {entry.slug: entry.licence for entry in catalogue()}
    for each in known.encodings():
        assert each.file is None or licences.get(each.catalog, "MIT") == "MIT"
        if "Llama" in licences.get(each.catalog, ""):
            assert each.file is None and each.merges is None


# ---- the real files (run by hand, or `nox -s network`)

# (a file, what it is like, and how: the same vocabulary; the same tokens and merges)
ALIKE = [
    ("mistral_v1_json", "mistral_v1", "the same vocabulary as mistral_v1"),
    ("mistral_v1", "mistral_v1_json", "the same vocabulary as mistral_v1_json"),
    ("moonshine", "llama2", "the same tokens and merges as llama2, with 771 special tokens where that has 3"),
    ("llama3_json", "llama3", "the same tokens and merges as llama3, with other special tokens"),
    ("tekken", "tekken_240718", "the same vocabulary as tekken_240718"),
    ("gptoss_json", "o200k_base", "the same tokens and merges as o200k_base, with 21 special tokens where that has 2"),
]
# The catalogue's notes: a file that is named after Llama 2 and holds Mistral's, one after Llama 3 that holds Llama 2's.
WRONG = {"mistral_v1_json": "llama2", "llama2": "llama3"}


@pytest.mark.network
@pytest.mark.parametrize("each", known.encodings(), ids=lambda each: str(each.name))
def test_the_table_says_what_the_files_hold(each: known.Encoding) -> None:
    fetched(each.name)
    assert identity_table.derive([each.name]) == {each.name: identities()[each.name]}
    label = described(load_vocabulary(each.name))["mislabelled"]
    assert label == WRONG.get(each.name)


def fetched(name: str) -> None:
    from tokassay.corpora.fetch import fetch_file, find_entry

    encoding = known.find(name)
    assert encoding is not None
    if encoding.catalog and not encoding.file:
        fetch_file(find_entry(encoding.catalog))


@pytest.mark.network
@pytest.mark.parametrize(("name", "other", "says"), ALIKE)
def test_one_vocabulary_in_two_formats(name: str, other: str, says: str) -> None:
    for each in (name, other):
        fetched(each)
    assert says in described(load_vocabulary(name))["says"]
