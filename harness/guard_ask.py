"""Asking one engine for the ids of whole corpora: to freeze them, and to hold them to frozen ones."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from tokassay.corpora.corpus import ContentHash
from tokassay.corpora.open import SOURCES, open_corpus
from tokassay.corpora.prepared import real_names
from tokassay.corpora.readers.paths import split_spec
from tokassay.engines.client import Host, HostFailure, Unsupported
from tokassay.engines.environments import installed
from tokassay.engines.frames import Spans
from tokassay.engines.roster import EngineSpec
from tokassay.harness import transformers_guard
from tokassay.harness.ask import Asker
from tokassay.harness.blocks import Block, Names, cut
from tokassay.harness.compare import Output, joined
from tokassay.harness.contract import Contract
from tokassay.harness.domains import DOMAINS
from tokassay.harness.errors import INFRASTRUCTURE, InputError
from tokassay.harness.golden_file import KEPT, Frozen, Part
from tokassay.harness.hosts import Target, open_host, target
from tokassay.harness.load import Loaded


def find_target(engine: str, contract: Contract, roster: Mapping[str, EngineSpec]) -> Target:
    meant = target(engine, contract, roster, "--engine")
    if not installed(meant.spec):
        raise InputError(
            f"{meant.spec.requirement} is not installed", where="--engine",
            remedy=f"run `tokassay engines install {engine}` first",
        )
    return meant


def is_path(spec: str) -> bool:
    """Whether a corpus spec is a path, and no source and no catalogued text."""
    return spec.partition(":")[0] not in SOURCES and spec not in real_names()


def seen_from(folder: Path, spec: str) -> str:
    """A corpus spec with its path as seen from `folder`, so that a file and its texts may move together."""
    path, kind, field = split_spec(spec)
    if not is_path(spec) or not path.exists():
        return spec
    more = f"@{kind}" if kind else ""
    return f"{relative(path, folder)}{more}{f':{field}' if field else ''}"


def relative(path: Path, folder: Path) -> str:
    """`path` as seen from `folder`, with `/` between."""
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()


def special_texts(loaded: Loaded) -> tuple[str, ...]:
    """The texts of special and added tokens, also of a tokenizer.json that is not modelled."""
    if loaded.contract.algorithm != "opaque":
        return loaded.contract.texts
    if loaded.format != "tokenizer.json":
        return ()
    return tuple(dict.fromkeys(row["content"] for row in transformers_guard.added_tokens(loaded.source_path)))


class Asking:
    """One engine with one vocabulary, asked corpus by corpus. A host a special-token policy, when needed."""

    def __init__(
        self, loaded: Loaded, meant: Target, roster: Mapping[str, EngineSpec], texts: Sequence[str], folder: Path
    ) -> None:
        """`texts`: those of special tokens, for corpora made of them. Paths of corpora are as seen from `folder`."""
        self.loaded, self.target, self._texts, self._folder = loaded, meant, texts, folder
        self._roster = {**roster, meant.spec.name: meant.spec}
        self._askers: dict[str, Asker] = {}

    def __enter__(self) -> Asking:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for asker in self._askers.values():
            asker.stop()

    def asker(self, specials: str) -> Asker:
        """The engine under `specials`. Its `host` raises Unsupported where the engine cannot serve this."""
        if specials not in self._askers:
            contract = self.target.contract.with_variants(specials=specials)

            def start() -> Host:
                return open_host(self.target.spec.name, self.loaded, contract, roster=self._roster)

            self._askers[specials] = Asker(start)
        return self._askers[specials]

    def hello(self) -> dict[str, str]:
        """Name, version, interpreter and platform of the engine, by its own word. Raises InputError."""
        spec = self.target.spec
        try:
            head = self.asker("off").host.hello()
        except Unsupported as error:
            raise InputError(
                f"{spec.name} does not serve this vocabulary: {error.detail}", where="--engine",
                remedy="name an engine that does: tokassay engines list",
            ) from None
        except HostFailure as error:
            raise InputError(
                f"{spec.name} does not load it: {error.verdict} ({error.detail})", where="--engine",
                remedy="load it with the engine by itself, or name another", exit_code=INFRASTRUCTURE,
            ) from None
        version = str(head["version"])
        asked = spec.pinned if "==" in self.target.name else ""
        if asked and version != asked:
            raise InputError(
                f"it says that it is {version}", where=f"--engine {self.target.name}",
                remedy="install that version in this environment, or name the one that is there",
            )
        system = f"{platform.system().lower()}-{platform.machine()}"
        return {"name": spec.name, "version": version, "python": str(head["python"]), "platform": system}

    def blocks(self, spec: str, seed: int, names: Names, state: ContentHash) -> Iterator[Block]:
        """The blocks of a corpus; `state` sees all its documents, `names` learns what they are called."""
        if is_path(spec):
            spec = str(self._folder / spec)
        corpus = open_corpus(spec, seed=seed, tokens=dict(self.loaded.vocabulary.tokens), specials=self._texts)

        class Seen:
            def columns(self) -> Any:
                for columns in corpus.columns():
                    state.add(columns.buffer, columns.offsets)
                    yield columns

        yield from cut(Seen(), names)

    def ask(self, specials: str, block: Block) -> tuple[str, Output, dict[int, tuple[str, str]]]:
        """Digest and output of a block, and (verdict, detail) of documents that failed. Raises Unsupported."""
        asker = self.asker(specials)
        answer = asker.measure("encode", block)
        output = answer.output if answer.output is not None else asker.kept()
        return answer.digest or output.digest(block.lengths), output, answer.failures

    def freeze(self, spec: str, seed: int, specials: str) -> Frozen:
        """The corpus `spec` with the ids that the engine gives now."""
        digests: dict[str, list[str]] = {domain: [] for domain in DOMAINS}
        outputs: dict[str, list[Output]] = {domain: [] for domain in DOMAINS}
        state = ContentHash()
        for block in self.blocks(spec, seed, Names(), state):
            digest, output, _ = self.ask(specials, block)
            digests[block.domain].append(digest)
            outputs[block.domain].append(output)
        content = state.done()
        if not content.documents:
            raise InputError("no documents", where=f"--corpus {spec}", remedy="name a corpus that has some")
        parts = tuple(_part(domain, digests[domain], outputs[domain]) for domain in DOMAINS if outputs[domain])
        return Frozen(spec, seed, specials, content.documents, content.bytes, content.digest, parts)

    def offsets(self, specials: str, document: bytes) -> list[tuple[int, int]] | None:
        """Byte spans of the tokens as the engine says them; None where it does not."""
        with suppress(HostFailure):
            host = self.asker(specials).host
            output = host.encode([document], "offsets").output
            if isinstance(output, Spans) and int(output.status[0]) == 0:
                spans = output.rows()[0]
                if host.hello().get("offset_unit", "bytes") == "bytes":
                    return spans
                starts = [0, *np.cumsum([len(letter.encode()) for letter in document.decode()]).tolist()]
                return [(starts[start], starts[end]) for start, end in spans]
        return None


def _part(domain: str, digests: list[str], outputs: list[Output]) -> Part:
    whole = joined(outputs)
    status = whole.status
    keep = len(whole.values) <= KEPT
    return Part(
        domain, len(status), len(whole.values), int((status == 1).sum()), int((status == 2).sum()), tuple(digests),
        whole if keep else None,
    )
