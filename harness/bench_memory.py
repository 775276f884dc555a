"""What memory an engine needs: a pass of its own over the same texts, in a process that nobody times."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tokassay.engines.client import HostFailure
from tokassay.harness.bench import Contestant, Opener, Reference, Result, fault, form_of, half_of, op_of
from tokassay.harness.rates import EXACT, VOID


def run_memory(
    results: Sequence[Result],
    contestants: Sequence[Contestant],
    *,
    open_one: Opener,
    reference: Reference,
    tick: Callable[[str], None] = lambda _: None,
) -> None:
    """Peak and steady resident bytes of one cell, into its rows that are exact: load, both halves, then look.

    Allocations are the blocks of Python's allocator that the second call left, which are its ids; what native code
    allocates besides is not countable from outside.

    The ids are verified here too: a row whose engine falls now has no figure any more.
    """
    cell = results[0].cell
    for place, who in enumerate(contestants):
        rows = [result.rows[place] for result in results if result.rows[place].exact]
        if not rows:
            continue
        tick(who.label)
        try:
            with open_one(who, cell.loaded) as host:
                form = form_of(cell.entry, host)
                for which in ("a", "b"):
                    half = half_of(cell.text, which)
                    told = host.measure(half.body(cell.cut), op_of(cell.entry), form=form)
                    wrong = fault(cell, who, half, told, host, reference)
                    if wrong:
                        for row in rows:
                            row.fail(VOID, f"in the pass that memory is measured in: {wrong}")
                        break
                peak, steady, blocks = host.peak_bytes, host.resident_bytes, told.blocks
        except HostFailure as error:
            for row in rows:
                row.fail(error.verdict, f"in the pass that memory is measured in: {error.detail}")
            continue
        for row in rows:
            if row.verdict == EXACT:
                row.peak_bytes, row.steady_bytes, row.allocations = peak, steady, blocks
