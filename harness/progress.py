"""What an audit shows while it runs: progress and the verdicts so far on a terminal, plain notes elsewhere."""

from __future__ import annotations

from collections import Counter
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from tokassay.harness.divergences import FAILED


class Live:
    """Progress on standard error; silent where it is not a terminal, but for notes."""

    def __init__(self, console: Console, steps: int) -> None:
        self._console = console
        self._counts: Counter[str] = Counter()
        self._documents = self._reused = 0
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=16),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("loading engines", total=steps, completed=0, state="")
        self._begun = False

    def __enter__(self) -> Live:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def note(self, text: str) -> None:
        self._console.print(f"[dim]note:[/] {text}", highlight=False)

    def corpus(self, name: str) -> None:
        # Reductions come after the last corpus, and are not among the steps.
        task = self._bar.tasks[0]
        more = self._begun and task.completed < (task.total or 0)
        self._bar.update(self._task, description=name, advance=1 if more else 0)
        self._begun = True

    def advance(self, documents: int, reused: bool) -> None:
        self._documents += documents
        self._reused += documents if reused else 0
        self._show()

    def verdicts(self, engine: str, counts: dict[str, int]) -> None:
        self._counts.update(counts)
        self._show()

    def _show(self) -> None:
        bad = sum(self._counts[v] for v in FAILED)
        state = f"{self._documents:,} documents · {self._counts['match']:,} match"
        if self._counts["declared"]:
            state += f" · {self._counts['declared']:,} declared"
        state += f" · [red]{bad:,} failed[/]" if bad else ""
        if self._reused:
            state += f" · {self._reused:,} reused"
        self._bar.update(self._task, state=state)
