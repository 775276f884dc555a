"""pyrwkv-tokenizer: a vocabulary file of RWKV's form, text as `str`; ids as a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyrwkv_tokenizer  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


class Adapter:
    """Its batch has no switch for threads: it uses those that it uses, on the processors that its process may have."""

    name = "pyrwkv-tokenizer"
    operations = ("encode", "encode_batch", "decode")
    entries = ("whole", "documents_list", "batch_list")
    rejects = (UnicodeDecodeError,)

    def version(self) -> str:
        return str(pyrwkv_tokenizer.__version__)

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        if contract["algorithm"] != "greedy-longest" or "rwkv" not in files:
            raise Unsupported("pyrwkv-tokenizer needs a vocabulary file of RWKV's form, and none can be derived")
        try:
            self.tokenizer = pyrwkv_tokenizer.RWKVTokenizer(vocab_filepath=files["rwkv"])
        except BaseException as error:
            if type(error).__name__ != "PanicException":
                raise
            # A literal of bytes with a space in it, say, of which RWKV's own vocabulary has none.
            raise Unsupported(f"pyrwkv-tokenizer does not read this vocabulary: {error}") from None
        self.whole = self.documents_list = self.tokenizer.encode

    def prepare(self, document: bytes) -> str:
        return document.decode()

    def encode(self, item: str) -> list[int]:
        return self.tokenizer.encode(item)  # type: ignore[no-any-return]

    def encode_batch(self, items: list[str], threads: int) -> list[list[int]]:
        return self.tokenizer.encode_batch(items)  # type: ignore[no-any-return]

    batch_list = encode_batch

    def decode(self, ids: list[int]) -> bytes:
        return self.tokenizer.decode(ids).encode()  # type: ignore[no-any-return]
