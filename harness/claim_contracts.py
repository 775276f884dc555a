"""Where two contracts over the same tokens part: the shortest document of the sample on which their ids differ.

It is for a claim whose engine computes something else than the one it is compared with: the engine is asked under its
own contract, the oracle under the other, so that a reader sees both answers to one input.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tokassay.corpora.sample import sample
from tokassay.engines.client import HostFailure
from tokassay.engines.roster import EngineSpec
from tokassay.harness.bench import Contestant, opener
from tokassay.harness.claims import Here
from tokassay.harness.compare import Output, differing
from tokassay.harness.hosts import oracle_spec
from tokassay.harness.load import Loaded, load_vocabulary

LONGEST = 64  # bytes of a document that a page shows whole
DOCUMENTS = 1000


def first_unlike(here: Here, roster: Mapping[str, EngineSpec]) -> dict[str, Any] | None:
    """The divergence as a claim's page shows it; None where the two agree on every document that was asked."""
    own, other = (load_vocabulary(word) for word in here.computes)
    documents = sorted(words(), key=lambda one: (len(one), one))[:DOCUMENTS]
    open_one = opener(roster)
    try:
        mine = asked(Contestant(here.engine, roster[here.engine]), own, documents, open_one)
        theirs = asked(Contestant("oracle", oracle_spec()), other, documents, open_one)
    except HostFailure:
        return None
    unlike = differing(mine, theirs)
    if not len(unlike):
        return None
    at = int(unlike[0])
    got, right = ([int(one) for one in output.of(at)] for output in (mine, theirs))
    token = next((n for n, (a, b) in enumerate(zip(got, right, strict=False)) if a != b), min(len(got), len(right)))
    document, names = documents[at], here.computes
    return {
        "where": f"{names[0]} against {names[1]}", "vocabulary": names[0], "domain": "neutral", "verdict": "differ",
        "explanation": f"{document.decode()!r} is {len(got)} ids under {own.contract.algorithm}, {len(right)} under "
                       f"{other.contract.algorithm}",
        "command": "\n".join(
            f"tokassay encode --engine {name} --vocab {word} --hex {document.hex()}"
            for name, word in ((here.engine, names[0]), ("oracle", names[1]))
        ),
        "against": f"oracle, {names[1]}", "operation": "encode", "documents": len(unlike), "first": "sample",
        "input": document.hex(), "token": token, "got": got, "expected": right, "stage": "",
    }


def words() -> set[bytes]:
    """Pairs of words of the sample, of ASCII letters alone and at most LONGEST bytes: what a reader sees through."""
    found: set[bytes] = set()
    for document in sample():
        try:
            text = document.data.decode()
        except UnicodeDecodeError:
            continue
        for line in text.splitlines():
            parts = line.split()
            found.update(" ".join(parts[at : at + 2]).encode() for at in range(len(parts)))
    return {one for one in found if 0 < len(one) <= LONGEST and one.replace(b" ", b"").isalpha()}


def asked(who: Contestant, loaded: Loaded, documents: list[bytes], open_one: Any) -> Output:
    """An engine's ids of the documents."""
    with open_one(who, loaded) as host:
        host.measure(documents, "encode")
        return Output.from_frames(host.kept())


