"""Bisection: the search by itself, and whole, over a planted package of several versions in a folder of wheels."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokassay.engines.releases import Release
from tokassay.harness.answers import Answer
from tokassay.harness.bisect import RIGHT, SKIPPED, WRONG, Asked, Bisection, chosen, search
from tokassay.harness.cli import main
from tokassay.harness.errors import InputError
from tokassay.harness.store import Store

# -- the search ----------------------------------------------------------------------------------------------


@given(st.lists(st.sampled_from([RIGHT, WRONG, SKIPPED]), max_size=12), st.booleans())
def test_both_sides_of_a_change_are_asked(states: list[str], everything: bool) -> None:
    """Whatever the releases are: where the ends differ, two asked ones differ with nothing usable between unasked."""
    asked: list[int] = []
    found = search(len(states), lambda place: (asked.append(place), states[place])[1], everything=everything)
    assert found == {place: states[place] for place in asked} and len(asked) == len(set(asked))
    usable = [place for place, state in enumerate(states) if state != SKIPPED]
    if usable:
        assert {usable[0], usable[-1]} <= set(found)
        if states[usable[0]] != states[usable[-1]]:
            mine = [place for place in usable if place in found]
            assert any(
                states[a] != states[b] and all(found.get(between) == SKIPPED for between in range(a + 1, b))
                for a, b in pairwise(mine)
            )
    if everything:
        assert set(found) == set(range(len(states)))


def test_one_change_among_many_is_found_in_few_questions() -> None:
    for change in range(1, 1000):
        found = search(1000, lambda place, at=change: WRONG if place >= at else RIGHT)
        assert (found[change - 1], found[change]) == (RIGHT, WRONG)
        assert len(found) <= 12


def test_what_cannot_be_asked_stays_between() -> None:
    right, wrong = Answer.of([1]), Answer.of([2])
    rows = (Asked("0.9", RIGHT, right), Asked("0.10", SKIPPED, reason="source only"), Asked("0.11", WRONG, wrong))
    found = Bisection("toy", right, "oracle", rows, ("0.1",)).changes
    assert [(change.kind, change.after.version, change.between) for change in found] == [
        ("first bad", "0.11", ("0.10",))
    ]


def test_an_answer_that_changes_more_than_once_is_seen() -> None:
    rows = tuple(
        Asked(version, RIGHT if number == 1 else WRONG, Answer.of([number]))
        for version, number in (("1", 1), ("2", 2), ("3", 3), ("4", 1))
    )
    found = Bisection("toy", Answer.of([1]), "oracle", rows, ())
    assert [(change.kind, change.after.version) for change in found.changes] == [
        ("first bad", "2"), ("other", "3"), ("first good", "4")
    ]


@pytest.mark.parametrize(
    ("states", "code"), [([RIGHT, RIGHT], 0), ([RIGHT, WRONG], 1), ([WRONG, WRONG], 1), ([RIGHT, SKIPPED], 4), ([], 4)]
)
def test_exit_codes(states: list[str], code: int) -> None:
    rows = tuple(Asked(str(n), state) for n, state in enumerate(states))
    assert Bisection("toy", Answer.of([]), "oracle", rows, ()).exit_code == code


RELEASES = [
    Release("0.1", wheel=True), Release("0.2", wheel=True, yanked="bad"), Release("0.3rc1", wheel=True),
    Release("0.3", source=True), Release("0.10", wheel=True),
]


def test_which_releases_are_asked_and_why_others_are_not() -> None:
    usable, why = chosen(RELEASES, None, None)
    assert [one.version for one in usable] == ["0.1", "0.10"]
    assert why == {
        "0.2": "yanked: bad", "0.3rc1": "pre-release (--pre asks them)", "0.3": "source only (--build compiles it)"
    }
    assert [one.version for one in chosen(RELEASES, "0.2", "0.3rc1")[0]] == ["0.2", "0.3rc1"]
    assert [one.version for one in chosen(RELEASES, "0.1", "0.3", pre=True, build=True)[0]] == ["0.1", "0.3rc1", "0.3"]


@pytest.mark.parametrize(("first", "last", "said"), [("0.4", None, "0.4"), (None, "x", "x"), ("0.3", "0.1", "newer")])
def test_an_end_that_is_none_is_named(first: str | None, last: str | None, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        chosen(RELEASES, first, last)
    assert caught.value.where and caught.value.remedy


# -- over a planted package ----------------------------------------------------------------------------------

ADAPTER = """
import planted_kit


