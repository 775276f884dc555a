"""The oracle as an engine: the adapter that a host runs by path, like any third party's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version as distribution_version
from pathlib import Path
from typing import Any

from tokassay.oracles import errors, spm, spm_file, vocabfiles
from tokassay.oracles.decisions import Decision
from tokassay.oracles.make import PIECES, make_oracle
from tokassay.oracles.oracle import Oracle

# A host puts its own class here, so that its row reads "unsupported".
Unsupported: type[Exception] = errors.Unsupported


class Adapter:
    """encode, decode, offsets (bytes) and trace, for every contract that the oracle models."""

    name = "oracle"
    operations = ("encode", "decode", "offsets")
    rejects = (errors.Reject,)
    offset_unit = "bytes"

    def __init__(self) -> None:
        self._oracle: Oracle | spm.SentencePiece | None = None

    def version(self) -> str:
        """The version of the package that it is a part of."""
        return distribution_version("tokassay")

    def load(
        self, contract: Mapping[str, Any], files: Mapping[str, str], threads: int, options: Mapping[str, Any]
    ) -> None:
        """Read the vocabulary that the contract's algorithm needs: ranks, tokens and merges, or a model's pieces."""
        try:
            if contract.get("algorithm") in PIECES:
                read = spm_file.read_model(Path(files.get("sentencepiece", files["source"])))
                self._oracle = make_oracle(contract, {}, model=spm.Tables(read))
                return
            added = [text for name in ("special_tokens", "added_tokens") for text, *_ in contract.get(name, ())]
            whole = bool(contract.get("ignore_merges"))
            suffix = str(contract.get("end_of_word", ""))
            algorithm = str(contract.get("algorithm"))
            symbols = bool(contract.get("byte_fallback") or suffix)
            tokens, merges = (
                read_symbols(files, suffix) if symbols
                else read_vocabulary(algorithm, files, added if whole else None)
            )  # fmt: skip
            self._oracle = make_oracle(contract, tokens, merges)
        except errors.Unsupported as error:
            raise Unsupported(str(error)) from None

    def _loaded(self) -> Oracle | spm.SentencePiece:
        if self._oracle is None:
            raise errors.OracleError("nothing is loaded", where="adapter", remedy="send load first")
        return self._oracle

    def prepare(self, document: bytes) -> bytes:
        """Documents are bytes already."""
        return bytes(document)

    def encode(self, item: bytes) -> list[int]:
        """Ids of one document."""
        try:
            return self._loaded().encode(item)
        except errors.Unsupported as error:
            raise Unsupported(str(error)) from None

    def decode(self, ids: Sequence[int]) -> bytes:
        """Bytes of the ids."""
        return self._loaded().decode(ids)

    def offsets(self, item: bytes) -> list[tuple[int, int]]:
        """Byte spans of the ids. No rule that engines share says where an id stands that has no byte of the document,
        or that a normalizer changed (ours: Oracle.spans)."""
        try:
            if not self._loaded().tracks_spans and self._loaded().changes(item):
                raise Unsupported("engines have no common rule for spans through a normalizer")
            spans = self._loaded().spans(item)
        except errors.Unsupported as error:
            raise Unsupported(str(error)) from None
        if any(start == end for start, end in spans):
            raise Unsupported("the span of a space put before the text is not modelled")
        return spans

    def trace(self, document: bytes) -> list[Decision]:
        """Decisions of every stage."""
        try:
            return self._loaded().decisions(bytes(document))
        except errors.Unsupported as error:
            raise Unsupported(str(error)) from None


def read_symbols(files: Mapping[str, str], end_of_word: str) -> tuple[vocabfiles.Tokens, vocabfiles.Merges]:
    """(tokens, merges) of a contract whose merging does not begin with single bytes."""
    if "tokenizer.json" not in files:
        raise errors.Unsupported("no tokenizer.json was given", where="files")
    return vocabfiles.read_texts(Path(files["tokenizer.json"]), end_of_word)


def read_vocabulary(
    algorithm: str, files: Mapping[str, str], added: Sequence[str] | None = None
) -> tuple[vocabfiles.Tokens, vocabfiles.Merges | None]:
    """(tokens, merges) from the files of a load message; merges are None unless the algorithm is `bpe-pairs`.
    `added` are the texts of special and added tokens, needed where a token may be one that no merge makes.

    Raises Unsupported if none of the files serves the algorithm.
    """
    if algorithm == "wordpiece":
        if "vocab.txt" not in files:
            raise errors.Unsupported("no vocab.txt was given", where="files")
        return vocabfiles.read_lines(Path(files["vocab.txt"])), None
    if algorithm == "bpe-pairs":
        if "vocab.bpe" in files and "encoder.json" in files:
            return vocabfiles.read_gpt2(Path(files["vocab.bpe"]), Path(files["encoder.json"]), added)
        if "tokenizer.json" in files:
            return vocabfiles.read_tokenizer_json(Path(files["tokenizer.json"]))
        raise errors.Unsupported("no file with a merge list was given", where="files")
    if "tiktoken" in files:
        return vocabfiles.read_ranks(Path(files["tiktoken"])), None
    if "vocab.bpe" in files and "encoder.json" in files:
        return vocabfiles.read_gpt2(Path(files["vocab.bpe"]), Path(files["encoder.json"]), added)[0], None
    if "tokenizer.json" in files:
        return vocabfiles.read_tokenizer_json(Path(files["tokenizer.json"]))[0], None
    raise errors.Unsupported("no rank file was given", where="files")
