"""Coverage: for each engine and corpus, how much of what it was asked it answers as its contract says."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pandas as pd
from tokassay.reports.charts.chart import Chart, NoData, frame, one, slug, styled
from tokassay.reports.charts.matrix import Square, matrix
from tokassay.reports.charts.sheet import Key
from tokassay.reports.charts.style import ORANGE, OURS, SKY, listed, name_of, shade
from tokassay.reports.words import FAILING, counted

NAME = "coverage"
RIGHT, SAID, WRONG, NONE = "✓", "≈", "✗", "–"
WRONG_FILL = shade(0.55, ORANGE)


@styled()
def coverage(found: pd.DataFrame | Iterable[dict[str, Any]], *, vocab: str = "") -> Chart:
    """Rows `engine`, `corpus`, `verdict`, `documents` (as of v_verdict; alike ones are added up), and `ours` and
    `vocab` if there are. An answer is a document in one operation and contract. A square has the share of the answers
    served that `match`, rounded down, and a sign: all match, some are wrong, some are declared or refused, or none was
    served. Raises NoData, ReportError."""
    table = frame(found, NAME, "engine", "corpus", "verdict", "documents", ours=False, vocab=vocab)
    vocab = str(one(table, "vocab", NAME))
    counts = table.pivot_table(
        index=["engine", "corpus"], columns="verdict", values="documents", aggfunc="sum", sort=False, fill_value=0
    )
    if counts.empty or not counts.to_numpy().sum():
        raise NoData("no document has a verdict")
    for verdict in ("match", "unsupported", *FAILING):
        if verdict not in counts:
            counts[verdict] = 0
    made = (
        pd.DataFrame(
            {
                "documents": counts.sum(axis=1), "match": counts["match"], "unsupported": counts["unsupported"],
                "wrong": counts[list(FAILING)].sum(axis=1),
            }
        )
        .astype("int64")
        .reset_index()
    )
    made["other"] = made["documents"] - made["match"] - made["unsupported"] - made["wrong"]
    served = made["documents"] - made["unsupported"]
    made["share"] = made["match"] / served.where(served > 0)
    squares, corpora = {}, list(dict.fromkeys(made["corpus"]))
    for _, row in made.iterrows():
        squares[str(row["engine"]), str(row["corpus"])] = square(row)
    wrong = made.groupby("engine", sort=False)["wrong"].sum()
    idle = served.groupby(made["engine"]).sum().eq(0)
    engines = [str(engine) for engine in sorted(wrong.index, key=lambda engine: (idle[engine], wrong[engine]))]
    ours = {str(engine) for engine in table.loc[table["ours"].astype(bool), "engine"]}
    title = "Answers that match" + (f": {vocab}" if vocab else "")
    drawn = matrix(
        title,
        engines,
        corpora,
        squares,
        shown={engine: name_of(engine, engine in ours) for engine in engines},
        heading="per cent of the answers, rounded down",
        keys=[
            Key(f"{RIGHT} all match", SKY, hatch=""),
            Key(f"{SAID} some declared or refused", shade(0.35), hatch=""),
            Key(f"{WRONG} some wrong", WRONG_FILL, hatch=""),
            Key(f"{NONE} none served", "#ffffff", hatch=""),
        ],
    )
    clean = [engine for engine in engines if not wrong[engine] and not idle[engine]]
    said = [f"{len(engines)} engines, {len(corpora)} corpora, {int(made['documents'].sum()):,} answers."]
    if clean:
        said.append(f"Not one wrong answer: {listed(clean)}.")
    said += [
        f"{engine} has {counted(int(wrong[engine]), 'wrong answer')}"
        + f" ({listed([str(c) for c in made.loc[made['engine'].eq(engine) & (made['wrong'] > 0), 'corpus']])})."
        for engine in engines
        if wrong[engine]
    ]
    if idle.any():
        said.append(f"Nothing was served by {listed([engine for engine in engines if idle[engine]])}.")
    if ours:
        said.append(f"{OURS} marks an engine of this project.")
    return Chart(
        slug(NAME, vocab) if vocab else NAME,
        title,
        " ".join(said),
        f"Squares: {len(engines)} engines by {len(corpora)} corpora; {int((made['wrong'] > 0).sum())} of {len(made)} "
        "have wrong answers.",
        made[["engine", "corpus", "documents", "match", "other", "wrong", "unsupported", "share"]],
        drawn.figure,
    )


def square(row: Any) -> Square:
    """What stands in the square of an engine and a corpus."""
    if row["share"] != row["share"]:
        return Square(NONE)
    whole = row["match"] == row["documents"] - row["unsupported"]
    share = "100" if whole else f"{math.floor(row['share'] * 1000) / 10:.1f}"
    if row["wrong"]:
        return Square(f"{WRONG}{share}", WRONG_FILL)
    return Square(f"{RIGHT}{share}", SKY) if whole else Square(f"{SAID}{share}", shade(0.35))
