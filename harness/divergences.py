"""Divergences: the findings of a run, de-duplicated by signature (signature.py): thousands of failing documents are
usually five."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tokassay.harness.blocks import Names
from tokassay.harness.explain import NOT_ISOLATED, WINDOW, process_finding
from tokassay.harness.hosts import Target
from tokassay.harness.judge import EXPLAINED
from tokassay.harness.load import Loaded
from tokassay.harness.signature import Signature
from tokassay.harness.store import Result, Store

SHOWN = frozenset({"differ", "declared", "flaky", "crash", "error", "timeout", "oom"})
# What an audit exits with 1 for; `declared`, `reject` and `unsupported` are facts, not failures.
FAILED = frozenset({"differ", "flaky", "crash", "error", "timeout", "oom"})
LARGEST = 1 << 20  # bytes of a document that is kept whole: the store is no place for corpora


@dataclass(frozen=True)
class Witness:
    """A whole document that shows a divergence, who was asked about it, and how: what a reduction starts from."""

    document: bytes
    left: Target
    right: Target
    loaded: Loaded
    operation: str
    specials: str


@dataclass
class Divergence:
    """One de-duplicated difference: how many documents show it, and the best of them to show."""

    verdict: str
    contract: str
    engine: str
    against: str
    signature: str
    specials: str = ""
    operations: dict[str, None] = field(default_factory=dict)
    corpus: str = ""
    domain: str = ""
    first: str = ""
    documents: int = 0
    detail: dict[str, Any] = field(default_factory=dict)
    command: str = ""
    witness: Witness | None = None


def _shows_better(new: Any, old: dict[str, Any]) -> bool:
    """Whether a document is the better one to show: traced rather than inferred, then the shorter one."""

    def rank(detail: dict[str, Any]) -> tuple[bool, bool, int]:
        # An empty input is no input: the documents past the explained ones have none.
        shown = len(detail.get("input", ""))
        return not shown, detail.get("explanation", "").startswith("inferred"), shown

    return rank(new or {}) < rank(old)


class Divergences:
    """Collects a run's rows block by block."""

    def __init__(self, reproduce: str) -> None:
        # The audit command that repeats a cell, without its --corpus, --engine and --vocab.
        self._reproduce = reproduce
        self._found: dict[Signature, Divergence] = {}

    def add(
        self,
        result: Result,
        *,
        contract: str,
        engine: str,
        own: str,
        asked: str,
        corpus: str,
        spec: str,
        domain: str,
        name_of: Names,
        indices: list[int],
        specials: str,
        witness: Callable[[int], Witness] | None = None,
    ) -> None:
        """One block's result. `own` and `asked` name the oracle under the engine's and the audit's variants; `corpus`
        is the corpus's name in the run and `spec` what `--corpus` takes for it; `witness(i)` is what a reduction of
        the block's document `i` would start from."""
        for i, verdict, detail in result.rows:
            if verdict not in SHOWN:
                continue
            if i < 0:  # the block as a whole: the engine did not start or load
                detail = process_finding(verdict, detail, b"").detail()
            signature = detail["signature"] if detail else "not examined one by one"
            if verdict == "declared":
                # One line a variant: both oracles were asked, so every one of these is explained by their rules, and
                # the decisions on either side vary with every byte of a fuzz document.
                signature = f"{own} for {asked}"
            against = asked if verdict == "declared" else own
            # The oracle is one engine, whatever the variants: a block's domain decides which of them its name shows.
            engines = engine, against.partition(":")[0].partition("@")[0]
            key = Signature(f"{contract}, specials {specials}", engines, verdict, signature)
            found = self._found.get(key)
            if found is None:
                found = self._found[key] = Divergence(verdict, contract, engine, against, signature, specials)
            if not found.command or _shows_better(detail, found.detail):
                found.corpus, found.domain = corpus, domain
                found.first = name_of[indices[i]] if i >= 0 else "every document"
                found.detail = detail or {}
                # The document of a row that is like another is not the one that the detail is of.
                if witness is not None and i >= 0 and verdict in FAILED and found.detail.get("stage"):
                    seen = witness(i)
                    found.witness = seen if len(seen.document) <= LARGEST else None
                found.command = self._command(found, own, specials, spec, result.operation)
            found.documents += 1 if i >= 0 else result.verdicts[verdict]
            found.operations.setdefault(result.operation)

    def _command(self, found: Divergence, own: str, specials: str, spec: str, operation: str) -> str:
        """A command that shows the divergence: on the input itself where it is whole, else on its corpus."""
        shown = found.detail.get("input", "")
        by_ids = found.detail.get("stage") not in ("decode", "offsets")  # `diff` compares ids
        if shown and by_ids and len(shown) < 2 * WINDOW:
            left = own if found.verdict == "declared" else found.engine
            flag = ["--specials"] if specials == "on" else []
            words = ["tokassay", "diff", left, found.against, "--vocab", found.contract, *flag, "--hex", shown]
            return shlex.join(words)
        words = ["--vocab", found.contract, "--engine", found.engine, "--corpus", spec]
        words += ["--operation", operation, "--specials", specials]
        return f"{self._reproduce} {shlex.join(words)}"

    @property
    def all(self) -> list[Divergence]:
        """Failures first, then the declared ones; the most documents first, but those that were not looked at last."""

        def place(d: Divergence) -> tuple[bool, bool, int, str, str]:
            return d.verdict not in FAILED, d.signature.endswith(NOT_ISOLATED), -d.documents, d.engine, d.signature

        return sorted(self._found.values(), key=place)

    def write(self, store: Store, run: str) -> None:
        for ordinal, d in enumerate(self.all):
            detail = d.detail
            store.insert(
                "divergence",
                {
                    "run": run,
                    "ordinal": ordinal,
                    "signature": d.signature,
                    "verdict": d.verdict,
                    "contract": d.contract,
                    "engine": d.engine,
                    "against": d.against,
                    "operation": ", ".join(d.operations),
                    "corpus": d.corpus,
                    "domain": d.domain,
                    "documents": d.documents,
                    "first": d.first,
                    "input": detail.get("input", ""),
                    "token": detail.get("token"),
                    "got": json.dumps(detail.get("got", [])),
                    "expected": json.dumps(detail.get("expected", [])),
                    "stage": detail.get("stage", ""),
                    "explanation": detail.get(
                        "explanation",
                        f"further documents with this verdict; {EXPLAINED} of a block are examined one by one",
                    ),
                    "command": d.command,
                },
            )
