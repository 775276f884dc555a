"""`tokassay report serve`: a look at the site, and a playground, on this machine alone."""

from __future__ import annotations

from typing import Annotated

import typer
from tokassay.harness.commands.options import Json, Roster, print_json
from tokassay.harness.commands.report_build import Benches, Seconds, Stores

PORT = 8017


def serve(
    store: Stores = None,
    bench: Benches = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port on 127.0.0.1; 0: any that is free.")] = PORT,
    trace_seconds: Seconds = 0.0,
    roster: Roster = None,
    as_json: Json = False,
) -> None:
    """Build the site into a temporary folder and serve it on 127.0.0.1, with a playground, until Ctrl-C.

    The playground takes text or hex, a vocabulary and two engines, and shows ids and spans of both side by side and the
    first decision in which they differ. Without a store there is the playground alone.

    Exit codes: 2 wrong use, or the port is taken; 130 ended by Ctrl-C.
    """
    import sys
    import tempfile
    from pathlib import Path

    from rich.console import Console
    from tokassay.engines.roster import load_roster
    from tokassay.harness.errors import INTERRUPTED
    from tokassay.harness.playground import Server
    from tokassay.harness.site_sources import STORE, built
    from tokassay.reports.site.playground import LINK

    held = store or ([STORE] if STORE.is_file() else [])
    # The port first: who cannot be served should not wait for a site.
    with (
        tempfile.TemporaryDirectory(prefix="tokassay-site-") as folder,
        Server(Path(folder), load_roster(*(roster or ())), port) as server,
    ):
        with Console(stderr=True).status("reading") as status:
            built(held, bench or [], Path(folder), roster or (), trace_seconds, status.update, more=(LINK,))
        url = f"http://127.0.0.1:{server.server_port}/"
        if as_json:
            print_json({"url": url, "playground": f"{url}{LINK[1]}"})
        else:
            typer.echo(f"site: {url}, playground: {url}{LINK[1]}; Ctrl-C ends it")
        sys.stdout.flush()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
