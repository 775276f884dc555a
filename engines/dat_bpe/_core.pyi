from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

UNICODE_VERSIONS: tuple[str, ...]
CATEGORIES: tuple[str, ...]
STATUS_NAMES: dict[int, str]

# The words of each program (split.h), and its alternatives as they were written.
Programs = Sequence[tuple[NDArray[numpy.uint32], Sequence[str]]]

LEVELS: tuple[str, ...]
USES: dict[str, int]

def best_level() -> int: ...

class DamagedError(ValueError): ...

class TableError(ValueError):
    reason: str
    culprit: int

class Tables:
    def __init__(
        self,
        text: NDArray[numpy.uint8],
        offsets: NDArray[numpy.uint64],
        ids: NDArray[numpy.uint32],
        special_text: NDArray[numpy.uint8],
        special_offsets: NDArray[numpy.uint64],
        special_ids: NDArray[numpy.uint32],
        special_flags: NDArray[numpy.uint8],
        *,
        nfc: bool,
        prefix_space: bool,
        unicode: int,
        family: int,
        contractions: int,
        digits: int,
        marks_are_letters: bool,
        trailing_blanks: bool,
        ignore_merges: bool,
        settings: Mapping[str, Any],
        programs: Programs | None = None,
        merges: NDArray[numpy.uint32] | None = None,
    ) -> None: ...
    @property
    def unreachable(self) -> int: ...
    @property
    def pair_count(self) -> int: ...
    @property
    def trie_slots(self) -> int: ...
    def trie_arrays(self) -> tuple[NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.uint32]]: ...
    def unreachable_ids(self) -> list[int]: ...
    def find(self, text: bytes) -> int | None: ...
    def token_bytes(self, id: int) -> bytes | None: ...
    def encode(self, document: Any, specials: bool) -> NDArray[numpy.uint32]: ...
    def encode_spans(
        self, document: Any, specials: bool
    ) -> tuple[NDArray[numpy.uint32], NDArray[numpy.uint64]]: ...
    def encode_batch(
        self, documents: Iterable[Any], threads: int, specials: bool
    ) -> tuple[NDArray[numpy.uint32], NDArray[numpy.uint64]]: ...
    def encode_buffer(
        self, data: Any, offsets: NDArray[numpy.uint64], threads: int, specials: bool
    ) -> tuple[NDArray[numpy.uint32], NDArray[numpy.uint64]]: ...
    def decode(self, ids: NDArray[numpy.uint32]) -> bytes: ...
    def pretokens(self, document: Any) -> list[int]: ...

def split(programs: Programs, unicode: int, document: Any) -> list[int]: ...
def general_categories(unicode: int) -> bytes: ...
def classes(unicode: int, values: Iterable[int]) -> list[int]: ...
def byte_characters() -> list[int]: ...
def scan(text: bytes) -> list[int]: ...
def normalize(text: bytes, unicode: int) -> tuple[bytes, list[tuple[int, int, int, int]]]: ...
