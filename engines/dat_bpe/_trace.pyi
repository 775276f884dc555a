from typing import Any

import numpy
from numpy.typing import NDArray
from tokassay.engines.dat_bpe._core import Tables

class TraceTables(Tables):
    def trace(self, document: Any, specials: bool) -> tuple[NDArray[numpy.uint32], list[dict[str, Any]]]: ...
