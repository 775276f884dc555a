"""How long one engine may work in an audit: a slow one must not make the night endless, and leaves no gap either.

What an engine has no time for is a row like any other, `unsupported` with a reason that begins with `time: `. Its key
is not that of the question, so that no later run takes it for an answer: what was left out is asked next time.
"""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass, field

FOR_TIME = "time: "  # how the reason begins


@dataclass
class Budget:
    """Seconds that each engine may work, over all workers of a run (None: no limit), without the oracle's."""

    limit_s: float | None = None
    spent_s: dict[str, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def over(self, engine: str) -> bool:
        """Whether the engine's time is over; asked before a block: one that is begun is brought to its end."""
        return self.limit_s is not None and self.spent_s.get(engine, 0.0) >= self.limit_s

    def spend(self, engine: str, seconds: float) -> None:
        with self._lock:
            self.spent_s[engine] = self.spent_s.get(engine, 0.0) + seconds

    @property
    def reason(self) -> str:
        return f"{FOR_TIME}the engine's {(self.limit_s or 0) / 60:g} minutes of this run were over"


def unanswered(key: str) -> str:
    """The key of a row that stands for an answer which was not asked for: never the key of a question."""
    return hashlib.sha256(f"{key}\n{FOR_TIME}".encode()).hexdigest()[:32]
