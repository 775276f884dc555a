"""kitoken: a tokenizer.json or a SentencePiece model, text as `str`; ids as a list."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import kitoken  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


class Adapter:
    """A file that it reads itself (an opaque contract) goes to the loader of its format.

    Its batch has no switch for threads: it uses those that it uses, on the processors that its process may have.
    """

    name = "kitoken"
    operations = ("encode", "encode_batch", "decode")
    entries = ("whole", "documents_list", "batch_list")
    rejects = (UnicodeDecodeError,)

    def version(self) -> str:
        return version("kitoken")

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        if "sentencepiece" in files or (contract["algorithm"] == "opaque" and not files["source"].endswith(".json")):
            self.tokenizer = kitoken.Kitoken.from_sentencepiece_file(files.get("sentencepiece", files["source"]))
        elif contract["algorithm"] == "wordpiece" and "tokenizer.json" in files:
            self.tokenizer = kitoken.Kitoken.from_tokenizers(with_unknown(files["tokenizer.json"], contract["unknown"]))
        elif "tokenizer.json" in files or contract["algorithm"] == "opaque":
            self.tokenizer = kitoken.Kitoken.from_tokenizers_file(files.get("tokenizer.json", files["source"]))
        else:
            raise Unsupported("kitoken needs a tokenizer.json, and none can be derived from this vocabulary")
        self.specials = contract["specials"] == "on"
        self.shown = self.specials or contract["algorithm"] == "wordpiece"  # where an unknown word has a token

    def prepare(self, document: bytes) -> str:
        return document.decode()

    def encode(self, item: str) -> list[int]:
        return self.tokenizer.encode(item, self.specials)  # type: ignore[no-any-return]

    whole = documents_list = encode

    def encode_batch(self, items: list[str], threads: int) -> list[list[int]]:
        return self.tokenizer.encode_all(items, self.specials)  # type: ignore[no-any-return]

    batch_list = encode_batch

    def decode(self, ids: list[int]) -> bytes:
        return self.tokenizer.decode(ids, self.shown)  # type: ignore[no-any-return]


def with_unknown(path: str, unknown: int) -> bytes:
    """The file with its unknown token among the added ones, where kitoken looks for it. It matches their texts only
    where special tokens are asked for."""
    with open(path, encoding="utf-8") as stream:
        root = json.load(stream)
    if all(row["id"] != unknown for row in root["added_tokens"]):
        flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        text = root["model"]["unk_token"]
        root["added_tokens"].append({"id": unknown, "content": text, "special": True, **flags})
    return json.dumps(root).encode()
