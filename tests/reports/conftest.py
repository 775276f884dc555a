"""A store made by hand, row by row, from the stated schema: what a report is given, without running any engine."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

OPERATIONS = ("encode", "encode_batch", "decode", "offsets")
# corpus -> (spec, documents a domain)
CORPORA = {
    "battery": ("battery", {"neutral": 702, "unicode": 41, "bytes": 389}),
    "fuzz": ("fuzz:4821", {"neutral": 1190, "unicode": 310, "bytes": 3321}),
    "sample": ("sample", {"neutral": 2480, "unicode": 3}),
}
# engine -> (version, requirement, unicode, byte policy, operations it has)
ENGINES = {
    "dat-bpe": ("0.1.0", "tokassay", "16.0", "byte-alphabet", OPERATIONS),
    "tiktoken": ("0.14.0", "tiktoken==0.14.0", "16.0", "tiktoken-bytes", OPERATIONS[:3]),
    "tokenizers": ("0.23.3", "tokenizers==0.23.3", "15.0", "reject", OPERATIONS),
}
ENVIRONMENT = {
    "python": "3.11.9",
    "implementation": "CPython",
    "platform": "Linux-6.1.0-x86_64",
    "cpu": "Example CPU 9000",
    "cpu_features": ["avx2", "bmi2"],
    "cores": 2,
    "usable_cores": 2,
    "memory": 8 * 2**30,
    "packages": {"numpy": "2.4.6", "tiktoken": "0.14.0"},
}


def sha(*parts: object) -> str:
    return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()


class StoreBuilder:
    """Writes rows of one run; whatever is not said is a plausible default."""

    def __init__(self, path: Path, run: str = "5f0c1d2e3a4b") -> None:
        self.path, self.run = path, run
        self.db = sqlite3.connect(path)
        self.db.executescript(files("tokassay.harness").joinpath("schema.sql").read_text(encoding="utf-8"))
        self.divergences = 0

    def insert(self, table: str, **row: Any) -> int:
        values = [json.dumps(v) if isinstance(v, dict | list) else v for v in row.values()]
        marks = ", ".join("?" * len(row))
        cursor = self.db.execute(f"INSERT OR IGNORE INTO {table} ({', '.join(row)}) VALUES ({marks})", values)
        return int(cursor.lastrowid or 0)

    def begin(self, **more: Any) -> None:
        row = {
            "id": self.run,
            "started": "2026-03-01T09:00:00Z",
            "finished": "2026-03-01T09:00:31Z",
            "suite": "smoke",
            "command": "tokassay audit --suite smoke --seed 7",
            "seed": 7,
            "jobs": 2,
            "exit_code": 0,
            "tokassay": "0.1.0",
            "environment": ENVIRONMENT,
        }
        self.insert("run", **{**row, **more})

    def contract(self, unicode: str, policy: str, specials: str = "off", name: str = "gpt2") -> str:
        core = {
            "algorithm": "bpe-ranks",
            "pretokenizer": ["'s| ?\\p{L}+"],
            "specials": specials,
            "vocabulary": sha("gpt2"),
        }
        body = {**core, "unicode": unicode, "byte_policy": policy}
        digest = sha("contract", json.dumps(body, sort_keys=True))[:16]
        self.insert(
            "contract",
            digest=digest,
            core=sha("core", json.dumps(core, sort_keys=True))[:16],
            name=name,
            body=json.dumps(body, sort_keys=True),
        )
        return digest

    def build(self, engine: str, version: str, requirement: str) -> str:
        digest = sha("build", engine, version)[:16]
        self.insert(
            "build",
            digest=digest,
            engine=engine,
            version=version,
            requirement=requirement,
            lock=sha("lock", engine),
            adapter=sha("adapter", engine),
            host=sha("host"),
            python="3.11.9",
            platform="linux-x86_64-avx2",
            limits={"memory_mb": 2048, "timeout_s": 60},
        )
        return digest

    def corpus(self, name: str, spec: str, documents: int, **more: Any) -> None:
        row = {"run": self.run, "name": name, "spec": spec, "seed": 7, "documents": documents, "bytes": documents * 90}
        self.insert("corpus", **{**row, "problems": {}, **more})

    def cell(
        self,
        corpus: str,
        domain: str,
        engine: str,
        operation: str,
        contract: str,
        build: str,
        verdicts: dict[str, int],
        *,
        ordinal: int = 0,
        digest: str | None = None,
        expected: str | None = None,
        documents: int | None = None,
        reused: int = 0,
        ns: int = 4_000_000,
    ) -> None:
        due = sum(verdicts.values()) if documents is None else documents
        # Neutral documents have one answer whatever the variants, and a batch has the answers of its documents.
        kind = "encode" if operation == "encode_batch" else operation
        variant = "" if domain == "neutral" else contract
        expected = sha("block", corpus, domain, ordinal, kind, variant) if expected is None else expected
        result = self.insert(
            "result",
            key=sha(corpus, domain, ordinal, engine, operation, contract)[:32],
            run=self.run,
            contract=contract,
            operation=operation,
            entry_point=f"{engine}.{operation}",
            build=build,
            oracle=sha("oracle"),
            block=sha("documents", corpus, domain, ordinal),
            modifiers={"threads": 2},
            digest=expected if digest is None else digest,
            expected=expected,
            ids=due * 20,
            ns=ns,
            cpu_ns=ns,
            host_ns=900_000,
            hash_ns=600_000,
            verdicts=verdicts,
            rows=[],
        )
        self.insert(
            "run_result",
            run=self.run,
            corpus=corpus,
            domain=domain,
            ordinal=ordinal,
            documents=due,
            bytes=due * 90,
            engine=engine,
            result=result,
            reused=reused,
        )

    def divergence(self, **more: Any) -> None:
        row = {
            "run": self.run,
            "ordinal": self.divergences,
            "signature": f"s{self.divergences}",
            "verdict": "declared",
            "contract": "gpt2",
            "engine": "tiktoken",
            "against": "oracle",
            "operation": "encode",
            "corpus": "battery",
            "domain": "bytes",
            "documents": 12,
            "first": "bytes/ff",
            "input": "61ff62",
            "token": 1,
            "got": [64, 187, 65],
            "expected": [64, 126, 65],
            "stage": "classify",
            "explanation": "At byte 1 the value FF is a letter under byte-alphabet and joins the piece before it.",
            "command": "tokassay diff tiktoken oracle --vocab gpt2 --hex 61ff62",
        }
        self.insert("divergence", **{**row, **more})
        self.divergences += 1

    def close(self) -> Path:
        self.db.commit()
        self.db.close()
        return self.path


def verdicts(engine: str, domain: str, operation: str, documents: int) -> dict[str, int]:
    """What an honest engine of ENGINES shows on a block."""
    policy, operations = ENGINES[engine][3:]
    if operation not in operations:
        return {"unsupported": documents}
    if domain == "bytes" and policy == "reject":
        return {"reject": documents}
    if domain == "bytes" and policy == "tiktoken-bytes":
        return {"match": documents - documents // 3, "declared": documents // 3}
    if domain == "unicode" and engine == "tokenizers":
        return {"match": documents - 1, "declared": 1}
    return {"match": documents}


def fill(store: StoreBuilder, change: Callable[..., dict[str, Any] | None] | None = None) -> None:
    """All of CORPORA with all of ENGINES; what `change` returns for a cell replaces arguments of it."""
    for corpus, (spec, domains) in CORPORA.items():
        store.corpus(corpus, spec, sum(domains.values()))
        for engine, (version, requirement, unicode, policy, _) in ENGINES.items():
            contract = store.contract(unicode, policy)
            build = store.build(engine, version, requirement)
            for domain, documents in domains.items():
                for operation in OPERATIONS:
                    found = verdicts(engine, domain, operation, documents)
                    more: dict[str, Any] = {"verdicts": found}
                    if "unsupported" in found:
                        more.update(digest="")
                    more.update((change and change(corpus, domain, engine, operation, documents)) or {})
                    store.cell(corpus, domain, engine, operation, contract, build, **more)


def agreed(path: Path) -> Path:
    """A run in which all is well; one declared difference is explained."""
    store = StoreBuilder(path)
    store.begin()
    fill(store)
    store.divergence(documents=1236)
    store.divergence(
        engine="tokenizers",
        domain="unicode",
        corpus="sample",
        documents=1,
        first="udhr/new-letter",
        input="616263e1b289",
        token=1,
        got=[39305, 157, 110, 231],
        expected=[39305, 28053, 231],
        explanation="U+1C89 is a letter since Unicode 16.0 and unassigned in 15.0, which tokenizers declares.",
        command="tokassay diff tokenizers oracle --vocab gpt2 --hex 616263e1b289",
    )
    return store.close()


def failing(path: Path) -> Path:
    """A run with a difference, a crash, timeouts and hostile text in every field that a page shows."""
    store = StoreBuilder(path)
    store.begin(exit_code=1, command="tokassay audit --roster private.toml --seed 7")

    def change(corpus: str, domain: str, engine: str, operation: str, documents: int) -> dict[str, Any] | None:
        if (corpus, domain, engine, operation) == ("battery", "bytes", "dat-bpe", "encode"):
            return {"verdicts": {"match": documents - 5, "differ": 5}, "digest": sha("wrong")}
        if (corpus, domain, engine) == ("fuzz", "bytes", "tokenizers") and operation == "encode_batch":
            return {"verdicts": {"reject": documents - 4, "crash": 1, "timeout": 3}, "digest": ""}
        return None

    fill(store, change)
    store.divergence(documents=1236)
    store.divergence(
        verdict="differ",
        engine="dat-bpe",
        documents=5,
        input="e0407970",
        token=0,
        got=[26, 79, 56],
        expected=[160, 31, 88, 79],
        stage="scan",
        first="lead-byte/e0",
        operation="encode",
        explanation="At byte 0 dat-bpe accepted width 3 from the lead E0; the contract takes E0 alone.",
        command="tokassay diff dat-bpe oracle --vocab gpt2 --hex e0407970",
    )
    hostile = "<script>alert(1)</script> \u202egnp.exe\u2069 <img src=x>`|` שלום e\u0301 \x1b[31m".encode()
    hostile += b"\xff\x00\\" + b"A" * 120
    store.divergence(
        verdict="crash",
        engine="tokenizers",
        documents=1,
        input=hostile.hex(),
        token=None,
        got=[],
        expected=list(range(40)),
        stage="process",
        corpus="fuzz",
        first="fuzz/<b>1203</b>\u202e",
        operation="encode_batch",
        explanation="The process died by SIGSEGV on <i>this</i> document\u2028.",
        command="tokassay diff tokenizers oracle --vocab gpt2 --hex " + hostile.hex(),
    )
    store.divergence(
        verdict="timeout",
        engine="tokenizers",
        documents=3,
        input="20" * 60,
        token=None,
        got=[],
        expected=[220] * 40,
        stage="process",
        corpus="fuzz",
        first="fuzz/88",
        operation="encode_batch",
        explanation="No answer within 60 s.",
        command="tokassay diff tokenizers oracle --vocab gpt2 --hex " + "20" * 60,
    )
    return store.close()


def nothing(path: Path) -> Path:
    """A run in which no engine could serve the contract."""
    store = StoreBuilder(path)
    store.begin(exit_code=4)
    fill(
        store,
        lambda corpus, domain, engine, operation, documents: {"verdicts": {"unsupported": documents}, "digest": ""},
    )
    return store.close()


SCENARIOS = {"agreed": agreed, "failing": failing, "nothing": nothing}


@pytest.fixture(scope="session")
def scenario_in() -> Callable[[str, Path], Path]:
    """scenario_in("failing", folder) -> the path of such a store, for fixtures that outlive a test."""
    return lambda name, folder: SCENARIOS[name](folder / f"{name}.sqlite")


@pytest.fixture
def scenario(tmp_path: Path) -> Callable[[str], Path]:
    """scenario("failing") -> the path of such a store."""
    return lambda name: SCENARIOS[name](tmp_path / f"{name}.sqlite")


@pytest.fixture
def builder(tmp_path: Path) -> Iterator[Callable[[], StoreBuilder]]:
    """builder() -> an empty store with the schema and no run."""
    yield lambda: StoreBuilder(tmp_path / "built.sqlite")


@pytest.fixture
def filled() -> Callable[..., None]:
    """The function `fill`, for tests that spoil one cell."""
    return fill


@pytest.fixture
def store_at() -> Callable[[Path, str], StoreBuilder]:
    """store_at(path, run) -> an empty store with the schema, for a run of that id."""
    return StoreBuilder
