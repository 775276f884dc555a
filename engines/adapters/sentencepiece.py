"""SentencePiece: a .model file as given, documents as bytes; every byte that is not UTF-8 is U+FFFD to it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import sentencepiece

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


SPACE = "\u2581".encode()  # how a piece writes a space


class Adapter:
    """Takes `bytes` and never a lenient `str`, so that what is ill-formed is the engine's to replace, not ours."""

    name = "sentencepiece"
    operations = ("encode", "encode_batch", "decode", "offsets", "encode_spans")
    entries = ("whole", "documents_list", "batch_list")
    stages = ("normalize", "lookup")
    forms: ClassVar = {"str": bytes.decode}
    tiles = True  # sentencepiece.proto: the surfaces of the pieces, one after the other, are the text
    rejects = ()

    def version(self) -> str:
        return str(sentencepiece.__version__)

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        if contract["algorithm"] not in ("bpe-scores", "unigram-viterbi", "opaque"):
            raise Unsupported("sentencepiece reads only its own model files")
        self.threads = threads
        self.chunk_len = options.get("chunk_len")  # characters: cut into chunks for a pool of threads
        # Tried, not told by the name: Mistral's models end in .model.v1. A JSON file would be a parse error too.
        path = files.get("sentencepiece") or files.get("source", "")
        try:
            self.processor = sentencepiece.SentencePieceProcessor(model_file=path)
        except (RuntimeError, OSError) as error:
            raise Unsupported(f"sentencepiece reads only its own model files: {error}") from None

    def prepare(self, document: bytes) -> bytes:
        return document

    def encode(self, item: bytes) -> list[int]:
        if self.chunk_len:
            return self.processor.parallel_encode(  # type: ignore[no-any-return]
                item, chunk_len=self.chunk_len, num_threads=self.threads
            )
        return self.processor.encode(item)  # type: ignore[no-any-return]

    def encode_batch(self, items: list[bytes], threads: int) -> list[list[int]]:
        return self.processor.encode(items, num_threads=threads)  # type: ignore[no-any-return]

    whole = documents_list = encode
    batch_list = encode_batch

    def decode(self, ids: list[int]) -> bytes:
        return self.processor.decode(ids).encode()  # type: ignore[no-any-return]

    def offsets(self, item: bytes) -> list[tuple[int, int]]:
        return self.processor.encode(item, out_type="offset_mapping")["offsets"]  # type: ignore[no-any-return]

    def encode_spans(self, item: bytes) -> list[int]:
        return self.processor.encode(item, out_type="offset_mapping")["ids"]  # type: ignore[no-any-return]

    def trace(self, document: bytes) -> list[dict[str, Any]]:
        """What its normalizer made, by the byte each made one comes from, and the pieces with the bytes behind them."""
        normal, origin = self.processor.normalize(document, with_offsets=True)
        normal, found = normal.encode() if isinstance(normal, str) else normal, []
        for start, end in pairwise(sorted({0, *origin, len(document)})):
            made = b"".join(normal[n : n + 1] for n, at in enumerate(origin[: len(normal)]) if at == start)
            # A space that is written as a block is none the less a space.
            plain = document[start:end].replace(b" ", SPACE)
            first = bool(origin) and start == origin[0]
            if first and made.startswith(SPACE) and (made == SPACE + plain or not plain.startswith(SPACE)):
                found.append(record("normalize", "prefix space", start, start))
                made = made[len(SPACE) :]
            if made != plain:
                found.append(record("normalize", "Normalize", start, end))
        made = self.processor.encode(document, return_type="offset_mapping")
        for number, (start, end) in zip(made["ids"], made["offsets"], strict=True):
            found.append(record("lookup", "offset_mapping", start, end, id=number))
        return found


def record(stage: str, path: str, start: int, end: int, **more: int) -> dict[str, Any]:
    return {"stage": stage, "offset": start, "path": path, "start": start, "end": end, **more}
