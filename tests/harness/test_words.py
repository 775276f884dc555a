"""`tokassay corpora words`: against a plain count by the published expression, and by hand; nothing is too long."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
import regex
from tokassay.harness import cli
from tokassay.harness.load import load_vocabulary
from tokassay.harness.words import Words, by_pattern, by_vocabulary

# The GPT-2 release's pattern.
PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
SAMPLE = Path(__file__).parents[2] / "fixtures" / "sample"


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        cli.main(["corpora", "words", *words])
    out, err = capsys.readouterr()
    return int(caught.value.code or 0), out, err


def test_by_hand(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("the cat the\nthe " + "x" * 40)
    code, out, _ = run(capsys, str(path), "--json")
    found = json.loads(out)
    assert code == 0
    # `the` x 2, ` cat`, ` the`, and ` xxx...` of 41 bytes, which a counter of words up to 15 bytes would leave out.
    assert (found["total"], found["distinct"], found["singletons"], found["longest"]) == (5, 4, 3, 41)
    assert (found["documents"], found["bytes"], found["suggested_vocabulary"]) == (2, 55, 260)
    assert found["lengths"] == [
        {"from": 3, "to": 3, "total": 2, "distinct": 1}, {"from": 4, "to": 4, "total": 2, "distinct": 2},
        {"from": 32, "to": 63, "total": 1, "distinct": 1},
    ]
    assert found["top"][0] == {"hex": b"the".hex(), "count": 2}
    assert (found["pretokenizer"], found["left_out"]) == ("gpt2", {})
    code, out, _ = run(capsys, str(path), "--top", "1")
    assert code == 0
    assert out.splitlines()[0].split() == ["2", "'the'"]
    assert "5 words, 4 distinct, 3 singletons, longest 41 bytes" in out
    assert out.splitlines()[-1] == "suggested vocabulary: 260 (256 bytes + distinct words)"


def test_real_text_against_the_published_expression(capsys: pytest.CaptureFixture[str]) -> None:
    """Two files at once; every count from `regex` and a Counter."""
    paths = [SAMPLE / "udhr.txt", SAMPLE / "python.txt"]
    plain = Counter(word for path in paths for word in regex.findall(PATTERN, path.read_bytes().decode()))
    right = {word.encode(): count for word, count in plain.items()}
    code, out, _ = run(capsys, *(f"{path}@files" for path in paths), "--top", "3", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["total"] == sum(right.values())
    assert found["distinct"] == len(right) == found["suggested_vocabulary"] - 256
    assert found["singletons"] == sum(count == 1 for count in right.values())
    assert found["bytes"] == sum(path.stat().st_size for path in paths)
    assert found["longest"] == max(map(len, right)) > 15
    heads = sorted(right.items(), key=lambda item: (-item[1], item[0]))[:3]
    assert found["top"] == [{"hex": word.hex(), "count": count} for word, count in heads]
    for row in found["lengths"]:
        inside = [count for word, count in right.items() if row["from"] <= len(word) <= row["to"]]
        assert (row["total"], row["distinct"]) == (sum(inside), len(inside))
    assert sum(row["total"] for row in found["lengths"]) == found["total"]


def test_every_byte_is_in_a_word() -> None:
    """Any bytes are a document, and none is lost."""
    document = bytes(range(256)) * 3 + b"\xff" * 100 + b"word " * 3
    words = Words()
    words.add(document, by_pattern([PATTERN], "test"))
    assert sum(len(word) * count for word, count in words.counts.items()) == words.size == len(document)


def test_a_vocabulary_s_own_pretokenizer() -> None:
    """cl100k parts digits by threes, GPT-2 does not."""
    for name, right in (("cl100k", [b"123", b"456"]), ("gpt2", [b"123456"])):
        assert list(by_vocabulary(load_vocabulary(name))(b"123456")) == right


def test_text_that_is_changed_before_it_is_split(tmp_path: Path) -> None:
    """NFC goes before the pretokenizer: the oracle, which has it, gives the pieces."""
    printed = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printed]
    names = [chr(byte) for byte in printed] + [chr(256 + place) for place in range(len(others))]
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({
        "normalizer": {"type": "NFC"}, "added_tokens": [],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
        "model": {"type": "BPE", "vocab": {name: number for number, name in enumerate(names)}, "merges": []},
    }))
    loaded = load_vocabulary(path)
    assert loaded.contract.normalizer == "nfc"
    assert list(by_vocabulary(loaded)("e\u0301 x".encode())) == ["e\u0301".encode(), b" x"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("samle",), "did you mean sample"),
        (("./none.txt",), "check the path"),
        (("sample", "--pattern", "gtp2"), "no pattern is called"),
        (("sample", "--pattern", "(?<=(a|b)+)c"), "is not supported"),
        (("sample", "--pattern", "gpt2", "--vocab", "gpt2"), "give one of the two"),
        (("sample", "--vocab", "gpt2@greedy-longest"), "no pretokenizer"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert err.startswith("tokassay: ") and said in err and err.count("\n") == 1


def test_nothing_to_count_is_exit_code_4(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "empty.txt"
    path.write_bytes(b"")
    code, out, err = run(capsys, str(path), "--json")
    assert (code, json.loads(out)["total"], err) == (4, 0, "tokassay: there was nothing to count\n")


def test_lines_that_cannot_be_read_are_counted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "a b"}\nnot json\n')
    code, out, _ = run(capsys, str(path))
    assert code == 0
    assert out.splitlines()[-1] == "left out: 1 x not JSON"
