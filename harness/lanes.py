"""Lanes: which engines take part under which contract, opened once to learn what they are before the audit."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from tokassay.engines.client import Host, HostFailure, HostTimeout, Unsupported, told, wants_network
from tokassay.engines.environments import absence, lock_path, missing, remedy, with_version
from tokassay.engines.roster import EngineSpec, load_roster
from tokassay.harness import environment
from tokassay.harness.ask import Asker, Isolating, failure
from tokassay.harness.contract import Contract
from tokassay.harness.domains import DOMAINS
from tokassay.harness.errors import InputError
from tokassay.harness.expect import governing
from tokassay.harness.hosts import installed, nearest, open_host
from tokassay.harness.load import Loaded, load_vocabulary
from tokassay.harness.store import Store
from tokassay.harness.suites import Suite
from tokassay.harness.tasks import ORACLE, Lane, Subject
from tokassay.harness.variants import declared
from tokassay.oracles.decisions import STAGES

# Why an engine cannot take part ("" where it can), how it failed, what it says of itself.
Tried = tuple[str, tuple[str, str] | None, dict[str, Any]]
ALL, INSTALLED = "all", "installed"  # in the place of an engine's name
ROW = "!"  # behind a name: where it cannot be asked, it is a row with the reason


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """A loaded vocabulary of the suite, and its tokens by id."""

    name: str
    loaded: Loaded

    @cached_property
    def tokens(self) -> tuple[bytes | None, ...]:
        table = self.loaded.vocabulary.ids()
        return tuple(table.get(i) for i in range(max(table, default=-1) + 1))

    @property
    def specials(self) -> tuple[str, ...]:
        return self.loaded.contract.texts


class Lanes:
    """The engines of a suite under its vocabularies. Raises InputError for what the suite names and nobody has."""

    def __init__(
        self, suite: Suite, roster: Iterable[Path], pattern: str | None, variants: dict[str, str], threads: int,
        more: Iterable[EngineSpec] = (),
    ) -> None:
        self.suite, self.variants, self.threads = suite, variants, threads
        self.pattern = pattern
        self.roster = load_roster(*roster) | {spec.name: spec for spec in more}
        self.notes: list[str] = []
        self.engines = [spec for name in self._names() if (spec := self._engine(name)) is not None]
        self._platform = environment.platform_key()
        self._loaded: dict[tuple[str, str], Loaded] = {}
        self._spare: dict[tuple[str, str], list[Host]] = {}
        self._isolating: dict[str, Isolating] = {}
        self._hung: dict[tuple[str, int], tuple[str, str]] = {}
        self._lock = threading.Lock()
        self.builds: dict[str, dict[str, Any]] = {}

    def _names(self) -> list[str]:
        """The suite's engines, each once; `installed` stands for all of the roster that are, `all` for every one, those
        that cannot be asked being rows with the reason."""
        everybody = [f"{name}{ROW}" for name in self.roster]
        here = [name for name, spec in self.roster.items() if installed(spec)]
        meant = {ALL: everybody, INSTALLED: here}
        found = [name for asked in self.suite.engines for name in meant.get(asked, [asked])]
        return list({name.rstrip(f"?{ROW}"): name for name in found}.values())

    def _engine(self, name: str) -> EngineSpec | None:
        """The engine, or None where it is not installed and need not be. NAME? need not; NAME! is a row with its reason
        then, and so is one that is unavailable and was asked for by name."""
        name, sign = name.rstrip(f"?{ROW}"), name[-1]
        spec = self._find(name)
        if reason := absence(spec):
            if sign == "?":
                self.notes.append(f"{name} takes no part: {reason}")
                return None
            if sign != ROW and not spec.unavailable:
                raise InputError(missing(spec), where="--engine", remedy=remedy(spec))
            self.notes.append(f"{name} cannot be asked: {reason}")
        if spec.notes:
            self.notes.append(f"{name}: {spec.notes}")
        return spec

    def _find(self, name: str) -> EngineSpec:
        """An engine of the roster; NAME==VERSION joins it, as a row of its own beside the pinned one."""
        bare, _, version = name.partition("==")
        if bare not in self.roster and name not in self.roster:
            raise InputError(f"no engine named {bare}", where="--engine", remedy=nearest(bare, self.roster))
        if version and name not in self.roster:
            self.roster[name] = replace(with_version(self.roster[bare], version), name=name)
        return self.roster[name]

    def vocabularies(self) -> list[Vocabulary]:
        """The suite's vocabularies, loaded; their notes join ours."""
        found: list[Vocabulary] = []
        for name in self.suite.vocabularies:
            loaded = load_vocabulary(name, pattern=self.pattern)
            self.notes.extend(f"{name}: {note}" for note in (*loaded.notes, *loaded.unmodelled))
            same = next((v.name for v in found if v.loaded.contract == loaded.contract), None)
            if same is not None:
                self.notes.append(f"{name} is the contract of {same} in another file, and is audited once")
                continue
            self.notes.append(f"{name}: {shown(loaded)}")
            found.append(Vocabulary(name, loaded))
        self._join(dict.fromkeys(vocabulary.loaded.contract.algorithm for vocabulary in found))
        return found

    def _join(self, algorithms: Iterable[str]) -> None:
        """Where no engine of the suite serves an algorithm and none was asked for, those of the roster take part; the
        suite's that then have nothing to do do not."""
        for algorithm in algorithms:
            if self.suite.chosen or any(algorithm in spec.algorithms for spec in self.engines):
                continue
            serving = [spec.name for spec in self.roster.values() if algorithm in spec.algorithms]
            joined = [spec for each in serving if (spec := self._engine(f"{each}?")) is not None]
            if not joined:
                continue
            idle = [spec for spec in self.engines if not set(algorithms).intersection(spec.algorithms)]
            self.engines = [spec for spec in self.engines if spec not in idle] + joined
            instead = f" and not {', '.join(spec.name for spec in idle)}" if idle else ""
            self.notes.append(f"{algorithm} is served by {', '.join(spec.name for spec in joined)}{instead}")

    @cache  # noqa: B019 - an audit has one Lanes; each engine is opened once a contract
    def subject(
        self, vocabulary: Vocabulary, specials: str, oracle: str, part: tuple[str, ...] = ()
    ) -> tuple[Subject, tuple[Lane, ...]]:
        """What one vocabulary and special-token policy are held to, and the lanes of every engine, or of those of a
        part."""
        asked = vocabulary.loaded.contract.with_variants(specials=specials, **self.variants)
        tokens = vocabulary.tokens
        lengths = np.array([len(t or b"") for t in tokens], dtype=np.uint32)
        known = frozenset(vocabulary.loaded.vocabulary.tokens)
        reaches = vocabulary.loaded.vocabulary.reaches
        subject = Subject(vocabulary.name, asked, oracle, tokens, lengths, known, reaches)
        specs = [spec for spec in self.engines if not part or spec.name in part]
        contracts = [self._stands(spec, vocabulary, asked) for spec in specs]
        # Some packages take a minute to load a vocabulary: nobody else need wait for them.
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            tried = list(pool.map(self._try, specs, contracts))
        return subject, tuple(map(self._lane, specs, contracts, tried))

    def parts(self, vocabulary: Vocabulary, most: int) -> list[tuple[str, ...]]:
        """The engines, parted so that no more than `most` have a host at a time. Those of an opaque contract stay
        together, as they are held to each other; who does not serve the contract has no host."""
        algorithm = vocabulary.loaded.contract.algorithm
        serving = [spec.name for spec in self.engines if algorithm in spec.algorithms]
        size = len(serving) if algorithm == "opaque" else most
        found = [tuple(serving[at : at + size]) for at in range(0, len(serving), max(size, 1))] or [()]
        others = tuple(spec.name for spec in self.engines if spec.name not in serving)
        return [found[0] + others, *found[1:]]

    def _stands(self, spec: EngineSpec, vocabulary: Vocabulary, asked: Contract) -> Contract:
        """The contract in the engine's own variants; what may be loaded for it is known from now on."""
        # An engine that can be told a variant, as ours can, has the one that is asked for; the others declare theirs.
        contract = asked.with_variants(**declared(spec, asked))
        entry_points = [contract.with_variants(byte_policy=policy) for policy in spec.byte_policies.values()]
        self._loaded[spec.name, contract.digest] = vocabulary.loaded
        for held in (asked, contract, *entry_points):
            spoken = (governing(held, asked, domain, again) for domain in DOMAINS for again in (False, True))
            for one in (held, *spoken):
                self._loaded[ORACLE, one.digest] = vocabulary.loaded
        return contract

    def _lane(self, spec: EngineSpec, contract: Contract, tried: Tried) -> Lane:
        unsupported, failed, hello = tried
        # Known only now that the engine has the contract: on which path of its own it serves it, say.
        limits = hello.get("limits")
        if hello and (not isinstance(limits, dict) or limits.get("network") != "none"):
            self._say("engines are not kept from the network here: this user may make no network namespace")
        for note in hello.get("notes", ()):
            self._say(f"{spec.name}: {note}")
        return Lane(
            engine=spec.name,
            contract=contract,
            build=self._build(spec, hello),
            platform=self._platform,
            operations=frozenset(spec.operations),
            offset_unit=str(hello.get("offset_unit", "bytes")),
            entry_points=spec.entry_points,
            traces=bool(hello.get("trace")),
            stages=frozenset(hello.get("stages") or STAGES),
            modifiers={"threads": self.threads},
            unsupported=unsupported,
            failed=failed,
            byte_policies=spec.byte_policies,
        )

    def _try(self, spec: EngineSpec, contract: Contract) -> Tried:
        """Open the engine once. One that hung on a vocabulary is not given it again with the other special-token
        policy: some minutes each time are most of an audit's."""
        if spec.unavailable:
            return spec.unavailable, None, {}
        if contract.algorithm not in spec.algorithms:
            return f"serves {', '.join(spec.algorithms)}, not {contract.algorithm}", None, {}
        if contract.specials not in spec.specials:
            return f"cannot have special tokens {contract.specials}", None, {}
        if reason := absence(spec):
            return reason, None, {}
        hung = spec.name, id(self._loaded[spec.name, contract.digest])
        if hung in self._hung:
            return "", self._hung[hung], {}
        try:
            host = self._open(spec.name, contract)
            try:
                hello = host.hello()
            except BaseException:
                host.close()
                raise
        except Unsupported as error:
            return str(error), None, {}
        except HostFailure as error:
            if wants_network(error):
                return told(error), None, {}  # nobody's ids are wrong: it is refused what it asks for
            verdict, why = failure(error)
            failed = verdict, f"it does not start or load: {why}; see: tokassay engines check {spec.name}"
            if isinstance(error, HostTimeout):
                self._hung[hung] = failed
            return "", failed, {}
        lacking = [op for op in spec.operations if op not in hello.get("operations", ())]
        if lacking:
            # A capability that is declared and then passed over in silence is how a fault hides for a year.
            host.close()
            return "", ("error", f"the roster declares {', '.join(lacking)} and the adapter has none"), hello
        with self._lock:
            self._spare.setdefault((spec.name, contract.digest), []).append(host)
        return "", None, hello

    def _say(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def _open(self, engine: str, contract: Contract) -> Host:
        return open_host(
            engine, self._loaded[engine, contract.digest], contract, roster=self.roster, threads=self.threads
        )

    def _build(self, spec: EngineSpec, hello: dict[str, Any]) -> str:
        """The digest of the engine's build; its row is kept for the store."""
        row = {
            "engine": spec.name,
            "version": str(hello.get("version", "not loaded")),
            "requirement": spec.requirement,
            "lock": hashlib.sha256(
                f"{spec.build_digest(lock_path(spec) if spec.environment == 'own' else None)}"
                f" {environment.installation(spec.requirement)}".encode()
            ).hexdigest(),
            "adapter": str(hello.get("adapter_sha256", "")),
            "host": str(hello.get("host_sha256", "")),
            "python": str(hello.get("python", "")),
            "platform": self._platform,
            "limits": hello.get("limits", {}),
        }
        digest = hashlib.sha256(repr(sorted(row.items())).encode()).hexdigest()[:16]
        self.builds[digest] = {"digest": digest, **row}
        return digest

    def write_builds(self, store: Store) -> None:
        for row in self.builds.values():
            store.insert("build", row, keep=True)

    def asker(self, engine: str, contract: Contract) -> Asker:
        """An Asker for a worker; takes over a host that is open and idle, where there is one."""

        def open_one() -> Host:
            with self._lock:
                spare = self._spare.get((engine, contract.digest), [])
                if spare:
                    return spare.pop()
            return self._open(engine, contract)

        with self._lock:
            isolating = self._isolating.setdefault(engine, Isolating())
        return Asker(open_one, threads=self.threads, isolating=isolating)

    def close(self) -> None:
        for hosts in self._spare.values():
            for host in hosts:
                host.close()
        self._spare.clear()


def shown(loaded: Loaded) -> str:
    """A contract in one line: what an audit of this vocabulary holds engines to."""
    c = loaded.contract
    parts = [f"contract {c.digest}", c.algorithm]
    if c.algorithm != "opaque":
        parts += [
            f"{len(loaded.vocabulary.tokens):,} tokens",
            f"pretokenizer {' then '.join(c.pretokenizer) or 'none'}",
        ]
    parts += [f"normalizer {c.normalizer}"] if c.normalizer != "none" else []
    parts += [f"{len(c.special_tokens)} special tokens"] if c.special_tokens else []
    parts += [f"{len(c.added_tokens)} added tokens"] if c.added_tokens else []
    parts += [name for name in ("ignore_merges", "add_prefix_space", "byte_fallback") if getattr(c, name)]
    parts += [f"white space {' '.join(c.whitespace)}"] if c.whitespace else []
    parts += [f"post-processor {c.post_processor}, not applied"] if c.post_processor != "none" else []
    return ", ".join(parts)


def _sha256(*words: str) -> str:
    return hashlib.sha256(" ".join(words).encode()).hexdigest()
