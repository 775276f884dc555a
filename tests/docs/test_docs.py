"""The documents against the tree: links lead somewhere; commands shown exist, with the options shown."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
import typer
from tokassay.harness.cli import VERBS

ROOT = Path(__file__).resolve().parent.parent.parent
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```(?:sh|bash|console|shell)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`\n]+)`")
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)


def documents() -> list[Path]:
    """The README and everything under docs/."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def anchors(path: Path) -> set[str]:
    """The names that headings are linked by: lower case, no punctuation, hyphens for spaces."""
    headings = HEADING.findall(path.read_text("utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def shown_commands() -> Iterator[tuple[str, list[str]]]:
    """(document, words) of each command line in a shell block; continued lines are joined, prompts go."""
    for path in documents():
        for block in FENCE.findall(path.read_text("utf-8")):
            for line in block.replace("\\\n", " ").splitlines():
                text = line.strip().removeprefix("$ ")
                for part in re.split(r"\s(?:\||&&|;)\s", text):
                    try:
                        words = shlex.split(part, comments=True)
                    except ValueError:  # output, such as a pattern with an apostrophe
                        words = []
                    if words:
                        yield path.relative_to(ROOT).as_posix(), words


def command(verb: str) -> click.Command:
    """The click command of a verb, as the command line builds it."""
    return typer.main.get_command(import_module(f"tokassay.harness.commands.{VERBS[verb]}").app)


def wrong_with(words: list[str]) -> str:
    """What of a `tokassay` line does not exist; '' where all of it does."""
    if len(words) == 1 or words[1].startswith("-"):
        return ""
    if words[1] not in VERBS:
        return f"no verb {words[1]}"
    here, rest = command(words[1]), words[2:]
    if (default := getattr(here, "default", "")) and not (rest and rest[0] in here.commands):
        here = here.commands[default]  # a group whose first word may be left out
    elif hasattr(here, "commands") and rest and not rest[0].startswith("-"):
        if rest[0] not in here.commands:
            return f"{words[1]} has no {rest[0]}"
        here, rest = here.commands[rest[0]], rest[1:]
    known = {option for parameter in here.params for option in (*parameter.opts, *parameter.secondary_opts)}
    unknown = [
        word for word in rest if word.startswith("--") and word.split("=")[0] not in {*known, "--help", "--"}
    ]
    return f"no option {unknown[0]}" if unknown else ""


def test_links_lead_somewhere() -> None:
    broken = []
    for path in documents():
        for target in LINK.findall(path.read_text("utf-8")):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            there = path.parent / name if name else path
            if not there.exists() or (anchor and there.suffix == ".md" and anchor not in anchors(there)):
                broken.append(f"{path.relative_to(ROOT)}: {target}")
    assert broken == []


def test_commands_shown_exist() -> None:
    wrong = [
        f"{name}: {' '.join(words)}: {what}"
        for name, words in shown_commands()
        if Path(words[0]).name == "tokassay" and (what := wrong_with(words))
    ]
    assert wrong == []


def test_sessions_shown_exist() -> None:
    sessions = set(
        re.findall(r"^@nox\.session.*\ndef (\w+)", (ROOT / "noxfile.py").read_text("utf-8"), re.MULTILINE)
    )
    shown = {
        words[i + 1]
        for _, words in shown_commands()
        if Path(words[0]).name == "nox"
        for i, word in enumerate(words[:-1])
        if word == "-s"
    }
    assert shown <= sessions
    assert {"tests", "lint", "types", "audit", "sanitize", "races", "nightly", "docs"} <= sessions


def spec_rows() -> list[tuple[str, str]]:
    """(first cell, the rest) of each row of a table of docs/SPEC-ROWS.md that says what shows something."""
    found, inside = [], False
    for line in (ROOT / "docs" / "SPEC-ROWS.md").read_text("utf-8").splitlines():
        first, _, rest = line.removeprefix("|").partition("|")
        inside = line.startswith("|") and (inside or first.strip() == "row")
        if inside and first.strip() != "row" and not first.startswith("--"):
            found.append((first.strip(), rest))
    return found


def missing_test(node: str) -> str:
    """What of `tests/….py::name` does not exist; '' where it is a test of that file."""
    name, _, function = node.partition("::")
    path = ROOT / name
    if not path.is_file():
        return f"no file {name}"
    tree = ast.parse(path.read_text("utf-8"))
    found = {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}
    return "" if function in found and function.startswith("test_") else f"no test {function} in {name}"


def wrong_reference(text: str) -> str:
    """What an inline code of docs/SPEC-ROWS.md names that does not exist (a test, a command, a session), else ''."""
    words = shlex.split(text) if re.match(r"(tokassay|nox) ", text) else []
    if words[:1] == ["tokassay"]:
        return wrong_with(words)
    if words[:2] == ["nox", "-s"]:
        return "" if f"def {words[2]}(session" in (ROOT / "noxfile.py").read_text("utf-8") else f"no session {words[2]}"
    return missing_test(text) if text.startswith("tests/") else ""


def test_what_the_rows_of_the_specifications_name_exists() -> None:
    text = (ROOT / "docs" / "SPEC-ROWS.md").read_text("utf-8")
    assert [wrong for code in INLINE.findall(text) if (wrong := wrong_reference(code))] == []


def test_every_row_of_the_specifications_is_shown_by_something_or_is_for_later() -> None:
    rows = spec_rows()
    assert len(rows) > 40
    bare = [row for row, rest in rows if not INLINE.search(rest) and "](" not in rest and " later: " not in rest]
    assert bare == []


def test_the_gate_runs_the_second_command_of_the_readme() -> None:
    blocks = FENCE.findall((ROOT / "README.md").read_text("utf-8"))
    gate = (ROOT / ".ci" / "run").read_text("utf-8")
    assert blocks[1].strip().replace("python3", '"$python"', 1) in gate


def test_the_checker_itself_sees_what_is_wrong() -> None:
    assert wrong_with(["tokassay", "assay"]) == "no verb assay"
    assert wrong_with(["tokassay", "encode", "--no-such-option"]) == "no option --no-such-option"
    assert wrong_with(["tokassay", "encode", "--hex", "61"]) == ""
    assert wrong_with(["tokassay", "report", "5f0c1d", "--out", "x"]) == ""
    assert wrong_with(["tokassay", "report", "build", "--no-such"]) == wrong_with(["tokassay", "report", "--no-such"])
    assert wrong_with(["tokassay", "report", "--no-such"]) == "no option --no-such"
    this = "tests/docs/test_docs.py"
    assert wrong_reference(f"{this}::test_links_lead_somewhere") == ""
    assert wrong_reference(f"{this}::test_no_such") == f"no test test_no_such in {this}"
    assert wrong_reference(f"{this}::documents") == f"no test documents in {this}"
    assert wrong_reference("tests/no_such.py::test_x") == "no file tests/no_such.py"
    assert wrong_reference("nox -s no-such") == "no session no-such"
    assert wrong_reference("tokassay bench --no-such") == "no option --no-such"
    assert wrong_reference("cache_bits") == ""
