"""mistral-common: a tekken file or a SentencePiece model as given, text as `str`; ids as a list."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from mistral_common.tokens.tokenizers.base import TokenizerVersion  # type: ignore[import-not-found]
from mistral_common.tokens.tokenizers.sentencepiece import SentencePieceTokenizer  # type: ignore[import-not-found]
from mistral_common.tokens.tokenizers.tekken import Tekkenizer  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported


class Adapter:
    """Its two tokenizers, beneath chat templates: `encode` without the tokens of a beginning or an end."""

    name = "mistral-common"
    operations = ("encode", "decode")
    entries = ("whole", "documents_list")
    rejects = (UnicodeDecodeError,)

    def version(self) -> str:
        return version("mistral-common")

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        source = files.get("sentencepiece") or files.get("source", "")
        try:
            if contract["algorithm"] != "bpe-ranks":
                # The version only says what a chat template may hold; by default it is read off the file's name.
                self.tokenizer: Any = SentencePieceTokenizer(source, tokenizer_version=TokenizerVersion.v1)
            else:
                self.tokenizer = Tekkenizer.from_file(source)
        except (AssertionError, KeyError, OSError, RuntimeError, TypeError, ValueError) as error:
            raise Unsupported(f"mistral-common reads tekken files and SentencePiece models only: {error!r}") from None

    def prepare(self, document: bytes) -> str:
        return document.decode()

    def encode(self, item: str) -> list[int]:
        return self.tokenizer.encode(item, bos=False, eos=False)  # type: ignore[no-any-return]

    whole = documents_list = encode

    def decode(self, ids: list[int]) -> bytes:
        return self.tokenizer.decode(ids).encode()  # type: ignore[no-any-return]
