"""The pytest plugin, by pytester in this process: one test a corpus, and words in place of a traceback."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tokassay.engines.roster import load_roster
from tokassay.harness.guard import freeze

pytest_plugins = ["pytester"]
SPEC = importlib.util.spec_from_file_location("guarded", Path(__file__).with_name("guarded.py"))
assert SPEC is not None and SPEC.loader is not None
guarded = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(guarded)


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A user's project: a tokenizer, a golden file of engine version 1.0, a test of its own, a configuration."""
    folder = pytester.path
    vocabulary = guarded.tokenizer_json(folder)
    (folder / "tokenizer_config.json").write_text(json.dumps({"padding_side": "left", "eos_token": "<s>"}))
    out = folder / "golden.json"
    (folder / "o.txt").write_text("hello\noo\nnooo\n")
    (folder / "a.txt").write_text("abc\n")
    engines = load_roster(guarded.roster(folder, "1.0"))
    corpora = (str(folder / "o.txt"), str(folder / "a.txt"))
    golden = freeze(str(vocabulary), "bytewise", engines, out=out, corpora=corpora)
    out.write_text(golden.text(), encoding="utf-8")
    pytester.makepyfile(test_own="def test_own(): pass")
    return pytester


def ini(project: pytest.Pytester, version: str, ids: str = guarded.PLAIN) -> None:
    """The project's pytest configuration, with the engine at a version."""
    roster = guarded.roster(project.path, version, ids)
    project.makeini(f"[pytest]\ntokassay_golden = golden.json\ntokassay_roster = {roster.name}\n")


def test_one_test_a_corpus_and_one_for_the_settings(project: pytest.Pytester) -> None:
    ini(project, "1.0")
    result = project.runpytest_inprocess("-v")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["*golden.json::o.txt PASSED*", "*golden.json::a.txt PASSED*",
                                 "*golden.json::settings PASSED*"])  # fmt: skip


def test_changed_ids_fail_with_document_and_token(project: pytest.Pytester) -> None:
    ini(project, "2.0", guarded.PAIRED)
    result = project.runpytest_inprocess()
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines([
        "*golden.json: o.txt*", "*documents have other ids*", "*first divergent document: 'o.txt:2'*",
        "*token 0: id 111 is now 1000*", "*changed: engine version: bytewise 1.0 is now 2.0*",
    ])  # fmt: skip
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")


def test_a_changed_setting_fails_in_words(project: pytest.Pytester) -> None:
    ini(project, "1.0")
    (project.path / "tokenizer_config.json").write_text(json.dumps({"padding_side": "right", "eos_token": "<s>"}))
    result = project.runpytest_inprocess()
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(['*tokenizer_config.json: padding_side was "left" and is "right"*'])


def test_the_option_names_a_file_and_k_chooses(project: pytest.Pytester) -> None:
    roster = guarded.roster(project.path, "1.0")
    words = ("--tokassay-golden", "golden.json", "--tokassay-roster", str(roster))
    project.runpytest_inprocess(*words).assert_outcomes(passed=4)
    project.runpytest_inprocess(*words, "-k", "o.txt").assert_outcomes(passed=1, deselected=3)
    project.runpytest_inprocess().assert_outcomes(passed=1)


def test_single_tests_leave_the_configured_files_out(project: pytest.Pytester) -> None:
    ini(project, "1.0")
    project.runpytest_inprocess("test_own.py::test_own").assert_outcomes(passed=1)


def test_a_damaged_file_is_wrong_use(project: pytest.Pytester) -> None:
    ini(project, "1.0")
    (project.path / "golden.json").write_text('{"schema": "tokassay.golden/2",\n "x" 1}')
    result = project.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*golden.json:2:6: not JSON*"])


def test_an_engine_that_is_not_there_fails_in_words(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\ntokassay_golden = golden.json\n")
    result = project.runpytest_inprocess()
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(["*no engine is called 'bytewise'*"])


def test_packages_that_are_missing_are_named(project: pytest.Pytester) -> None:
    """In a fresh interpreter in which psutil cannot be imported, as where tokassay is installed without extras."""
    ini(project, "1.0")
    project.makeconftest("import sys\nsys.modules['psutil'] = None\n")
    result = project.runpytest_subprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*psutil is not installed; run: pip install 'tokassay?guard?'*"])


def test_the_fixture(project: pytest.Pytester) -> None:
    project.makepyfile(test_ids="def test_ids(tokassay_check): tokassay_check('golden.json')")
    for version, ids, outcome in (("1.0", guarded.PLAIN, "passed"), ("2.0", guarded.PAIRED, "failed")):
        roster = guarded.roster(project.path, version, ids)
        result = project.runpytest_inprocess("--tokassay-roster", str(roster), "test_ids.py")
        result.assert_outcomes(**{outcome: 1})
    result.stdout.fnmatch_lines(["*token 0: id 111 is now 1000*"])


def test_no_host_is_left_behind(project: pytest.Pytester) -> None:
    """The engine's process ends with the last test of its file."""
    import psutil

    ini(project, "1.0")
    project.runpytest_inprocess().assert_outcomes(passed=4)
    assert not [child for child in psutil.Process().children(recursive=True) if "host.py" in " ".join(child.cmdline())]


def test_a_run_without_files_imports_nothing_of_the_house() -> None:
    """Every pytest run of a user's environment imports the plugin: it must cost nothing."""
    script = (
        "import sys, pytest\nbefore = set(sys.modules)\nimport tokassay.harness.pytest_plugin\n"
        "print(sorted(n for n in set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['tokassay', 'tokassay.harness', 'tokassay.harness.pytest_plugin']"
