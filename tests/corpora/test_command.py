"""`tokassay corpora`: what it prints, and that wrong use is one line and exit code 2."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tokassay.harness import cli


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        cli.main(["corpora", *words])
    out, err = capsys.readouterr()
    return int(caught.value.code or 0), out, err


def test_list_names_sources_and_catalogue(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "list", "--json")
    found = json.loads(out)
    assert code == 0
    assert {"battery", "fuzz", "sample"} <= {row["name"] for row in found["sources"]}
    kjv = next(row for row in found["catalogue"] if row["name"] == "kjv")
    assert (kjv["here"], kjv["documents"], kjv["package"]) == (False, None, "debian: sword-text-kjv 14.3-1")
    code, out, _ = run(capsys, "list")
    assert code == 0
    assert "fetch 2.8" in out


def test_show_prints_documents_counts_and_digest(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "a\\nb"}\nnot json\n{"text": "\\u0897"}\n')
    code, out, _ = run(capsys, "show", str(path), "--limit", "1", "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["documents"], found["bytes"], found["longest"]) == (2, 6, 3)
    assert found["domains"] == {"neutral": 1, "unicode": 1, "bytes": 0}
    assert found["problems"] == {"not JSON": {"count": 1, "first": ["x.jsonl:2"]}}
    assert found["shown"] == [{"name": "x.jsonl:1", "bytes": 3, "domain": "neutral", "hex": "610a62", "reason": ""}]
    code, out, _ = run(capsys, "show", str(path))
    assert code == 0
    assert "'a\\nb'" in out
    assert "left out: 1 x not JSON, first at x.jsonl:2" in out


def test_show_gives_reasons_and_makes_vocabulary_corpora(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "show", "battery", "--limit", "1")
    assert code == 0
    assert "empty/empty  [neutral, 0 bytes]  no bytes, so no ids and no crash" in out
    code, out, _ = run(capsys, "show", "concat:4", "--json")
    assert (code, json.loads(out)["documents"]) == (0, 4)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("show", "batery"), "did you mean battery"),
        (("show", "./none.txt"), "check the path"),
        (("show", "kjv"), "tokassay corpora fetch kjv"),
        (("fetch", "battery"), "nothing to fetch"),
        (("fetch", "kjw"), "kjv"),
        (("fetch", "llama-3"), "tokassay corpora list"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert err.startswith("tokassay: ")
    assert said in err
    assert err.count("\n") == 1
