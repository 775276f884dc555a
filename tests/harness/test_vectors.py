"""Vectors: read, written, held to engines; a known divergence fires when it heals; scripts for an engine's authors."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tokassay.engines.roster import load_roster
from tokassay.harness import probe, vector_check, vector_table, vectors
from tokassay.harness.answers import Answer
from tokassay.harness.cli import main
from tokassay.harness.errors import InputError
from tokassay.harness.load import load_vocabulary
from tokassay.harness.probe import Probed
from tokassay.harness.vectors import Recorded, Vector

# Gives what the file beside it says for a document, else its bytes; a list of one word is raised or done.
ADAPTER = '''
import json
import os
from pathlib import Path

ANSWERS = json.loads(Path(__file__).with_name("answers.json").read_text())


class Adapter:
    name = "planted"
    operations = ("encode", "decode_stream")
    rejects = (UnicodeDecodeError,)

    def version(self):
        return ANSWERS["version"]

    def load(self, contract, files, threads, options):
        pass

    def prepare(self, document):
        document.decode()
        return document

    def encode(self, item):
        given = ANSWERS.get(item.hex(), list(item))
        if given == "dies":
            os.abort()
        if given == "raises":
            raise ValueError("no")
        return given

    def decode_stream(self, ids):
        return bytes(ids)[: ANSWERS.get("length")]
'''
ROSTER = """
[planted]
requirement = "planted==VERSION"
environment = "project"
adapter = "planted.py"
algorithms = ["bpe-ranks"]
byte_policy = "reject"
unicode = "16.0"
specials = ["off"]
operations = ["encode", "decode_stream"]
licence = "MIT"
home = "none"
timeout_s = 30

