"""Profiles: the order in which a file is looked for, and what is built at first use, whole and only once."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tokassay.engines.dat_greedy import Greedy, LoadError, profiles
from tokassay.oracles.firstfit import file_bytes, first_fit

Tokens = dict[bytes, int]


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Every place of the search path, in a temporary folder; the package's own data is left alone."""
    made = {name: tmp_path / name for name in ("first", "second", "cache/profiles", "system")}
    for folder in made.values():
        folder.mkdir(parents=True)
    monkeypatch.setenv("TOKASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TOKASSAY_PROFILES", os.pathsep.join([str(made["first"]), "", str(made["second"])]))
    monkeypatch.setattr(profiles, "SYSTEM_CACHE", made["system"])
    return made


def test_the_search_path_in_its_order(folders: dict[str, Path], tmp_path: Path) -> None:
    names = [path.parent for path in profiles.search_path("mine")]
    assert [path.name for path in profiles.search_path("mine")] == ["vocab_mine.dat"] * 5
    assert names[0].parts[-2:] == ("dat_greedy", "profiles")
    assert names[1:] == list(folders.values())
    for folder in reversed(folders.values()):
        (folder / "vocab_mine.dat").write_bytes(b"")
        assert profiles.find_profile("mine") == folder / "vocab_mine.dat"
    exact = tmp_path / "mine.dat"
    assert profiles.find_profile(str(exact)) == profiles.find_profile(exact) == exact
    assert profiles.find_profile(Path("mine")) == Path("mine")
    assert profiles.find_profile("mine.dat") == Path("mine.dat")


def test_a_file_of_ours_in_any_place_is_taken_before_one_is_built(folders: dict[str, Path]) -> None:
    own = folders["system"] / profiles.built_name("lite")
    own.write_bytes(b"")
    assert profiles.find_profile("lite") == own
    for folder in ("cache/profiles", "second"):
        named = folders[folder] / "vocab_lite.dat"
        named.write_bytes(b"")
        assert profiles.find_profile("lite") == named


def test_the_user_s_cache_by_the_rules_of_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert profiles.user_cache() == tmp_path / "cache" / "profiles"
    monkeypatch.delenv("TOKASSAY_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert profiles.user_cache() == tmp_path / "xdg" / "tokassay" / "profiles"
    for none in ("", "relative/folder"):
        monkeypatch.setenv("XDG_CACHE_HOME", none)
        assert profiles.user_cache() == tmp_path / ".cache" / "tokassay" / "profiles"


@pytest.mark.parametrize(("name", "size"), [("lite", 50_256), ("standard", 100_256)])
def test_what_is_built_at_first_use(name: str, size: int, gpt2_tokens: Tokens, cl100k_tokens: Tokens) -> None:
    path = profiles.find_profile(name)
    assert path == profiles.user_cache() / profiles.built_name(name)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == profiles.PROFILES[name].sha256
    greedy = Greedy.open(path)
    assert (greedy.n_vocab, greedy.lossless, greedy.problems()) == (size, True, [])
    assert greedy.tokens() == (gpt2_tokens if name == "lite" else cl100k_tokens)
    before = path.stat()
    assert profiles.find_profile(name) == path
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert sorted(os.listdir(path.parent)) == [path.name, path.with_suffix(".lock").name]


def test_a_built_profile_that_was_changed_is_built_again() -> None:
    path = profiles.build_profile("lite")
    whole = path.read_bytes()
    path.write_bytes(whole[:1000])
    assert profiles.build_profile("lite").read_bytes() == whole
    flipped = bytearray(whole)
    flipped[5000] ^= 1
    path.write_bytes(flipped)
    assert profiles.build_profile("lite").read_bytes() == whole


def test_a_profile_with_another_digest_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(profiles.PROFILES, "lite", profiles.Profile("gpt2", "0" * 64))
    with pytest.raises(LoadError, match="should be 0000") as caught:
        profiles.find_profile("lite")
    assert caught.value.remedy == "install the package again"
    assert [name for name in os.listdir(profiles.user_cache()) if name.endswith(".dat")] == []


def test_processes_that_build_one_profile_at_once(tmp_path: Path) -> None:
    script = (
        "from tokassay.engines.dat_greedy import CrayonVocab\n"
        "print(CrayonVocab.load_profile('lite').tokenize('hello world'))"
    )
    started = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) for _ in range(4)]
    assert {process.communicate()[0] for process in started} == {b"[31373, 995]\n"}
    assert len(os.listdir(profiles.user_cache())) == 2


@pytest.mark.parametrize("name", ["code", "science"])
def test_profiles_that_have_to_be_trained(name: str, folders: dict[str, Path]) -> None:
    with pytest.raises(LoadError, match="no trainer yet") as caught:
        profiles.find_profile(name)
    assert "use lite or standard" in caught.value.remedy
    (folders["second"] / f"vocab_{name}.dat").write_bytes(file_bytes(*first_fit({b"a": 0})))
    assert profiles.find_profile(name).parent == folders["second"]


def test_a_name_that_is_none() -> None:
    with pytest.raises(LoadError, match="no profile has that name") as caught:
        profiles.find_profile("lit")
    assert "TOKASSAY_PROFILES" in caught.value.remedy


def test_a_cache_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TOKASSAY_CACHE", str(tmp_path / "file"))
    with pytest.raises(LoadError, match="cannot be written") as caught:
        profiles.find_profile("lite")
    assert "TOKASSAY_CACHE" in caught.value.remedy


def test_a_folder_of_one_s_own(tmp_path: Path) -> None:
    assert profiles.build_profile("lite", tmp_path / "else").parent == tmp_path / "else"
