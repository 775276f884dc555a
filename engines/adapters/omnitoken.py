"""omnitoken: a tokenizer.json, text as `str`; ids as a list."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import omnitoken  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


class Adapter:
    """Single documents: it has no batch in Python."""

    name = "omnitoken"
    operations = ("encode",)
    entries = ("whole", "documents_list")
    rejects = (UnicodeDecodeError,)

    def version(self) -> str:
        return version("omnitoken")

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        if "tokenizer.json" not in files:
            raise Unsupported("omnitoken needs a tokenizer.json, and none can be derived from this vocabulary")
        try:
            self.tokenizer = omnitoken.Tokenizer(files["tokenizer.json"])
        except (ValueError, RuntimeError) as error:
            raise Unsupported(f"omnitoken does not load this tokenizer.json: {error}") from error

    def prepare(self, document: bytes) -> str:
        return document.decode()

    def encode(self, item: str) -> list[int]:
        return self.tokenizer.encode(item)  # type: ignore[no-any-return]

    whole = documents_list = encode
