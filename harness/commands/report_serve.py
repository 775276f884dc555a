"""`tokassay report serve`."""
from __future__ import annotations

def serve() -> None:
    """Serve."""
