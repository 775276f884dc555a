"""SentencePiece: a .model file as given, documents as bytes; every byte that is not UTF-8 is U+FFFD to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sentencepiece

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


class Adapter:
    """Takes `bytes` and never a lenient `str`, so that what is ill-formed is the engine's to replace, not ours."""

    name = "sentencepiece"
    operations = ("encode", "encode_batch")
    rejects = ()

    def version(self) -> str:
        return str(sentencepiece.__version__)

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        source = files.get("source", "")
        if not source.endswith(".model") or contract["algorithm"] != "opaque":
            raise Unsupported("sentencepiece reads only its own .model files")
        self.processor = sentencepiece.SentencePieceProcessor(model_file=source)

    def prepare(self, document: bytes) -> bytes:
        return document

    def encode(self, item: bytes) -> list[int]:
        return self.processor.encode(item)  # type: ignore[no-any-return]

    def encode_batch(self, items: list[bytes], threads: int) -> list[list[int]]:
        return self.processor.encode(items, num_threads=threads)  # type: ignore[no-any-return]