[planted.reproduce]
imports = "import json"
load = "given = json.loads('[16, 17]')"
encode = "given"
decode_stream = "bytes(IDS)[:1]"
"""
TWO_DIGITS = Vector(
    "two-digits", "gpt2", Answer.of([1065]), input_hex="3132", rule="GPT-2 does not split numbers: all digits",
    source="its pattern", stage="pretokenize", flags=("digits",), title="digits are split",
    engines=(Recorded("planted", "1.0", Answer.of([16, 17])),),
)


@pytest.fixture
def planted(tmp_path: Path) -> Callable[..., list[str]]:
    """The options for a roster with the engine `planted`, giving these ids, and for a file of vectors."""

    def make(version: str, *held: Vector, **answers: Any) -> list[str]:
        (tmp_path / "planted.py").write_text(ADAPTER)
        (tmp_path / "roster.toml").write_text(ROSTER.replace("VERSION", version))
        (tmp_path / "answers.json").write_text(json.dumps({"version": version, **answers}))
        vectors.VectorFile(tmp_path / "own.json", held or (TWO_DIGITS,), {"about": "a test's"}).save()
        return ["--roster", str(tmp_path / "roster.toml"), "--file", str(tmp_path / "own.json")]

    return make


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(["vectors", *words])
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


# -- files ---------------------------------------------------------------------------------------------------


def test_what_is_written_is_read(tmp_path: Path) -> None:
    rows = (
        TWO_DIGITS,
        Vector("long", "gpt2", Answer.of(range(1000)), repeat=("5e", 4000), level="declared", spans=((0, 4),)),
        Vector("no", "gpt2", Answer("reject"), input_hex="ff", contract={"byte_policy": "reject"}, level="must-not"),
    )
    file = vectors.VectorFile(tmp_path / "v.json", rows, {"about": "é"})
    file.save()
    read = vectors.load(tmp_path / "v.json")
    assert [one.to_json() for one in read.vectors] == [one.to_json() for one in rows]
    assert (read.head, read.text()) == ({"about": "é"}, file.text())
    assert [one.document for one in read.vectors] == [b"12", b"^" * 4000, b"\xff"]
    assert all(mine.answer.same(other.answer) for mine, other in zip(read.vectors, rows, strict=True))


def test_all_that_comes_with_the_package_is_read() -> None:
    """Files of schema 1 too: what is rejected is `must-not`, what names a byte policy is `declared`."""
    held = {one.id: one for file in vectors.load_all() for one in file.vectors}
    assert (held["pb-122-reject"].level, held["pb-122-replace"].level, held["pb-001"].level) == (
        "must-not", "declared", "must"
    )
    wrong = [(one, row) for one in held.values() for row in one.engines if not one.right(row.answer)]
    known = [one for one, row in wrong if not row.like]
    assert len(known) >= 9
    assert [one.id for one in known if not (one.rule and one.source and one.stage and one.title)] == []
    causes = {(one.id, row.engine) for one, row in wrong if not row.like}
    assert [one.id for one in held.values() for row in one.engines if row.like and one.right(row.answer)] == []
    assert [(one.id, row.engine) for one, row in wrong if row.like and (row.like, row.engine) not in causes] == []


def test_the_oracle_gives_the_ids_of_vectors_of_other_vocabularies() -> None:
    """Those whose vocabulary is a file of theirs, or another algorithm; one is of a model that no oracle has."""
    embedded = {"gpt2", "cl100k_base", "o200k_base"}
    held = [file for file in vectors.load_all() if file.path.name != "published.json"]  # those have to be fetched
    others = [one for file in held for one in file.vectors if one.vocabulary not in embedded]
    rows = vector_check.check(others, ["oracle"], load_roster())
    assert {row.vector.id: row.verdict for row in rows} == {
        "piece-that-merging-does-not-make": vector_check.MATCH, "gpt2-greedy-space-and-letter": vector_check.MATCH,
        "space-put-before-bert": vector_check.UNSUPPORTED,
        **{
            f"pieces-{name}": vector_check.MATCH
            for name in (
                "tie-of-letters", "tie-of-dots", "odd-run", "leading-space", "run-of-spaces", "byte-fallback", "nul",
                "ill-formed-byte", "unigram-bytes",
            )
        },
        "wordpiece-punctuation-together": vector_check.MATCH, "wordpiece-accent-kept": vector_check.MATCH,
        "wordpiece-delete-first": vector_check.MATCH,
    }


ROW = {"id": "a", "vocabulary": "gpt2", "input_hex": "61", "ids": [64]}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"id": ""}, '`id` is ""'), ({"id": None}, "`id` is null"), ({"id": "../../evil"}, '`id` is "../../evil"'),
        ({"id": ".hidden"}, "`id` is"), ({"id": "a/b"}, "`id` is"), ({"id": "a\n"}, "`id` is"),
        ({"vocabulary": None}, "`vocabulary` is null"), ({"level": "shall"}, '`level` is "shall"'),
        ({"level": "must-not"}, "level must-not and outcome ids"), ({"stage": "guess"}, '`stage` is "guess"'),
        ({"operation": "train"}, '`operation` is "train"'), ({"operaton": "decode"}, "unknown field 'operaton'"),
        ({"input_hex": "6"}, '`input_hex` is "6"'), ({"input_hex": None}, "`input_hex` is null"),
        ({"input_repeat": {"hex": "61", "times": 2}}, "both `input_hex` and `input_repeat`"),
        ({"ids": ["x"]}, '`ids` has "x" in place 1'), ({"ids": [1, 1.5]}, "`ids` has 1.5 in place 2"),
        ({"ids": [True]}, "`ids` has true in place 1"), ({"ids": [2**40]}, "`ids` has 1099511627776 in place 1"),
        ({"ids": [-1]}, "`ids` has -1 in place 1"), ({"ids": "12"}, '`ids` is "12", not a list'),
        ({"outcome": "nosuch"}, '`outcome` is "nosuch"'), ({"outcome": "crash"}, '`outcome` is "crash"'),
        ({"outcome": "reject"}, "outcome reject with `ids`"), ({"count": 1}, "outcome ids with `count`"),
        ({"outcome": "ids", "ids": None}, "outcome ids without `ids`"),
        ({"ids": None, "outcome": "ids", "head": [1]}, "outcome ids without `count`"),
        ({"contract": "x"}, '`contract` is "x"'), ({"flags": "digits"}, '`flags` is "digits", not a list'),
        ({"spans": [[0]]}, "`spans` has [0] in place 1"), ({"title": 3}, "`title` is 3"),
        ({"rule": "\ud800"}, "`rule` is "),
        ({"engines": "x"}, '`engines` is "x", not a list'), ({"engines": ["x"]}, '`engines` has "x" in place 1'),
        ({"engines": [{"engine": "x"}]}, "no `version`"),
        ({"engines": [{"engine": "x", "version": "one"}]}, '`version` is "one"'),
        ({"engines": [{"engine": "x", "version": "1", "outcome": "nosuch"}]}, '`outcome` is "nosuch"'),
        ({"engines": [{"engine": "x", "version": "1"}]}, "outcome ids without `ids`"),
        ({"engines": [{"engine": "x", "version": "1", "outcome": "text"}]}, "outcome text without `text_hex`"),
        ({"engines": [{"engine": "x", "version": "1", "idz": []}]}, "unknown field 'idz'"),
    ],
)
def test_a_bad_vector_is_named_with_its_file(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    path = tmp_path / "v.json"
    path.write_text(json.dumps({"schema": vectors.SCHEMA, "vectors": [ROW, {**ROW, "id": "b", **changes}]}))
    with pytest.raises(InputError) as caught:
        vectors.load(path)
    assert said in str(caught.value) and "v.json, vector 2" in caught.value.where and caught.value.remedy


@pytest.mark.parametrize(("lacking", "said"), [
    ("id", "no `id`"), ("vocabulary", "no `vocabulary`"), ("input_hex", "no `input_hex`"), ("ids", "without `ids`"),
])
def test_what_a_vector_lacks_is_named(lacking: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        vectors.parse({name: value for name, value in ROW.items() if name != lacking}, "v.json, vector 2")
    assert said in str(caught.value) and "v.json, vector 2" in caught.value.where and caught.value.remedy


@pytest.mark.parametrize("repeat", [
    {"hex": "6162", "times": 10**12}, {"hex": "61", "times": 2**30 + 1}, {"hex": "61", "times": -5},
    {"hex": "61", "times": 0}, {"hex": "61", "times": 2.0}, {"hex": "6", "times": 2}, {"hex": "61"}, "61",
])
def test_a_document_is_repeated_within_reason(repeat: Any) -> None:
    row = {"id": "a", "vocabulary": "gpt2", "ids": [64]}
    assert vectors.parse({**row, "input_repeat": {"hex": "61", "times": 2**30}}, "x").repeat == ("61", 2**30)
    with pytest.raises(InputError, match="`input_repeat` is ") as caught:
        vectors.parse({**row, "input_repeat": repeat}, "v.json, vector 1")
    assert "v.json, vector 1 'a'" in caught.value.where and "1 GiB" in caught.value.remedy


def test_a_misspelt_field_has_its_name_beside_it() -> None:
    with pytest.raises(InputError) as caught:
        vectors.parse({**ROW, "operaton": "decode"}, "x")
    assert "did you mean operation?" in caught.value.remedy


def test_what_is_no_regular_file_is_not_read(tmp_path: Path) -> None:
    for path in (Path("/dev/zero"), tmp_path):
        with pytest.raises(InputError, match="no regular file"):
            vectors.load(path, missing=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [("{", "cannot be read"), ("[]", "not a file of vectors"), ("{}", "it has no `schema`"),
     ('{"schema": "tokassay.vectors/9"}', "its `schema` is 'tokassay.vectors/9'"),
     ('{"schema": "tokassay.vectors/2"}', "no list `vectors`"),
     (json.dumps({"schema": vectors.SCHEMA, "vectors": [ROW, ROW]}), "vectors 1 and 2 are both called 'a'")],
)
def test_a_bad_file_is_named(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "v.json").write_text(text)
    with pytest.raises(InputError, match=said):
        vectors.load(tmp_path / "v.json")


def test_first_bad_and_first_good_by_what_is_recorded() -> None:
    right, wrong = Answer.of([1065]), Answer.of([16, 17])
    answers = (("0.9", right), ("0.10", wrong), ("0.11", wrong), ("1.0", right))
    vector = TWO_DIGITS.recorded(*(Recorded("x", version, answer) for version, answer in answers))
    assert vector.history("x") == {"last_good": "0.9", "first_bad": "0.10", "last_bad": "0.11", "first_good": "1.0"}
    assert vector.wrong == ["planted"]


# -- check ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "given", "verdict", "code"),
    [
        ("1.0", [16, 17], "known", 0),
        ("1.1", [16, 17], "known", 0),
        ("1.1", [1065], "healed", 1),
        ("1.1", [1, 2], "changed", 1),
        ("1.1", "raises", "changed", 1),
        ("0.9", [1065], "match", 0),
        ("0.9", [16, 17], "differ", 1),
        ("1.1", "dies", "changed", 1),
    ],
)
def test_a_known_divergence_fires_when_it_heals(
    planted: Callable[..., list[str]], capsys: pytest.CaptureFixture[str],
    version: str, given: Any, verdict: str, code: int,
) -> None:
    options = planted(version, **{"3132": given})
    status, out, _ = run(capsys, "check", "planted", *options, "--json")
    (row,) = json.loads(out)["rows"]
    assert (status, row["engine"], row["version"], row["verdict"]) == (code, "planted", version, verdict)


def test_an_answer_that_is_known_not_to_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[float, list[bytes]] = {}

    def probed(target: Any, loaded: Any, documents: list[bytes], **_: Any) -> list[Probed]:
        asked[target.spec.timeout_s] = documents
        return [Probed(Answer("timeout")) for _ in documents]

    monkeypatch.setattr(vector_check, "probe_all", probed)
    right, never = Answer.of([1065]), Answer("timeout", "no reply within 120 s")
    late = Vector("late", "gpt2", right, "3132", engines=(Recorded("tiktoken", "0.0.1", never),))
    roster = load_roster()
    rows = vector_check.check([late, replace(late, id="not", engines=())], ["tiktoken"], roster)
    assert [(row.vector.id, row.verdict) for row in rows] == [("late", "known"), ("not", "differ")]
    assert asked == {vector_check.LATE_S: [b"12"], roster["tiktoken"].timeout_s: [b"12"]}


def test_a_check_says_what_there_is_to_do(
    planted: Callable[..., list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    options = planted("1.1", **{"3132": [1065]})
    status, out, _ = run(capsys, "check", "oracle", "planted", *options)
    assert status == 1
    assert "healed: two-digits: planted 1.1 now gives the right answer: " in out
    assert "tokassay vectors record two-digits planted" in out
    status, _, err = run(capsys, "record", "two-digits", "planted", "--like", "three-digits", *options)
    assert (status, "no vector is called 'three-digits'" in err) == (2, True)
    status, out, _ = run(capsys, "record", "two-digits", "planted", *options)
    assert status == 0 and f"recorded in {options[-1]}" in out
    assert run(capsys, "check", "planted", *options)[0] == 0
    listed = json.loads(run(capsys, "list", *options[2:], "--json")[1])["vectors"]
    assert [(row["version"], row["ids"]) for row in listed[0]["engines"]] == [("1.0", [16, 17]), ("1.1", [1065])]
    assert not any("like" in row for row in listed[0]["engines"])


def test_a_vector_of_other_variants_is_not_for_this_engine(
    planted: Callable[..., list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """What is ill-formed depends on the byte policy; must-not is met by a refusal; nothing verified is no success."""
    policy = {"byte_policy": "replace"}
    declared = Vector("broken", "gpt2", Answer.of([4210]), input_hex="ff", contract=policy, level="declared")
    policy = {"byte_policy": "reject"}
    refused = Vector("no", "gpt2", Answer("reject"), input_hex="ff", contract=policy, level="must-not")
    options = planted("1.0", declared, refused)
    status, out, _ = run(capsys, "check", "planted", "oracle", *options, "--json")
    rows = {(row["vector"], row["engine"]): (row["verdict"], row["reason"]) for row in json.loads(out)["rows"]}
    assert rows == {
        ("broken", "planted"): ("unsupported", "for replace"), ("no", "planted"): ("match", ""),
        ("broken", "oracle"): ("match", ""), ("no", "oracle"): ("match", ""),
    }
    assert status == 0
    assert run(capsys, "check", "planted", "--id", "broken", *options)[0] == 4


def test_an_engine_whose_time_is_over_has_rows_with_the_reason() -> None:
    one = Vector("digits", "gpt2", Answer.of([1065]), "3132")
    for minutes, verdict, reason in ((60.0, "match", ""), (0.0, "unsupported", "time: the engine's minutes")):
        (row,) = vector_check.check([one], ["tiktoken"], load_roster(), engine_s=minutes)
        assert row.verdict == verdict and row.reason.startswith(reason) and bool(reason) == bool(row.reason)
    (row,) = vector_check.check([one], ["oracle"], load_roster(), engine_s=0.0)
    assert row.verdict == "match"  # its time has an end of its own


def test_a_vocabulary_that_is_not_fetched_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKASSAY_CACHE", str(tmp_path))
    here = Vector("digits", "gpt2", Answer.of([1065]), "3132")
    rows = vector_check.check([replace(here, id="away", vocabulary="deepseek"), here], ["tiktoken"], load_roster())
    assert [(row.vector.id, row.verdict) for row in rows] == [("away", "unsupported"), ("digits", "match")]
    assert "deepseek is not fetched yet: run `tokassay vocab fetch deepseek` once" in rows[0].reason


def test_a_normalizer_of_other_tables_is_not_held_to_a_vector_that_they_decide() -> None:
    """U+10D69 is a mark of class 230 since Unicode 16.0 (UnicodeData.txt); e and U+0301 are in every version."""
    mark = "\U00010d69".encode().hex()
    marked = Vector("mark", "gpt2", Answer.of([1]), input_hex=mark, contract={"normalizer": "nfc"})
    asked = marked.asked_of(load_vocabulary("gpt2").contract)
    older = asked.with_variants(unicode="16.0", normalization="15.0")
    assert marked.holds_for(asked.with_variants(unicode="16.0", normalization="16.0")) == ""
    assert marked.holds_for(older) == "for a normalizer of Unicode 16.0"
    assert replace(marked, input_hex="65cc81").holds_for(older) == ""


def test_a_check_of_nothing_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vectors.VectorFile(tmp_path / "none.json").save()
    status, out, _ = run(capsys, "check", "oracle", "--file", str(tmp_path / "none.json"))
    assert (status, f"nothing was checked: no vectors in {tmp_path / 'none.json'}" in out) == (4, True)


def test_a_version_that_is_not_installed_is_named_with_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "check", "tiktoken==0.0.1:replace", "--id", "pb-001", "--json")
    assert (status, json.loads(out)["rows"][0]["reason"]) == (
        4, "tiktoken==0.0.1 is not installed; run: tokassay engines install tiktoken==0.0.1"
    )


@pytest.mark.parametrize("words", [("check", "oracle"), ("export", "--out", "OUT"), ("reproduce", "two-digits")])
def test_an_unknown_vocabulary_is_named_with_its_vector(
    planted: Callable[..., list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    options = planted("1.0", replace(TWO_DIGITS, vocabulary="nosuch"))
    given = [word.replace("OUT", str(tmp_path / "out.json")) for word in words]
    status, _, err = run(capsys, *given, *(options[2:] if words[0] == "export" else options))
    assert status == 2 and "--vocab" not in err
    assert f"{tmp_path / 'own.json'}, vector 1 'two-digits': `vocabulary`: no encoding and no file" in err


# -- add, export, reproduce ----------------------------------------------------------------------------------


def test_a_vector_is_added_with_the_oracles_ids(
    planted: Callable[..., list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = planted("1.0", **{"3132": [16, 17]})
    words = ["--text", "12", "--rule", "r", "--source", "s", "--stage", "pretokenize", "--flag", "digits"]
    status, out, _ = run(capsys, "add", "mine", *words, "--engine", "planted", *options, "--json")
    made = json.loads(out)
    assert (status, made["ids"], made["level"], made["engines"][0]["ids"]) == (0, [1065], "must", [16, 17])
    assert vectors.load(tmp_path / "own.json").find("mine") is not None
    status, _, err = run(capsys, "add", "mine", *words, *options)
    assert status == 2 and "there is a vector 'mine'" in err
    status, _, err = run(capsys, "add", "other", *words, "--expect", "16 17", *options)
    assert status == 2 and "the oracle gives 1065" in err
    wrong = [
        (("--rule", " "), "--rule: it is empty"), (("--source", ""), "--source: it is empty"),
        (("--expect", "abc"), "--expect: 'abc' is no id"), (("--expect", "99999999999"), "'99999999999' is no id"),
        (("--times", "99999999999"), "at most 1 GiB"), (("--stage", "guess"), '`stage` is "guess"'),
    ]
    for changed, said in wrong:
        status, _, err = run(capsys, "add", "other", *words, *changed, *options)
        assert (status, said in err, err.count("\n")) == (2, True, 1), err
    status, _, err = run(capsys, "record", "mine", "gigatoken==0.0.0", *options)
    assert status == 4 and "was not asked" in err


def test_export_is_whole_without_us(
    planted: Callable[..., list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = planted("1.0")
    status, _, _ = run(capsys, "export", "--out", str(tmp_path / "all.json"), *options[2:])
    root = json.loads((tmp_path / "all.json").read_text())
    (row,) = root["vectors"]
    assert status == 0 and root["schema"] == vectors.SCHEMA
    assert root["contracts"][row["contract_digest"]]["pretokenizer"][0].startswith("'s|'t")
    assert root["vocabularies"]["gpt2"]["file_sha256"].startswith("306cd27f")
    assert vectors.load(tmp_path / "all.json").vectors[0].answer.same(TWO_DIGITS.answer)
    before = (tmp_path / "own.json").read_text()
    status, _, err = run(capsys, "export", "--out", str(tmp_path / "own.json"), *options[2:])
    assert (status, "one of the files that are read" in err, (tmp_path / "own.json").read_text()) == (2, True, before)


def test_a_reproducer_runs_by_itself(
    planted: Callable[..., list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = planted("1.0")
    status, _, _ = run(capsys, "reproduce", "two-digits", "--out", str(tmp_path / "out"), *options)
    script = (tmp_path / "out" / "two-digits-planted.py").read_text()
    # The engine stands for itself here: it has no metadata to ask for a version.
    script = script.replace('version("planted")', "1.0")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (status, done.returncode, done.stderr) == (0, 1, "")
    assert "got      [16, 17]" in done.stdout and "expected [1065]" in done.stdout
    report = (tmp_path / "out" / "two-digits-planted.md").read_text()
    assert "# planted 1.0: digits are split" in report and "GPT-2 does not split numbers" in report
    assert "| 1.0 | 16 17 | wrong |" in report and "Wrong in the oldest release asked, 1.0." in report
    assert script.splitlines()[0] in report and "tokassay" not in script


def test_every_shipped_divergence_has_a_reproducer(tmp_path: Path) -> None:
    """The script compiles, and the report has the rule; nothing is installed for it."""
    from tokassay.harness.reproduce import reproducer

    roster = load_roster()
    # pyonmttok gives pieces, and no call of it makes ids of them; bpe-qwen takes a folder of three files.
    without = {"pyonmttok", "bpe-qwen"}
    modules: dict[str, str] = {}
    for file in vectors.load_all():
        for one in file.vectors:
            for engine in one.wrong:
                if engine in without or (one.id, engine) == ("pieces-unigram-bytes", "kitoken"):
                    # kitoken's script takes a tokenizer.json, and this is a model that none can be derived from.
                    with pytest.raises(InputError, match=f"does not say how a script calls {engine}|can be derived"):
                        reproducer(one, engine, roster)
                    continue
                made = reproducer(one, engine, roster)
                if made.suffix == ".py":
                    compile(made.script, made.stem, "exec")
                else:
                    modules[f"{made.stem}{made.suffix}"] = made.script
                assert one.rule in made.report and "://" not in made.script
    assert modules
    for name, script in modules.items() if shutil.which("node") else ():
        (tmp_path / name).write_text(script, encoding="utf-8")
        subprocess.run(["node", "--check", name], cwd=tmp_path, check=True)
    _, found = vectors.find("cl100k-letter-with-specials-on", vectors.load_all())
    assert "'<|endofprompt|>': 100276" in reproducer(found, "tokendagger", roster).script
    with pytest.raises(InputError, match="no wrong answer of tokie is recorded in pb-001"):
        reproducer(vectors.find("pb-001", vectors.load_all())[1], "tokie", roster)


def test_a_script_that_does_not_end_is_late_and_packages_are_those_of_its_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tokassay.harness import reproduce

    monkeypatch.setattr(reproduce, "LIMIT_S", 0.2)
    monkeypatch.setattr(reproduce, "interpreter", lambda _: tmp_path / "env" / "bin" / "node")
    (tmp_path / "env" / "bin").mkdir(parents=True)
    (tmp_path / "env" / "bin" / "node").symlink_to(sys.executable)
    (tmp_path / "node_modules").symlink_to(tmp_path / "of another engine")
    (tmp_path / "two-digits-tiktoken.mjs").write_text("import time; print('begun'); time.sleep(60)")
    wrong = Recorded("tiktoken", "0.14.0", Answer("timeout", "no reply"))
    made = reproduce.Reproducer(TWO_DIGITS, "tiktoken", wrong, "", "", None, "", ".mjs")
    status, printed = reproduce.run(made, tmp_path, load_roster())
    assert (status, "did not end within" in printed) == (reproduce.LATE, True)
    assert (tmp_path / "node_modules").readlink() == tmp_path / "env" / "node_modules"


HOLDS = """
import sys, time
from pathlib import Path
from tokassay.harness import vectors

