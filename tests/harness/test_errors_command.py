"""Bad input with `--json`: the object on standard output says what the line on standard error says."""

from __future__ import annotations

import json

import pytest
from tokassay.harness.cli import main

WRONG = (["diff", "no-such-engine", "oracle", "--text", "a"], ["bench", "--text", "nonsense"])


@pytest.mark.parametrize("words", WRONG, ids=["diff", "bench"])
def test_an_error_is_an_object_only_with_json(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as plain:
        main(words)
    out, err = capsys.readouterr()
    assert (plain.value.code, out) == (2, "")
    with pytest.raises(SystemExit) as told:
        main([*words, "--json"])
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert told.value.code == found["exit_code"] == 2
    assert found["schema"] == "tokassay.error/1"
    assert printed.err == err
    for field in ("error", "where", "remedy"):
        assert found[field] and found[field] in err
