"""blingfire: the models that it brings, text as `str` or UTF-8; ids as a numpy array."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import blingfire  # type: ignore[import-not-found]
import numpy as np

if TYPE_CHECKING:
    from tokassay.engines.host import Unsupported

HERE = Path(blingfire.__file__).parent
LONGEST = 256  # bytes of a token, for the buffer that a text is written to


class Adapter:
    """A model is a compiled vocabulary: it serves the contract whose fields the roster's `models` has beside it.

    The ids end at a length that the caller gives. A text has no more tokens than bytes, but for the space before it.
    """

    name = "blingfire"
    operations = ("encode", "decode", "offsets", "encode_spans")
    entries = ("whole", "documents_list")
    offset_unit = "bytes"
    rejects = (UnicodeDecodeError,)

    def version(self) -> str:
        return version("blingfire")

    def load(self, contract: dict[str, Any], files: dict[str, str], threads: int, options: dict[str, Any]) -> None:
        model = next((model for model, row in options["models"].items() if serves(row["contract"], contract)), None)
        if model is None:
            raise Unsupported(f"blingfire brings {', '.join(options['models'])}, and none is this contract compiled")
        self.unknown = options["models"][model]["unknown"]
        self.handle = blingfire.load_model(str(HERE / model))
        self.words = blingfire.load_model(str((HERE / model).with_suffix(".i2w")))
        if contract["algorithm"].startswith("bpe"):
            blingfire.change_settings_dummy_prefix(self.handle, contract["add_prefix_space"])

    def prepare(self, document: bytes) -> tuple[str, bytes]:
        return document.decode(), document

    def encode(self, item: tuple[str, bytes]) -> Any:
        text, data = item
        return blingfire.text_to_ids(self.handle, text, len(data) + 1, self.unknown, True)

    whole = encode

    def documents_list(self, item: tuple[str, bytes]) -> list[int]:
        return self.encode(item).tolist()  # type: ignore[no-any-return]

    def decode(self, ids: list[int]) -> bytes:
        array = np.array(ids, np.int32)
        return blingfire.ids_to_text(self.words, array, False, LONGEST * len(ids) + 1).encode()  # type: ignore[no-any-return]

    def encode_spans(self, item: tuple[str, bytes]) -> Any:
        return self.spans(item[1])[0]

    def offsets(self, item: tuple[str, bytes]) -> list[tuple[int, int]]:
        # It names the first and the last byte of a token, and -1 where the space before the text stands.
        _, firsts, lasts = self.spans(item[1])
        return [(max(first, 0), last + 1) for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True)]

    def spans(self, data: bytes) -> Any:
        return blingfire.utf8text_to_ids_with_offsets(self.handle, data, len(data) + 1, self.unknown, True)


def serves(fields: dict[str, Any], contract: dict[str, Any]) -> bool:
    """Whether the contract is as the fields say."""
    return all(contract.get(field) == value for field, value in fields.items())
