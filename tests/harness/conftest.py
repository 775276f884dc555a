"""An audit in a temporary workspace, on documents of the test's own, with the planted engines in the roster."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tokassay.harness.audit import Outcome, Request, audit
from tokassay.harness.suites import CorpusRequest, Suite

PLANTED = Path(__file__).parents[1] / "engines" / "planted" / "planted.toml"


class Quiet:
    """An audit's progress, kept for the test to look at."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def corpus(self, name: str) -> None:
        pass

    def advance(self, documents: int, reused: bool) -> None:
        pass

    def verdicts(self, engine: str, counts: dict[str, int]) -> None:
        pass


@dataclass
class Run:
    """What an audit came to, and its rows as the store has them."""

    outcome: Outcome
    store: Path
    progress: Quiet = field(default_factory=Quiet)

    def rows(self, query: str) -> list[dict[str, Any]]:
        with sqlite3.connect(self.store) as db:
            db.row_factory = sqlite3.Row
            return [dict(r) for r in db.execute(query, (self.outcome.run,))]

    def verdicts(self, engine: str, operation: str = "encode") -> Counter[str]:
        """Documents by verdict of one engine and operation, over all corpora."""
        found: Counter[str] = Counter()
        for row in self.rows("SELECT * FROM v_cell WHERE run = ?"):
            if row["engine"] == engine and row["operation"] == operation:
                found.update(json.loads(row["verdicts"]))
        return found

    def divergences(self, engine: str) -> list[dict[str, Any]]:
        return [
            d for d in self.rows("SELECT * FROM v_divergence WHERE run = ? ORDER BY ordinal") if d["engine"] == engine
        ]


@pytest.fixture
def run_audit(tmp_path: Path) -> Callable[..., Run]:
    """Runs an audit: `documents` become the files of a folder, unless `corpora` names others."""

    def run(
        *engines: str,
        documents: list[bytes] | None = None,
        corpora: tuple[str, ...] = (),
        operations: tuple[str, ...] = ("encode",),
        specials: tuple[str, ...] = ("off",),
        vocabulary: str = "gpt2",
        roster: tuple[Path, ...] = (PLANTED,),
        store: str = "store.sqlite",
        **options: Any,
    ) -> Run:
        if documents is not None:
            folder = tmp_path / "documents"
            folder.mkdir(exist_ok=True)
            for i, document in enumerate(documents):
                (folder / f"{i:05}").write_bytes(document)
            corpora = (f"{folder}@files",)
        requests = tuple(CorpusRequest(c, operations, specials) for c in corpora)
        suite = Suite("test", "", (vocabulary,), engines, requests)
        progress = Quiet()
        request = Request(suite, tmp_path / store, "tokassay audit", roster=roster, **options)
        return Run(audit(request, progress), tmp_path / store, progress)

    return run