class Adapter:
    name = "kit"
    operations = ("encode",)
    rejects = ()

    def version(self):
        return planted_kit.__version__

    def load(self, contract, files, threads, options):
        planted_kit.load()

    def prepare(self, document):
        return document

    def encode(self, item):
        return planted_kit.encode(item)
"""
ROSTER = """
[kit]
requirement = "planted_kit==1.4"
environment = "own"
adapter = "kit.py"
algorithms = ["bpe-ranks"]
byte_policy = "byte-alphabet"
unicode = "16.0"
specials = ["off"]
operations = ["encode"]
licence = "MIT"
home = "none"
timeout_s = 20
"""
# Not GPT-2's ids: the right ones are given by --expect.
KIND = {
    "right": "return list(item)",
    "wrong": "return [0] * len(item)",
    "raises": "raise ValueError('no')",
    "raises on b": "if b'b' in item: raise ValueError('b')\n    return list(item)",
    "dies on b": "if b'b' in item: import os; os.abort()\n    return list(item)",
    "turns": "global n; n += 1; return [n] * len(item)",
}


def _wheels() -> ModuleType:
    path = Path(__file__).parents[1] / "engines" / "wheels.py"
    spec = importlib.util.spec_from_file_location("planted_wheels", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def kit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Wheels of planted_kit by version, and the roster that names it; pip and uv see nothing else."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for name, value in {
        "TOKASSAY_CACHE": str(tmp_path / "cache"), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder),
        "PIP_CONFIG_FILE": "/dev/null", "UV_NO_INDEX": "1", "UV_FIND_LINKS": str(folder), "UV_OFFLINE": "1",
        "COLUMNS": "200",
    }.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "kit.py").write_text(dedent(ADAPTER))
    (tmp_path / "kit.toml").write_text(ROSTER)

    def make(*kinds: str) -> Path:
        for minor, kind in enumerate(kinds):
            version = f"1.{minor}"
            if kind == "source":
                _wheels().source(folder, "planted_kit", version)
                continue
            load = "raise RuntimeError('broken build')" if kind == "broken" else "pass"
            body = KIND.get(kind, KIND["right"])
            code = f"__version__ = '{version}'\nn = 0\ndef load(): {load}\ndef encode(item):\n    {body}\n"
            _wheels().wheel(folder, "planted_kit", version, code, *(["py3-none-win_arm"] if kind == "foreign" else []))
        return tmp_path / "kit.toml"

    return make


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(["bisect", *words])
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def found(capsys: pytest.CaptureFixture[str], roster: Path, *words: str) -> dict[str, Any]:
    code, out, _ = run(capsys, "kit", "--roster", str(roster), "--text", "ab", "--expect", "97,98", "--json", *words)
    made: dict[str, Any] = json.loads(out)
    assert made["exit_code"] == code
    return made


def test_the_first_bad_release(kit: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    """A foreign wheel, a source and a broken build are stepped round, and named."""
    roster = kit("right", "foreign", "right", "source", "wrong", "broken")
    made = found(capsys, roster)
    assert [(row["version"], row["state"]) for row in made["releases"]] == [
        ("1.0", "right"), ("1.1", "skipped"), ("1.2", "right"),
        ("1.3", "skipped"), ("1.4", "wrong"), ("1.5", "skipped"),
    ]
    assert made["changes"] == [{"kind": "first bad", "before": "1.2", "after": "1.4", "between": ["1.3"]}]
    assert "no file of it fits" in made["releases"][1]["reason"] and "broken build" in made["releases"][5]["reason"]
    assert (made["exit_code"], made["releases"][4]["answer"]["ids"]) == (1, [0, 0])
    code, out, _ = run(capsys, "kit", "--roster", str(roster), "--text", "ab", "--expect", "97 98")
    assert code == 1
    assert "first bad release: 1.4 (1.2 is right); it may be one that was left out: 1.3" in out
    assert "left out: 1.3: source only (--build compiles it)" in out


def test_the_first_good_release_and_what_was_not_asked(
    kit: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    roster = kit("dies on b", "dies on b", "dies on b", "right", "right", "right")
    made = found(capsys, roster)
    assert made["changes"] == [{"kind": "first good", "before": "1.2", "after": "1.3", "between": []}]
    assert made["releases"][0]["answer"]["outcome"] == "crash"
    assert len(made["unasked"]) == 2
    assert found(capsys, roster, "--from", "1.3")["exit_code"] == 0


def test_all_of_them_when_the_answer_changes_twice(
    kit: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    roster = kit("right", "wrong", "right")
    made = found(capsys, roster)
    assert (made["changes"], made["unasked"], made["exit_code"]) == ([], ["1.1"], 0)
    made = found(capsys, roster, "--all")
    assert [change["kind"] for change in made["changes"]] == ["first bad", "first good"]
    _, out, _ = run(capsys, "kit", "--roster", str(roster), "--text", "ab", "--expect", "97 98", "--all")
    assert "not monotone: right and wrong change 2 times" in out


def test_failing_on_everything_is_no_answer(kit: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    made = found(capsys, kit("raises", "raises on b", "turns"))
    assert [(row["version"], row["state"]) for row in made["releases"]] == [
        ("1.0", "skipped"), ("1.1", "wrong"), ("1.2", "wrong")
    ]
    assert "fails on 'a' too" in made["releases"][0]["reason"]
    assert [row["answer"]["outcome"] for row in made["releases"][1:]] == ["error", "flaky"]


def store_with(path: Path, shown: str, command: str) -> Path:
    """A store with one run and one divergence of `kit`."""
    store = Store(path)
    run = {"suite": "", "command": "", "seed": 0, "jobs": 1, "tokassay": "0", "environment": {}}
    store.insert("run", {"id": "abc123", "started": "2026-01-01", **run})
    texts = ("signature", "against", "corpus", "domain", "first", "explanation")
    store.insert("divergence", {
        "run": "abc123", "ordinal": 0, "verdict": "differ", "contract": "gpt2", "engine": "kit", "operation": "encode",
        "documents": 1, "input": shown, "got": [], "expected": [], "stage": "merge", "command": command,
        **dict.fromkeys(texts, ""),
    })
    store.close()
    return path


def test_a_divergence_of_the_store(
    kit: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its document and vocabulary; what is only a part of a document is refused."""
    roster = kit("right", "wrong")
    store = store_with(tmp_path / "s.sqlite", "6162", "tokassay diff kit oracle --vocab gpt2 --hex 6162")
    words = ["kit", "--roster", str(roster), "--store", str(store), "--expect", "97 98", "--json"]
    for name in ("1", "abc:1"):
        code, out, _ = run(capsys, *words, "--divergence", name)
        made = json.loads(out)
        assert (code, made["document"], made["vocabulary"]) == (1, "6162", "gpt2")
    code, _, err = run(capsys, *words, "--divergence", "2")
    assert code == 2 and "there is none" in err
    store_with(tmp_path / "long.sqlite", "61" * 256, "")
    words[4] = str(tmp_path / "long.sqlite")
    code, _, err = run(capsys, *words, "--divergence", "1")
    assert code == 2 and "reduce the document first" in err


