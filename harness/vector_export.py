"""All vectors as one object: whole contracts and the digests of the vocabulary files, so that others can adopt it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tokassay.harness.cases import load_for, vocabulary_of
from tokassay.harness.load import Loaded
from tokassay.harness.vectors import SCHEMA, VectorFile

ABOUT = (
    "Vectors for tokenizers: a document in hex, the right ids, the rule that makes them right and its source. "
    "docs/FORMATS.md of tokassay describes the fields."
)


def exported(held: Sequence[VectorFile]) -> dict[str, Any]:
    """The object: `contracts` by digest, `vocabularies` by name, the vectors by id, each with its contract's digest."""
    loaded: dict[str, Loaded] = {}
    contracts: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    for file in held:
        for vector in file.vectors:
            name = vocabulary_of(vector)
            if name not in loaded:
                loaded[name] = load_for(vector)
            contract = vector.asked_of(loaded[name].contract)
            contracts[contract.digest] = contract.to_json()
            rows.append({**vector.to_json(), "contract_digest": contract.digest, "file": file.path.name})
    heads = {file.path.name: dict(file.head) for file in held}
    vocabularies = {
        one.name: {"file_sha256": one.file_sha256, "format": one.format, "vocabulary": one.contract.vocabulary}
        for one in loaded.values()
    }
    return {
        "schema": SCHEMA, "about": ABOUT, "files": heads, "vocabularies": vocabularies, "contracts": contracts,
        "vectors": sorted(rows, key=lambda row: str(row["id"])),
    }
