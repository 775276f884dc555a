"""The gate's judgement as GitHub workflow commands: one `::error` line for each thing that is new or worse.

A workflow reads these lines from standard output. What is in them must not end the line, or begin a command of its own:
hidden characters are spelled out (visible.py), then the runner's own escapes are made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tokassay.reports.visible import visible

# The runner undoes these, and no others; a property may not hold the characters that end it.
DATA = (("%", "%25"), ("\r", "%0D"), ("\n", "%0A"))
PROPERTY = (*DATA, (":", "%3A"), (",", "%2C"))
MOST = 4096  # characters of a message: longer ones are cut by the reader's page anyhow


def workflow_commands(gate: Mapping[str, Any]) -> list[str]:
    """The lines for a `tokassay.gate/1` object; `::notice` for what healed."""
    return list(_lines(gate))


def _lines(gate: Mapping[str, Any]) -> Iterator[str]:
    for row in gate["new"]:
        title = f"{row['engine']} under {row['contract']}: new divergence ({row['verdict']})"
        text = f"{row['explanation']}\n{row['signature']}, {row['documents']} documents\n{row['command']}"
        yield command("error", text, title=title, file=file_of(row["corpus"]))
    for row in (gate["self"] or {}).get("new", ()):
        title = f"{row['engine']} under {row['vocabulary']}: new self-difference"
        text = f"{row['way']} on {row['corpus']}: {row['verdict']} {row.get('detail', '')}".strip()
        yield command("error", text, title=title, file=file_of(row["corpus"]))
    for cell in gate["cells"]:
        if cell["worse"]:
            title = f"{cell['engine']} under {cell['contract']}: worse verdicts"
            changes = ", ".join(f"{change} {count}" for change, count in sorted(cell["changes"].items()))
            text = f"{cell['corpus']}, {cell['domain']}, {cell['operation']}: {changes}"
            yield command("error", text, title=title, file=file_of(cell["corpus"]))
    for row in gate["absent"]:
        text = "it took part in the baseline and does not now"
        yield command("error", text, title=f"{row['engine']} under {row['contract']}: absent")
    for row in gate["speeds"]:
        if row["verdict"] in ("slower", "lost"):
            place = f"{row['vocab']}, {row['text']}, {row['entry']}, {row['state']}, threads {row['threads']}"
            said = row["why"] or f"{row['ratio']} times the speed of the baseline ({row['low']} to {row['high']})"
            yield command("error", f"{place}: {said}", title=f"{row['engine']}: {row['verdict']}")
    for row in gate["healed"]:
        yield command("notice", row["explanation"], title=f"{row['engine']} under {row['contract']}: healed")
    for why in gate["not_comparable"]:
        yield command("warning", why, title="speeds are not comparable")
    if gate["exit_code"] == 4:
        yield command("error", "\n".join(gate["sentences"]), title="nothing was verified or measured")


def command(kind: str, message: str, **properties: str) -> str:
    """One workflow command: `::error file=F,title=T::message`, escaped; properties without a value are left out."""
    text = "\n".join(visible(line) for line in message.split("\n"))[:MOST]
    told = ",".join(f"{key}={_escaped(visible(value), PROPERTY)}" for key, value in sorted(properties.items()) if value)
    return f"::{kind}{' ' + told if told else ''}::{_escaped(text, DATA)}"


def file_of(corpus: str) -> str:
    """The file of the repository that a corpus is, "" for any other: a path is written with a slash or a reader."""
    path, _, reader = corpus.partition("@")
    return path if (reader or "/" in path) and not path.startswith("/") else ""


def _escaped(text: str, table: tuple[tuple[str, str], ...]) -> str:
    for char, written in table:
        text = text.replace(char, written)
    return text
