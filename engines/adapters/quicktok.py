"""quicktok-v1: its own bundled form of an encoding, made here from our ranks; text as `str`."""

from __future__ import annotations

import base64
import shutil
import tempfile
from hashlib import sha256
from pathlib import Path
from struct import pack
from typing import TYPE_CHECKING, Any

import numpy as np
import quicktok  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported

TABLES = Path(quicktok.__file__).parent / "data"


class Adapter:
    """It has compiled scanners for a few published patterns, which the file beside the vocabulary names."""

    name = "quicktok-v1"
    operations = ("encode", "encode_batch", "decode")
    entries = ("whole", "documents_list", "batch_flat", "batch_list")
    rejects = (UnicodeDecodeError,)

    def version(self) -> str:
        return str(quicktok.__version__)

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        scanner = options["scanners"].get(contract["pretokenizer"][0] if len(contract["pretokenizer"]) == 1 else "")
        if scanner is None or "tiktoken" not in files:
            raise Unsupported("quicktok has scanners for the patterns of cl100k, o200k, Qwen and tekken only")
        folder = self.converted(Path(files["tiktoken"]), scanner, contract["normalizer"] == "nfc")
        self.tokenizer = quicktok.Tokenizer("audited", str(folder))
        self.documents_list = self.tokenizer.encode_ordinary  # its own bound method: no call of ours

    def converted(self, ranks: Path, scanner: str, nfc: bool) -> Path:
        """Its own form of the ranks, in a folder beside them: made once, so that a load is not charged with ours."""
        data = ranks.read_bytes()
        named = f"{scanner}{'-nfc' if nfc else ''}"
        folder = ranks.with_name(f"quicktok-{self.version()}-{named}-{sha256(data).hexdigest()[:16]}")
        if folder.is_dir():
            return folder
        tokens = [(base64.b64decode(token), int(rank)) for token, rank in (line.split() for line in data.splitlines())]
        rows = b"".join(pack("<H", len(token)) + token + pack("<I", rank) for token, rank in tokens)
        made = Path(tempfile.mkdtemp(dir=ranks.parent))
        for table in TABLES.glob("*.bin*"):
            shutil.copy(table, made)
        (made / "audited.vocab").write_bytes(pack("<I", len(tokens)) + rows)
        (made / "audited.special").write_bytes(pack("<I", 0))
        # Its description: it implements no normalizer and NFC, and these lines say which, as its own importer's do.
        (made / "audited.enc").write_text(f"scanner={scanner}\n" + "nfc=1\n" * nfc)
        try:
            made.rename(folder)
        except OSError:  # another process was first
            shutil.rmtree(made)
        return folder

    def prepare(self, document: bytes) -> str:
        return document.decode()

    def encode(self, item: str) -> list[int]:
        return self.tokenizer.encode_ordinary(item)  # type: ignore[no-any-return]

    def encode_batch(self, items: list[str], threads: int) -> tuple[Any, Any]:
        ids, offsets = self.tokenizer.encode_batch(items, threads)
        return ids, np.diff(offsets).astype(np.uint32)

    def whole(self, item: str) -> Any:
        return self.tokenizer.encode_batch([item], 1)[0]

    def batch_flat(self, items: list[str], threads: int) -> tuple[Any, Any]:
        return self.tokenizer.encode_batch(items, threads)  # type: ignore[no-any-return]

    def batch_list(self, items: list[str], threads: int) -> list[list[int]]:
        encode = self.tokenizer.encode_ordinary  # it has no batch that gives lists
        return [encode(item) for item in items]

    def decode(self, ids: list[int]) -> bytes:
        return self.tokenizer.decode_bytes(ids)  # type: ignore[no-any-return]