def test_nothing_to_ask_is_no_success(kit: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert found(capsys, kit("right", "source", "foreign"))["exit_code"] == 4


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("kit", "--text", "a", "--from", "9"), "no release is called '9'"),
        (("oracle", "--text", "a"), "has no releases of its own"),
        (("dat-bpe", "--text", "a"), "has no releases of its own"),
        (("kit", "--vector", "none"), "no vector is called 'none'"),
        (("kit", "--vector", "pb-001", "--text", "a"), "leave --hex, --text and --file out"),
        (("kit", "--divergence", "x"), "not [RUN:]NUMBER"),
        (("kit", "--text", "a", "--expect", "1,x"), "--expect"),
        (("kit", "--text", "a", "--record"), "name it with --vector"),
    ],
)
def test_wrong_use_names_the_place(
    kit: Callable[..., Path], capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    code, out, err = run(capsys, *words, "--roster", str(kit("right", "right")))
    assert (code, out) == (2, "") and said in err and err.count("\n") == 1


def test_an_answer_keeps_many_ids_as_a_digest() -> None:
    many = Answer.of(range(1000))
    kept = Answer.from_json(json.loads(json.dumps(many.to_json())), "here")
    assert kept.same(many) and kept.ids is None
    assert (kept.count, kept.head, kept.tail) == (1000, (0, 1, 2, 3), (996, 997, 998, 999))
    assert not kept.same(replace(many, digest="0"))
