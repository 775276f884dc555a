"""llama.cpp through llama-cpp-python: a vocabulary-only GGUF, documents as bytes; ids as a list."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

os.environ["GGML_NO_BACKTRACE"] = "1"  # an abort would start a debugger first
import llama_cpp  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


class Adapter:
    """The file that says what the contract says; of a contract that is not modelled, the user's own."""

    name = "llama-cpp"
    operations = ("encode", "decode")
    entries = ("whole", "documents_list")
    rejects = ()

    def version(self) -> str:
        return str(llama_cpp.__version__)

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        file = files["source"] if contract["algorithm"] == "opaque" else files.get("gguf", "")
        if not file.endswith(".gguf"):
            raise Unsupported("no GGUF says this contract: llama.cpp has no name for its expression or normalizer")
        self.model = llama_cpp.Llama(model_path=file, vocab_only=True, verbose=False)
        self.special = contract["specials"] == "on"

    def prepare(self, document: bytes) -> bytes:
        return document

    def encode(self, item: bytes) -> list[int]:
        return self.model.tokenize(item, add_bos=False, special=self.special)  # type: ignore[no-any-return]

    whole = documents_list = encode

    def decode(self, ids: list[int]) -> bytes:
        return self.model.detokenize(ids, special=self.special)  # type: ignore[no-any-return]
