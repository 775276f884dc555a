"""Suites: the named ones load; a wrong one is told with its place and a remedy."""

from importlib.resources import files
from pathlib import Path

import pytest
from tokassay.corpora.field import FIELD, slugs
from tokassay.harness.errors import InputError
from tokassay.harness.suites import lacking, load_suite, names, narrowed, parse


def test_the_named_suites_are_there() -> None:
    assert names() == ["families", "field", "gate", "gate-light", "gate-short", "nightly", "smoke", "standard"]
    for name in names():
        assert load_suite(name).corpora


def test_smoke_has_what_the_readme_says() -> None:
    suite = load_suite("smoke")
    assert suite.vocabularies == ("gpt2",)
    assert set(suite.engines) >= {"dat-bpe", "tiktoken", "tokenizers"}
    assert {c.spec.split(":")[0] for c in suite.corpora} >= {"battery", "fuzz", "sample"}


def test_standard_joins_documents_by_special_tokens_on_and_off() -> None:
    assert any(c.spec == "specials" and set(c.specials) == {"off", "on"} for c in load_suite("standard").corpora)


def test_families_hold_the_standard_suite() -> None:
    families, standard = load_suite("families"), load_suite("standard")
    assert set(families.corpora) >= set(standard.corpora)
    assert set(families.vocabularies) >= set(standard.vocabularies)


def test_field_gives_each_engine_a_megabyte_and_a_slow_one_a_tenth_of_it() -> None:
    suite = load_suite("field")
    assert suite.engines == ("all",) and len(suite.vocabularies) >= 10
    asked = {c.spec: c for c in suite.corpora}
    assert {"battery", "fuzz:5000"} <= asked.keys()
    for kind, parts in FIELD.items():
        # Every kind has its first tenth for everybody, before what is for fast engines alone.
        tenth, rest = asked[f"field:{kind}:tenth"], asked[f"field:{kind}:rest"]
        assert (tenth.fast, rest.fast) == (0.0, 1.0)
        assert list(asked).index(tenth.spec) < min(n for n, c in enumerate(suite.corpora) if c.fast)
        assert parts
    kilobytes = sum(part.kilobytes for parts in FIELD.values() for part in parts)
    assert kilobytes >= 1000 and kilobytes / 10 >= 100
    text = files("tokassay.harness").joinpath("presets", "field.toml").read_text("utf-8")
    assert f"samples of {len(slugs())} texts" in text


def test_narrowing_replaces_what_is_named() -> None:
    suite = narrowed(load_suite("smoke"), corpora=("fuzz:10", "a.txt"), engines=("tiktoken",), specials=("on",))
    assert [c.spec for c in suite.corpora] == ["fuzz:10", "a.txt"]
    assert suite.engines == ("tiktoken",)
    assert all(c.specials == ("on",) for c in suite.corpora)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("corpus = [", "Invalid"),
        ("engines = 3\n[[corpus]]\nspec='battery'", "engines is not a list of names"),
        ("colour = 1\n[[corpus]]\nspec='battery'", "unknown key colour"),
        ("vocabularies = ['gpt2']", "has no [[corpus]] table"),
        ("[[corpus]]\nname='battery'", "unknown key name"),
        ("[[corpus]]\noperations=['encode']", "has no spec"),
        ("[[corpus]]\nspec='battery'\noperations=['encrypt']", "operations has encrypt"),
        ("[[corpus]]\nspec='battery'\nfast='quick'", "fast is no number above 0"),
        ("[[corpus]]\nspec='battery'\nfast=true", "fast is no number above 0"),
        ("vocabulary_minutes=0\n[[corpus]]\nspec='battery'", "vocabulary_minutes is no number above 0"),
    ],
)
def test_wrong_suites_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text, name="mine", where="mine.toml")
    assert message in str(caught.value)
    assert caught.value.where.startswith("mine.toml")
    assert caught.value.remedy


def test_an_unknown_suite_names_the_known_ones() -> None:
    with pytest.raises(InputError) as caught:
        load_suite("smok")
    assert "smoke" in caught.value.remedy


def test_a_file_does_not_pass_for_a_suite_of_tokassay(tmp_path: Path) -> None:
    """`--proof ./gate.toml` with one document would be a proof that every report calls `gate`."""
    file = tmp_path / "gate.toml"
    file.write_text("[[corpus]]\nspec = 'one.txt'\n", encoding="utf-8")
    with pytest.raises(InputError, match="gate is a suite of tokassay"):
        load_suite(str(file))
    file.write_bytes(files("tokassay.harness").joinpath("presets", "gate.toml").read_bytes())
    assert load_suite(str(file)).name == "gate"


@pytest.mark.parametrize(
    ("specs", "lacks"),
    [
        (["battery", "lengths", "classes:2", "fuzz:2000"], ()),
        (["battery", "lengths:1100", "classes", "fuzz", "concat:5"], ()),
        (["battery", "lengths:small", "classes:3/48", "fuzz:2001"], ()),
        (["battery", "lengths:1099", "classes:2", "fuzz:2000"], ("lengths",)),
        (["lengths", "classes:1", "fuzz:1999"], ("battery", "classes", "fuzz")),
        (["classes:1", "classes:2/9", "sample"], ("battery", "lengths", "fuzz")),
        (["sample"], ("battery", "lengths", "classes", "fuzz")),
    ],
)
def test_what_a_suite_lacks_to_prove_a_build(specs: list[str], lacks: tuple[str, ...]) -> None:
    text = "\n".join(f'[[corpus]]\nspec = "{spec}"' for spec in specs)
    assert lacking(parse(text, name="t", where="t")) == lacks


def test_the_gates_lack_nothing_and_special_tokens_alone_prove_nothing() -> None:
    assert [lacking(load_suite(name)) for name in ("gate", "gate-light", "gate-short")] == [(), (), ("lengths",)]
    text = '[[corpus]]\nspec = "battery"\nspecials = ["on"]'
    assert "battery" in lacking(parse(text, name="t", where="t"))
