"""dat-bpe, our own encoder: any bytes, ids and byte spans as buffers, decisions from its trace build."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, ClassVar

import numpy
from tokassay.engines import dat_bpe
from tokassay.engines.dat_bpe.ranks import read_ranks
from tokassay.engines.dat_bpe.tokenizer_json import read_tokenizer_json

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


class Adapter:
    """Contracts of ranks or merges under `byte-alphabet`; `notes` says where splitting goes by the general path."""

    name = "dat-bpe"
    operations = ("encode", "encode_batch", "decode", "offsets", "encode_spans")
    entries = ("whole", "documents_list", "batch_flat", "batch_list")
    forms: ClassVar = {"str": bytes.decode, "bytearray": bytearray, "memoryview": memoryview}
    offset_unit = "bytes"
    rejects = ()
    notes: tuple[str, ...] = ()

    def version(self) -> str:
        return dat_bpe.__version__

    def load(
        self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]
    ) -> None:
        wanted = {"bpe-ranks": "tiktoken", "bpe-pairs": "tokenizer.json"}.get(contract["algorithm"])
        if wanted not in files:
            raise Unsupported(f"algorithm {contract['algorithm']}: dat-bpe merges by a rank file or a tokenizer.json")
        for field, modelled in (
            ("byte_policy", "byte-alphabet"), ("byte_fallback", False), ("end_of_word", ""), ("gaps", "kept"),
        ):
            if contract.get(field, modelled) != modelled:
                raise Unsupported(f"{field} {contract[field]!r}: dat-bpe has {modelled!r} only")
        if contract.get("normalization"):
            raise Unsupported("dat-bpe normalizes by the Unicode version of its classes")
        self.specials = contract["specials"] == "on" and bool(contract["special_tokens"] or contract["added_tokens"])
        try:
            self.encoder = self.profile(contract, files, options) or self.built(contract, files, options)
        except dat_bpe.PatternError as error:
            raise Unsupported(f"pretokenizer: {error}") from error
        except dat_bpe.Refusal as error:
            raise Unsupported(str(error)) from error
        self.whole: Any = self.encoder.encode
        self.documents_list = self.encoder.encode_list
        if threads > 1:  # one document over threads is a batch of one
            self.whole = lambda item: self.encoder.encode_batch([item], threads=threads)[0]
        if self.encoder.pretokenizer_path == "general":
            self.notes = ("its pretokenizer has no machine (or none was wanted) and is interpreted, which is slower",)

    def built(self, contract: dict[str, Any], files: dict[str, str], options: dict[str, Any]) -> dat_bpe.Encoder:
        asked: dict[str, Any] = {
            "pattern": contract["pretokenizer"],
            "specials": dict(contract["special_tokens"]),
            "added": [
                dat_bpe.AddedToken(text, number, **dict.fromkeys(flags, True))
                for text, number, flags in contract["added_tokens"]
            ],
            "normalizer": contract["normalizer"],
            "prefix_space": contract["add_prefix_space"],
            "unicode": contract["unicode"],
            "ignore_merges": contract["ignore_merges"],
            **options,  # an option that the encoder has not is a TypeError, never ignored
        }
        if contract["algorithm"] == "bpe-ranks":
            source = files["tiktoken"]
            return dat_bpe.Encoder.from_ranks(read_ranks(source), where=source, **asked)
        source = files["tokenizer.json"]
        file = read_tokenizer_json(source)
        return dat_bpe.Encoder.from_pairs(file.tokens, file.merges, where=source, **asked)

    def profile(
        self, contract: dict[str, Any], files: dict[str, str], options: dict[str, Any]
    ) -> dat_bpe.Encoder | None:
        """With the option `profile`: the encoder of a profile that lies beside the ranks, made by the first load."""
        if not options.pop("profile", False):
            return None
        # Not SHA-256: the first use of OpenSSL in a process took 0.2 to 0.5 ms, which was half of what opening took.
        name = hashlib.blake2b(repr(sorted(contract.items())).encode(), digest_size=8).hexdigest()
        path = f"{files.get('tiktoken') or files['tokenizer.json']}.{name}.profile"
        try:
            return dat_bpe.Encoder.open(path, **options)
        except dat_bpe.LoadError:
            self.built(contract, files, options).save(path)  # none yet, or one of another build
            return dat_bpe.Encoder.open(path, **options)

    def prepare(self, document: bytes) -> bytes:
        return document

    def encode(self, item: bytes) -> Any:
        return self.encoder.encode(item, specials=self.specials)

    def encode_batch(self, items: list[bytes], threads: int) -> tuple[Any, Any]:
        values, offsets = self.encoder.encode_batch(items, threads=threads, specials=self.specials)
        return values, numpy.diff(offsets).astype(numpy.uint32)

    def batch_flat(self, items: list[bytes], threads: int) -> tuple[Any, Any]:
        return self.encoder.encode_batch(items, threads=threads)

    def batch_list(self, items: list[bytes], threads: int) -> list[list[int]]:
        return self.encoder.encode_batch_lists(items, threads=threads)

    def decode(self, ids: Any) -> bytes:
        return self.encoder.decode(ids)

    def offsets(self, item: bytes) -> list[tuple[int, int]]:
        return [(start, end) for start, end in self.encoder.encode_spans(item, specials=self.specials)[1].tolist()]

    def encode_spans(self, item: bytes) -> Any:
        return self.encoder.encode_spans(item, specials=self.specials)[0]

    def trace(self, document: bytes) -> list[dict[str, Any]]:
        return self.encoder.trace(document, specials=self.specials)
