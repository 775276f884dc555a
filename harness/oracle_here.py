"""The oracle in this process, for small documents: a host costs a start for each contract."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from tokassay.harness import vocab_gguf_spm
from tokassay.harness.contract import PIECES, Contract
from tokassay.harness.load import Loaded, read
from tokassay.oracles import spm, spm_file
from tokassay.oracles.make import make_oracle
from tokassay.oracles.oracle import Oracle


def oracle_here(contract: Contract, loaded: Loaded) -> Oracle | spm.SentencePiece:
    """The oracle of `contract` over a vocabulary. Raises Unsupported for what is not modelled, OracleError."""
    held = loaded.vocabulary
    of_pieces = contract.algorithm in PIECES
    model = _tables(loaded.source_path, loaded.format, loaded.file_sha256) if of_pieces else None
    return make_oracle(contract.to_json(), held.tokens, held.merges, model=model)


@lru_cache(maxsize=2)
def _tables(path: Path, form: str, _digest: str) -> spm.Tables:
    """A model by the oracle's own reader, once for all the contracts that are asked of it."""
    data = read(path)
    return spm.Tables(spm_file.parse(vocab_gguf_spm.model(data, str(path)) if form == "gguf" else data))
