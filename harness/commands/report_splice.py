"""`tokassay report splice`."""
from __future__ import annotations

def splice() -> None:
    """Serve."""