def slow(now):
    print("held", flush=True)
    time.sleep(0.5)
    return now.with_new(vectors.parse({"id": sys.argv[2], "vocabulary": "gpt2", "input_hex": "61", "ids": [64]}, "x"))

vectors.change(Path(sys.argv[1]), slow, missing=True)
"""


@pytest.mark.parametrize("fcntl", [True, False])
def test_changes_at_once_are_all_kept(tmp_path: Path, fcntl: bool) -> None:
    script = HOLDS if fcntl else "import sys; sys.modules['fcntl'] = None" + HOLDS
    started = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "v.json"), name]) for name in ("a", "b", "c")
    ]
    assert [one.wait() for one in started] == [0, 0, 0]
    assert sorted(one.id for one in vectors.load(tmp_path / "v.json").vectors) == ["a", "b", "c"]
    assert [path.name for path in tmp_path.iterdir()] == ["v.json"]


def test_a_lock_that_stays_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setattr(vectors, "WAIT_S", 0.1)
    (tmp_path / ".v.json.lock").touch()
    with pytest.raises(InputError, match="locked for more than") as caught, vectors.locked(tmp_path / "v.json"):
        pass
    assert ".v.json.lock" in caught.value.where and "remove it" in caught.value.remedy


def test_what_another_recorded_meanwhile_is_kept(
    planted: Callable[..., list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options = planted("1.1", **{"3132": [1065]})
    asked = vector_check.check
    other = Vector("other", "gpt2", Answer.of([64]), "61")

    def meanwhile(*given: Any, **named: Any) -> Any:
        renewed = TWO_DIGITS.recorded(Recorded("planted", "1.0", Answer.of([1])))
        vectors.change(tmp_path / "own.json", lambda now: now.with_vector(renewed).with_new(other))
        return asked(*given, **named)

    monkeypatch.setattr(vector_check, "check", meanwhile)
    assert run(capsys, "record", "two-digits", "planted", *options)[0] == 0
    two, more = vectors.load(tmp_path / "own.json").vectors
    assert [(row.version, row.answer.ids) for row in two.engines] == [("1.0", (1,)), ("1.1", (1065,))]
    assert more.id == "other"
    vectors.VectorFile(tmp_path / "own.json", (TWO_DIGITS,)).save()
    words = ["--text", "12", "--rule", "r", "--source", "s", "--engine", "planted"]
    assert run(capsys, "add", "mine", *words, *options)[0] == 0
    assert [one.id for one in vectors.load(tmp_path / "own.json").vectors] == ["two-digits", "other", "mine"]


@pytest.mark.parametrize(
    "words",
    [
        ("add", "x", "--text", "12", "--rule", "r", "--source", "s", "--file", "BAD/v.json"),
        ("export", "--out", "BAD/v.json"),
        ("list", "--markdown", "BAD/page.md"), ("reproduce", "two-digits", "--out", "BAD/out"),
    ],
)
def test_what_cannot_be_written_is_said_in_a_line(
    planted: Callable[..., list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    """No folder can be made below a file; the folder of a file must be there."""
    options = planted("1.0")
    bad = str(tmp_path / "own.json") if words[0] == "reproduce" else str(tmp_path / "none")
    given = [word.replace("BAD", bad) for word in words]
    options = options if words[0] == "reproduce" else [] if "--file" in words else options[2:]
    status, _, err = run(capsys, *given, *options)
    assert (status, err.count("\n"), "cannot be written: " in err, bad in err) == (2, 1, True, True)


# -- decoding ------------------------------------------------------------------------------------------------

STREAMED = Vector(
    "streamed", "gpt2", Answer.of(b"a\xef\xbf\xbd"), input_hex="61efbfbd", operation="decode_stream", stage="decode",
    rule="decoding gives the document", source="none", engines=(Recorded("planted", "1.0", Answer.of_text(b"a")),),
)


@pytest.mark.parametrize(("length", "verdict", "code"), [(1, "known", 0), (2, "changed", 1), (None, "healed", 1)])
def test_a_vector_may_be_of_decoding(
    planted: Callable[..., list[str]], capsys: pytest.CaptureFixture[str], length: int | None, verdict: str, code: int
) -> None:
    """The engine decodes its own ids; the document is what is right."""
    options = planted("1.0", STREAMED, length=length)
    status, out, _ = run(capsys, "check", "planted", "oracle", *options, "--json")
    rows = {row["engine"]: (row["verdict"], row["reason"]) for row in json.loads(out)["rows"]}
    assert (status, rows["planted"][0]) == (code, verdict)
    assert rows["oracle"] == ("unsupported", "the engine has no decode_stream")


def test_a_reproducer_of_decoding(
    planted: Callable[..., list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, "reproduce", "streamed", "--out", str(tmp_path), *planted("1.0", STREAMED))
    script = (tmp_path / "streamed-planted.py").read_text().replace('version("planted")', "1.0")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert r"got      b'a'" in done.stdout and r"expected b'a\xef\xbf\xbd'" in done.stdout
    assert "does not decode the ids of gpt2" in (tmp_path / "streamed-planted.md").read_text()


# -- the page of divergences ---------------------------------------------------------------------------------


def test_the_page_has_a_row_for_each_cause_and_engine() -> None:
    right, wrong = Answer.of([1065]), Answer.of([16, 17])
    answers = (("0.9", right), ("1.0", wrong), ("1.1", wrong), ("1.2", right))
    healed = TWO_DIGITS.recorded(*(Recorded("x|y", version, answer) for version, answer in answers))
    like = vectors.Vector("like", "gpt2", right, engines=(Recorded("x|y", "1.1", wrong, "two-digits"),))
    lines = vector_table.markdown([healed, like, vectors.Vector("other", "gpt2", right)]).splitlines()
    assert not any("`like`" in line for line in lines)
    rows = [line.split(" | ") for line in lines if "two-digits" in line and line.startswith("| ")]
    assert [row[:5] for row in rows] == [
        ["| planted", "1.0", "1.0", "", ""], [r"| x\|y", "1.0", "1.1", "0.9", "1.2"]
    ]
    assert all("`31 32` 12" in row and "1065" in row and "16 17 |" in row[-1] for row in rows)
    assert sum(TWO_DIGITS.rule in line for line in lines) == 1


def test_the_page_in_the_documentation_is_what_the_vectors_say() -> None:
    page = Path(__file__).parents[2] / "docs" / "DIVERGENCES.md"
    made = vector_table.markdown(one for file in vectors.load_all() for one in file.vectors)
    assert page.read_text(encoding="utf-8") == made, "run: tokassay vectors list --markdown docs/DIVERGENCES.md"


@pytest.mark.parametrize(
    ("second", "outcome"),
    [(Answer("timeout", "no reply within 20 s"), "timeout"), (Answer.of([2]), "flaky"), (Answer.of([1]), "ids")],
)
def test_late_is_no_other_answer(monkeypatch: pytest.MonkeyPatch, second: Answer, outcome: str) -> None:
    answers = iter([Answer.of([1]), second])
    monkeypatch.setattr(probe, "_ask", lambda *_: next(answers))
    host: Any = None
    assert probe._twice(host, b"a", "encode").outcome == outcome
