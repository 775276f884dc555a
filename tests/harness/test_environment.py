"""What is installed: a rebuilt engine of ours is another build, also where the package is installed in place."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from tokassay.engines.roster import load_roster
from tokassay.harness import environment


@pytest.mark.parametrize("engine", [one.name for one in load_roster().values() if one.requirement == "tokassay"])
def test_a_rebuilt_engine_of_ours_is_another_build(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = {name: tmp_path / name for name in ("tokassay.engines.dat_bpe", "tokassay.engines.dat_greedy")}
    for folder in packages.values():
        folder.mkdir()
        (folder / "_core.so").write_bytes(b"compiled")
    monkeypatch.setattr(environment, "files", packages.__getitem__)
    monkeypatch.setattr(environment, "distribution", lambda _: SimpleNamespace(read_text=lambda _: None))

    def build() -> str:
        environment.installation.cache_clear()
        return environment.installation("tokassay")

    try:
        before = build()
        assert build() == before
        (packages[f"tokassay.engines.{engine.replace('-', '_')}"] / "_core.so").write_bytes(b"compiled again")
        assert build() != before
    finally:
        environment.installation.cache_clear()
