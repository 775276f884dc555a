"""Hosts by name: which engine or oracle is meant, under which contract, opened and loaded.

A target is written NAME, NAME:POLICY, NAME@UNICODE or NAME:POLICY@UNICODE, where NAME is an engine of the roster
(NAME==VERSION: another version of it) or `oracle`; UNICODE+nfcVERSION normalizes by another one. An engine stands
under the variants it declares, the oracle under those asked for; what is written after the name takes their place.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from tokassay.corpora.fetch import cache_dir
from tokassay.engines.client import Host, Unsupported
from tokassay.engines.environments import OTHER, EnvironmentFault, installed, interpreter, with_version
from tokassay.engines.roster import EngineSpec
from tokassay.harness.contract import ALGORITHMS, Contract
from tokassay.harness.errors import InputError
from tokassay.harness.load import Loaded
from tokassay.harness.materialize import materialize
from tokassay.harness.variants import ASKED, declared, parse_variants, versions

__all__ = ["ORACLE", "Target", "find_spec", "installed", "nearest", "open_host", "oracle_spec", "target"]

ORACLE = "oracle"
ORACLE_TIMEOUT_S = 900.0  # plain Python: a long pretoken is slow there, and that is no fault


@dataclass(frozen=True)
class Target:
    """An engine or the oracle as asked for, and the contract it stands under, in its own variants."""

    name: str
    spec: EngineSpec
    contract: Contract

    @property
    def variants(self) -> str:
        """POLICY@UNICODE; +nfcVERSION where the normalizer has one of its own, +caseVERSION where lower case has."""
        return f"{self.contract.byte_policy}@{versions(self.contract)}"


def oracle_spec() -> EngineSpec:
    """The oracle as an engine of the roster: it runs in a host like the others."""
    return EngineSpec(
        name=ORACLE,
        requirement="tokassay",
        environment="project",
        adapter=Path(str(files("tokassay.oracles").joinpath("adapter.py"))),
        algorithms=tuple(each for each in ALGORITHMS if each != "opaque"),
        byte_policy=ASKED,
        unicode=ASKED,
        specials=("off", "on"),
        operations=("encode", "decode", "offsets"),
        licence="MIT",
        home="this repository",
        timeout_s=ORACLE_TIMEOUT_S,
    )


def find_spec(name: str, roster: Mapping[str, EngineSpec], where: str = "engine") -> EngineSpec:
    """The engine called `name` (or NAME==VERSION), or the oracle. Raises InputError with the nearest name."""
    if name == ORACLE:
        return oracle_spec()
    if name in roster:
        return roster[name]
    bare, _, version = name.partition("==")
    if bare not in roster:
        raise InputError(f"no engine is called {bare!r}", where=where, remedy=nearest(bare, [*roster, ORACLE]))
    return with_version(roster[bare], version) if version else roster[bare]


def nearest(name: str, known: Iterable[str]) -> str:
    """A remedy for an unknown name: the nearest known one, and all of them."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return (f"did you mean {close[0]}? " if close else "") + f"known are {', '.join(sorted(names))}"


def target(text: str, asked: Contract, roster: Mapping[str, EngineSpec], where: str = "engine") -> Target:
    """The target that `text` names, in its own variants of `asked`. Raises InputError."""
    split = re.search(r"[:@]", text)
    name = text[: split.start()] if split else text
    written = text[len(name) :].removeprefix(":")
    spec = find_spec(name, roster, where)
    if spec.unavailable:
        raise InputError(f"{name} is unavailable: {spec.unavailable}", where=where, remedy=OTHER)
    return Target(text, spec, asked.with_variants(**{**declared(spec, asked), **parse_variants(written, where)}))


def open_host(
    name: str,
    loaded: Loaded,
    contract: Contract,
    *,
    roster: Mapping[str, EngineSpec],
    threads: int = 1,
    cache: Path | None = None,
    options: Mapping[str, Any] | None = None,
    cpus: Sequence[int] = (),
    cpu_limit: bool = True,
    before_load: Callable[[Iterable[str]], None] | None = None,
    first: tuple[str, bytes] | None = None,
) -> Host:
    """A host of the engine `name` (or `oracle`), started and loaded, ready to be asked; the caller closes it.

    `contract` is `loaded.contract` under the variants and the special-token policy that are wanted; it is not
    changed. `cache` holds the files made for engines (default: the user's cache folder). `options` go to the engine's
    adapter beside the roster's; `cpus` and `cpu_limit` are the Host's. `before_load` gets the paths of the
    files, after the process has started and right before the engine reads them; `first` is Host.load's. Raises
    Unsupported where the engine cannot serve the contract, InputError for an unknown name, HostFailure where it does
    not start.
    """
    spec = find_spec(name, roster)
    if spec.unavailable:
        raise Unsupported(spec.unavailable)
    if contract.algorithm not in spec.algorithms:
        raise Unsupported(f"{name} serves {', '.join(spec.algorithms)}, not {contract.algorithm}")
    if contract.specials not in spec.specials:
        raise Unsupported(f"{name} cannot have special tokens {contract.specials}")
    try:
        python = interpreter(spec)
    except EnvironmentFault as error:
        raise Unsupported(f"{error}; {error.remedy}") from None
    paths = materialize(loaded, contract, cache or cache_dir() / "vocab")
    host = Host(spec, python, threads=threads, cpus=cpus, cpu_limit=cpu_limit)
    try:
        if before_load is not None:
            host.hello()  # the engine's package is imported
            before_load(paths.values())
        host.load(contract.to_json(), paths, options, first=first)
    except BaseException:
        host.close()
        raise
    return host
