from collections.abc import Iterable
from typing import Any

import numpy
from numpy.typing import NDArray

REFUSE: int
BYTES: int
UNKNOWN: int

class Unmatched(ValueError):
    document: int
    offset: int
    byte: int

class Trie:
    def __init__(
        self,
        base: NDArray[numpy.int32],
        check: NDArray[numpy.int32],
        values: NDArray[numpy.int32],
        *,
        unmatched: int = ...,
        extra: int = ...,
    ) -> None: ...
    def find(self, text: Any) -> int | None: ...
    def missing_byte(self) -> int | None: ...
    def encode(self, document: Any) -> NDArray[numpy.uint32]: ...
    def encode_list(self, document: Any) -> list[int]: ...
    def listed(self, ids: NDArray[numpy.uint32]) -> list[int]: ...
    def encode_lengths(self, document: Any) -> tuple[NDArray[numpy.uint32], NDArray[numpy.uint32]]: ...
    def encode_batch(
        self, documents: Iterable[Any], threads: int
    ) -> tuple[NDArray[numpy.uint32], NDArray[numpy.uint64]]: ...
    def decode(self, ids: NDArray[numpy.uint32]) -> bytes: ...
    def ids(self) -> NDArray[numpy.uint32]: ...
    def reached(self) -> int: ...

def pack(
    text: NDArray[numpy.uint8], offsets: NDArray[numpy.uint64], ids: NDArray[numpy.uint32], by_depth: bool
) -> NDArray[numpy.int32]: ...
