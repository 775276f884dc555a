"""bpe-qwen: Qwen's vocab.json and merges.txt in a folder, text as `str`; ids as a list or as bytes of uint32."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


def extension() -> Any:
    """Its compiled module alone: the package around it imports transformers and huggingface_hub, undeclared."""
    package = importlib.util.find_spec("bpe_qwen")
    spec = package and importlib.machinery.PathFinder.find_spec("bpe_qwen", package.submodule_search_locations)
    if spec is None or spec.loader is None:
        raise ImportError("no compiled module in bpe_qwen")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


native = extension()


class Adapter:
    """It splits by Qwen's pattern and normalizes, whatever it loads: no other contract is served."""

    name = "bpe-qwen"
    operations = ("encode", "encode_batch", "decode")
    entries = ("whole", "documents_list", "batch_list")
    rejects = (UnicodeDecodeError,)

    def version(self) -> str:
        return version("bpe-qwen")

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        if contract["pretokenizer"] != options["pretokenizer"] or contract["normalizer"] != "nfc":
            raise Unsupported("bpe-qwen has Qwen's pattern and NFC, and nothing else")
        if "encoder.json" not in files:
            raise Unsupported("bpe-qwen needs vocab.json and merges.txt, and none can be derived from this vocabulary")
        folder = Path(tempfile.mkdtemp())  # in the host's own home, which ends with it
        (folder / "vocab.json").symlink_to(files["encoder.json"])
        (folder / "merges.txt").symlink_to(files["vocab.bpe"])
        if contract["specials"] == "on":  # where Qwen's own folder has them
            texts = [each[:2] for each in (*contract["special_tokens"], *contract["added_tokens"])]
            added = {str(number): {"content": text} for text, number in texts}
            (folder / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": added}), encoding="utf-8")
        self.tokenizer = native.QwenTokenizer(str(folder))
        self.documents_list = self.tokenizer.encode  # its own bound method: no call of ours

    def prepare(self, document: bytes) -> str:
        return document.decode()

    def encode(self, item: str) -> list[int]:
        return self.tokenizer.encode(item)  # type: ignore[no-any-return]

    def whole(self, item: str) -> memoryview:
        return memoryview(self.tokenizer.encode_bytes(item)).cast("I")

    def encode_batch(self, items: list[str], threads: int) -> list[list[int]]:
        return self.tokenizer.encode_batch_parallel(items, num_workers=threads)  # type: ignore[no-any-return]

    def batch_list(self, items: list[str], threads: int) -> list[list[int]]:
        if threads > 1:
            return self.encode_batch(items, threads)
        encode = self.tokenizer.encode  # its batch makes a pool of threads for every call
        return [encode(item) for item in items]

    def decode(self, ids: list[int]) -> bytes:
        return self.tokenizer.decode(ids).encode()  # type: ignore[no-any-return]
