"""Each search corpus finds a fault that is nowhere else: planted engines that are right but there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

# engine -> the corpus that finds it
FOUND = {
    "wrong-around": "around",
    "wrong-versions": "versions:0",
    "wrong-borders": "borders:1500",
    "wrong-added": "added:0",
    "wrong-runs": "runs:4097",
    "wrong-classes": "classes:3/48",
    "padded-cache": "collisions:300",
}



def test_what_is_usual_finds_none_of_them(run_audit: Callable) -> None:
    """Sample, fuzz and special tokens: all of the engines pass."""
    usual = run_audit(*FOUND, corpora=("sample", "fuzz:300", "specials:0"))
    assert usual.outcome.exit_code == 0
    assert set(usual.outcome.verdicts) <= {"match", "declared"}


@pytest.mark.parametrize("engine", FOUND)
def test_a_search_finds_what_is_nowhere_else(run_audit: Callable, engine: str) -> None:
    run = run_audit(engine, corpora=(FOUND[engine],))
    assert run.outcome.exit_code == 1
    assert run.verdicts(engine)["differ"] + run.verdicts(engine)["flaky"] > 0
    assert run.divergences(engine)
