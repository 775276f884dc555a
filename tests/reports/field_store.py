"""A store as an audit of the whole field leaves one, made by hand: many engines, vocabularies and kinds of corpus."""

from __future__ import annotations

from typing import Any

KINDS = {"battery": "battery", "fuzz:5000": "fuzz", **{
    f"field:{kind}:{part}": kind
    for kind in ("prose", "code", "verses", "scripts", "legacy", "binary", "unicode", "strings")
    for part in ("tenth", "rest")
}}  # fmt: skip
DUE = ["battery", "fuzz", "prose", "code", "verses", "scripts", "legacy", "binary", "unicode", "strings"]
SLOW = "time: the engine is slower than 1 MB/s (0.25 MB/s at best, on 70,000 bytes of real text)"


def field(
    store: Any, engines: int = 4, vocabularies: int = 3, *, leave_out: tuple[str, str, str] | None = None
) -> None:
    """Fill a StoreBuilder. Engine 1 is slow, 2 serves no odd vocabulary, 3 is wrong on legacy files, the rest is right.

    `leave_out`: (engine, vocabulary, kind) that gets no row at all, as if a run had lost it.
    """
    names = [f"engine-{n}" for n in range(engines)]
    vocabs = [f"vocabulary-{n}" for n in range(vocabularies)]
    contracts = {name: f"{n:016x}" for n, name in enumerate(vocabs)}
    cores = {name: f"c{n:015x}" for n, name in enumerate(vocabs)}
    for name in vocabs:
        body = {"algorithm": "bpe-ranks", "specials": "off", "unicode": "16.0", "byte_policy": "reject"}
        # A store may have learnt of a contract by another name than the one it was asked for by.
        store.insert("contract", digest=contracts[name], core=cores[name], name=f"{name}-alias", body=body)
    plan = {
        "engines": names, "vocabularies": [{"name": name, "cores": [cores[name]]} for name in vocabs], "kinds": DUE,
        "corpora": KINDS,
    }  # fmt: skip
    store.begin(suite="field", command="tokassay audit --suite field", exit_code=1, environment={"plan": plan})
    builds = {name: store.build(name, "1.0", f"{name}==1.0") for name in names}
    for corpus, kind in KINDS.items():
        store.corpus(corpus, corpus, 100)
        for v, vocabulary in enumerate(vocabs):
            for e, engine in enumerate(names):
                if (engine, vocabulary, kind) == leave_out:
                    continue
                verdicts, reason = {"match": 100}, ""
                if e == 2 and v % 2:
                    verdicts, reason = {"unsupported": 100}, "serves wordpiece, not bpe-ranks"
                elif e == 1 and corpus.endswith(":rest"):
                    verdicts, reason = {"unsupported": 100}, SLOW
                elif e == 3 and kind == "legacy":
                    verdicts = {"match": 60, "differ": 40}
                elif kind in ("legacy", "binary"):
                    verdicts = {"match": 60, "declared": 10, "reject": 30}
                more: dict[str, Any] = {"digest": "0" * 64} if "differ" in verdicts else {}
                more |= {"digest": ""} if reason else {}
                store.cell(corpus, "bytes", engine, "encode", contracts[vocabulary], builds[engine], verdicts, **more)
                if reason:
                    number = store.db.execute("SELECT MAX(id) FROM result").fetchone()[0]
                    rows = f'[[-1, "unsupported", "{reason}"]]'
                    store.db.execute("UPDATE result SET rows = ? WHERE id = ?", (rows, number))
    if engines > 3:
        for vocabulary in vocabs:
            store.divergence(
                verdict="differ", engine="engine-3", contract=vocabulary, corpus="field:legacy:tenth", documents=80,
                signature=f"wrong in {vocabulary}",
            )
