"""An engine for tests of claims: tiktoken's ids; `options.fault` is a word whose documents get one id too many."""

from __future__ import annotations

import base64
from typing import Any

import tiktoken


class Adapter:
    """Ranks and one pattern, as every claim's engine has them."""

    name = "planted"
    operations = ("encode",)
    entries = ("documents_list",)
    rejects = (UnicodeDecodeError,)

    def version(self) -> str:
        return "1.0"

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        self.fault = options.get("fault", "")
        with open(files["tiktoken"], "rb") as lines:
            ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, lines)}
        (pattern,) = contract["pretokenizer"]
        self.encoding = tiktoken.Encoding("planted", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})

    def prepare(self, document: bytes) -> str:
        return document.decode()

    def encode(self, item: str) -> list[int]:
        ids = self.encoding.encode_ordinary(item)
        return [*ids, 0] if self.fault and self.fault in item else ids

    documents_list = encode
