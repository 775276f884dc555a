"""How long one engine may work in an audit: a slow one must not make the night endless, and leaves no gap either.

What an engine has no time for is a row like any other, `unsupported` with a reason that begins with `time: `. Its key
is not that of the question, so that no later run takes it for an answer: what was left out is asked next time.
"""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass, field

FOR_TIME = "time: "  # how the reason begins
LEAST_BYTES = 8000  # of a block by which a speed is told


@dataclass
class Budget:
    """Seconds that each engine may work, over all workers of a run and on one vocabulary of it (None: no limit),
    without the oracle's; and how fast it was on the vocabulary's real text."""

    limit_s: float | None = None
    vocabulary_s: float | None = None
    spent_s: dict[str, float] = field(default_factory=dict)
    spent_on: dict[tuple[str, str], float] = field(default_factory=dict)
    measured: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def spend(self, engine: str, vocabulary: str, seconds: float) -> None:
        """Count time that an engine worked on a vocabulary."""
        with self._lock:
            self.spent_s[engine] = self.spent_s.get(engine, 0.0) + seconds
            self.spent_on[engine, vocabulary] = self.spent_on.get((engine, vocabulary), 0.0) + seconds

    def measure(self, engine: str, vocabulary: str, size: int, ns: int) -> None:
        """A block of `size` bytes of real text that an engine encoded in `ns` nanoseconds, reused answers too. Its best
        block speaks for it: a first call may build tables for a second. A block of less than 8 kB says nothing, as the
        clock of a process with a limit goes in steps of 4 ms."""
        if size < LEAST_BYTES:
            return
        with self._lock:
            best = self.measured.get((engine, vocabulary), (0, 1))
            if size * best[1] > best[0] * max(ns, 1):
                self.measured[engine, vocabulary] = size, max(ns, 1)

    def over(self, engine: str, vocabulary: str, meanwhile_s: float = 0.0) -> str:
        """Why the engine's time is over, `meanwhile_s` of it not counted yet; "" where some is left."""
        if self.limit_s is not None and self.spent_s.get(engine, 0.0) + meanwhile_s >= self.limit_s:
            return f"{FOR_TIME}the engine's {self.limit_s / 60:g} minutes of this run were over"
        spent_s = self.spent_on.get((engine, vocabulary), 0.0) + meanwhile_s
        if self.vocabulary_s is not None and spent_s >= self.vocabulary_s:
            return f"{FOR_TIME}the engine's {self.vocabulary_s / 60:g} minutes for this vocabulary were over"
        return ""

    def left_s(self, engine: str, vocabulary: str, meanwhile_s: float = 0.0) -> float | None:
        """Seconds that are left of the engine's time on a vocabulary, `meanwhile_s` more being spent; None where that
        has no limit."""
        if self.vocabulary_s is None:
            return None
        return self.vocabulary_s - self.spent_on.get((engine, vocabulary), 0.0) - meanwhile_s

    def against(self, engine: str, vocabulary: str, fast: float = 0.0) -> str:
        """Why the engine is not asked for a block that is for engines of `fast` MB/s and more; "" where it is. Asked
        before a block. An engine whose rate is not known is asked."""
        if over := self.over(engine, vocabulary):
            return over
        size, ns = self.measured.get((engine, vocabulary), (0, 0))
        if ns and size * 1000 / ns < fast:
            told = f"{size * 1000 / ns:.2g} MB/s at best, on {size:,} bytes of real text"
            return f"{FOR_TIME}the engine is slower than {fast:g} MB/s ({told}); it was asked for the shorter samples"
        return ""


def unanswered(key: str) -> str:
    """The key of a row that stands for an answer which was not asked for: never the key of a question."""
    return hashlib.sha256(f"{key}\n{FOR_TIME}".encode()).hexdigest()[:32]
