"""A pytest plugin: files of `tokassay freeze` as tests of a user's own suite, one test a corpus.

`pytest --tokassay-golden golden.json`, or in pytest's configuration:

    [tool.pytest.ini_options]
    tokassay_golden = ["golden.json"]

The engine is the one that is installed beside pytest. Every pytest run of this environment imports this module, so it
imports nothing but pytest; the rest is loaded when there is a file to check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tokassay.harness.golden_file import Frozen
    from tokassay.harness.guard import Guard

SETTINGS = "settings"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, and the same as settings of pytest's configuration."""
    group = parser.getgroup("tokassay", "frozen token ids (tokassay freeze)")
    group.addoption(
        "--tokassay-golden", action="append", default=[], metavar="FILE", help="hold the installed engine to this file"
    )
    group.addoption(
        "--tokassay-engine", default=None, metavar="NAME", help="an engine in place of the one that the file names"
    )
    group.addoption(
        "--tokassay-roster", action="append", default=[], metavar="FILE", help="engines from outside of tokassay"
    )
    parser.addini("tokassay_golden", "files of `tokassay freeze`, as seen from here", type="paths", default=[])
    parser.addini("tokassay_roster", "roster files with further engines", type="paths", default=[])


@pytest.hookimpl(tryfirst=True)  # so that -k and -m choose among these tests too
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the tests of every file. Those that the configuration names are left out where single tests are asked for."""
    found = [Path(name) for name in config.getoption("--tokassay-golden")]
    if not any("::" in argument for argument in config.args):
        found += config.getini("tokassay_golden")
    for path in dict.fromkeys(path.absolute() for path in found):
        items += golden_items(session, path)


def golden_items(session: pytest.Session, path: Path) -> list[pytest.Item]:
    """A test for each corpus of a file, and one for the settings where it has any."""
    from tokassay.harness.errors import InputError

    try:
        needed()
        from tokassay.harness.golden_file import read_golden

        golden = read_golden(path)
    except InputError as error:
        raise pytest.UsageError(_told(error)) from None
    file = GoldenFile.from_parent(session, path=path)
    file.golden = golden
    items: list[pytest.Item] = [
        GoldenItem.from_parent(file, name=corpus.name, corpus=corpus) for corpus in golden.corpora
    ]
    if golden.settings is not None:
        items.append(GoldenItem.from_parent(file, name=SETTINGS, corpus=None))
    return items


class GoldenFile(pytest.File):
    """A file of frozen ids; its engine is started for the first of its tests and ended after the last."""

    golden: Any
    _guard: Guard | None = None

    def collect(self) -> Iterator[pytest.Item]:
        """The tests are made by `golden_items`."""
        return iter(())

    @property
    def guard(self) -> Guard:
        if self._guard is None:
            self._guard = open_guard(self.config, self.golden)
        return self._guard

    def teardown(self) -> None:
        if self._guard is not None:
            self._guard.__exit__(None, None, None)
            self._guard = None


def open_guard(config: pytest.Config, golden: Any) -> Guard:
    """The guard of a file, by pytest's options. Raises InputError."""
    load_roster, guard = needed()
    roster = load_roster(*config.getoption("--tokassay-roster"), *config.getini("tokassay_roster"))
    return guard(golden, roster, engine=config.getoption("--tokassay-engine"))


def needed() -> tuple[Any, type[Guard]]:
    """What reads rosters, and the guard. Raises InputError where packages that they need are not installed."""
    from tokassay.harness.errors import InputError

    try:
        from tokassay.engines.roster import load_roster
        from tokassay.harness.guard import Guard
    except ImportError as error:
        raise InputError(
            f"{error.name} is not installed", where="tokassay", remedy="run: pip install 'tokassay[guard]'"
        ) from None
    return load_roster, Guard


class Differs(Exception):
    """The ids are not the frozen ones; the message is what pytest shows."""


class GoldenItem(pytest.Item):
    """One corpus of a file, or (`corpus` None) its settings."""

    def __init__(self, *, corpus: Frozen | None, **more: Any) -> None:
        super().__init__(**more)
        self.corpus = corpus

    def runtest(self) -> None:
        file = self.parent
        assert isinstance(file, GoldenFile)
        lines = problems(file.guard, self.corpus)
        if lines:
            raise Differs("\n".join(lines))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Words in place of a traceback, which would show this program and not the user's tokenizer."""
        if isinstance(excinfo.value, Differs):
            return str(excinfo.value)
        if hasattr(excinfo.value, "remedy"):
            return _told(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"{self.path.name}: {self.name}"


def problems(guard: Guard, corpus: Frozen | None) -> list[str]:
    """What differs, in words; empty where nothing does. Raises InputError."""
    if corpus is None:
        changes = guard.settings()
        lines = [f"{len(changes)} settings changed:"] * bool(changes) + [f"  {change.sentence}" for change in changes]
    else:
        lines = guard.corpus(corpus).lines()
    return [*lines, *(f"changed: {line}" for line in guard.changes())] if lines else []


def _told(error: Any) -> str:
    return ": ".join(filter(None, (error.where, str(error)))) + f"; {error.remedy}"


@pytest.fixture
def tokassay_check(request: pytest.FixtureRequest) -> Callable[..., None]:
    """`tokassay_check("golden.json")` in a test: fails with the first divergent document and token of each corpus.

    `vocabulary` takes the place of the file that the golden file names.
    """

    def check(path: str | Path, *, vocabulary: str | Path | None = None) -> None:
        from tokassay.harness.errors import InputError

        config = request.config
        where = Path(path) if Path(path).is_absolute() else request.path.parent / path
        try:
            load_roster, guarding = needed()
            from tokassay.harness.golden_file import read_golden

            roster = load_roster(*config.getoption("--tokassay-roster"), *config.getini("tokassay_roster"))
            with guarding(
                read_golden(where), roster, engine=config.getoption("--tokassay-engine"),
                vocabulary=None if vocabulary is None else str(vocabulary),
            ) as guard:
                corpora = [*guard.golden.corpora, *([None] if guard.golden.settings is not None else [])]
                lines = [line for corpus in corpora for line in problems(guard, corpus)]
        except InputError as error:
            pytest.fail(_told(error), pytrace=False)
        if lines:
            pytest.fail("\n".join(dict.fromkeys(lines)), pytrace=False)

    return check
