"""Golden digests: what the well-formed part of the embedded corpora must always come to, frozen under fixtures/golden.

They hold for the default contract of each embedded vocabulary, in the domains `neutral` and `unicode`. How ill-formed
bytes are handled has no part in them: a change there that moves one of these by a bit is a fault.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from tokassay.corpora.open import open_corpus
from tokassay.engines.frames import corpus_digest
from tokassay.engines.roster import load_roster
from tokassay.harness.blocks import Names, cut
from tokassay.harness.hosts import open_host
from tokassay.harness.load import load_vocabulary

SCHEMA = "tokassay.golden/1"
VOCABULARIES = ("gpt2", "cl100k", "o200k")
CORPORA = ("battery", "sample")
DOMAINS = ("neutral", "unicode")


def frozen() -> dict[str, Any]:
    """The frozen file: schema, and vocabulary -> corpus -> domain -> documents, ids and digest."""
    found: dict[str, Any] = json.loads(files("tokassay.fixtures").joinpath("golden", "ids.json").read_text("utf-8"))
    return found


def digests(engine: str, vocabulary: str) -> dict[str, Any]:
    """What `engine` (or "oracle") gives: corpus -> domain -> documents, number of ids, and corpus digest."""
    loaded = load_vocabulary(vocabulary)
    found: dict[str, Any] = {}
    with open_host(engine, loaded, loaded.contract, roster=load_roster()) as host:
        for corpus in CORPORA:
            blocks: dict[str, list[str]] = {domain: [] for domain in DOMAINS}
            counts = {domain: {"documents": 0, "ids": 0} for domain in DOMAINS}
            for block in cut(open_corpus(corpus), Names()):
                if block.domain in DOMAINS:
                    measured = host.measure(block.body)
                    blocks[block.domain].append(measured.digest[-1])
                    counts[block.domain]["documents"] += block.documents
                    counts[block.domain]["ids"] += measured.ids
            found[corpus] = {d: {**counts[d], "digest": corpus_digest(blocks[d])} for d in DOMAINS}
    return found
