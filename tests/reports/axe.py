"""axe-core over a page of every kind of the site, in headless Chromium: what `nox -s accessibility` runs.

    python tests/reports/axe.py AXE_JS FOLDER [--store STORE] [--bench FILE]

FOLDER gets two sites (one of STORE, one of a store made by hand with hostile text, a bench and a claim), and a
screenshot and a print of each page looked at. Exits with 1 where axe finds something serious or critical, or
a page is wider than its window, asks for anything but itself, or has an error.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright
from tokassay.engines.roster import load_roster
from tokassay.harness.playground import Server
from tokassay.harness.site_sources import Traces, built
from tokassay.harness.vectors import load_all
from tokassay.reports.site.build import build_site
from tokassay.reports.site.model import Site
from tokassay.reports.trace import render_trace
from tokassay.reports.write import write_report

HERE = Path(__file__).resolve().parent
WIDTHS = (390, 1280)
COLOURS = ("light", "dark")
EDGES = ("top", "right", "bottom", "left")
GRAVE = ("serious", "critical")
QUESTION = {"document": "a\tb's \u00e9", "vocab": "gpt2", "left": "tiktoken", "right": "oracle"}


def by_path(name: str) -> ModuleType:
    """A file of the tests as a module: they are no package."""
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def kinds(folder: Path) -> Iterator[Path]:
    """A page of every kind: what lies at the top, each folder's index, two large others; of divergences four."""
    yield from sorted(folder.glob("*.html"))
    for below in sorted(path for path in folder.iterdir() if path.is_dir()):
        found = sorted(below.glob("*.html"), key=lambda path: (path.name != "index.html", -path.stat().st_size))
        yield from found[:3]
        yield from [path for path in found[3:] if not path.name.startswith("vector-")][:2]


def looked_at(page: Page, name: str, axe: str, shots: Path) -> list[str]:
    """What is wrong with an opened page, as sentences; a screenshot is taken."""
    size = page.viewport_size or {"width": 0}
    page.screenshot(path=shots / f"{name}.png", full_page=True)
    wide = page.evaluate("document.documentElement.scrollWidth")
    found = [f"{wide} pixels wide in a window of {size['width']}"] if wide > size["width"] else []
    page.evaluate(axe)
    answer: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert answer["passes"] or answer["violations"], "axe looked at nothing"
    for violation in answer["violations"]:
        places = [str(node["target"][0]) for node in violation["nodes"]]
        told = f"{violation['impact']}: {violation['id']}: {violation['help']} ({len(places)}, first {places[0]})"
        if violation["impact"] in GRAVE:
            found.append(told)
        else:
            print(f"  note: {name}: {told}")
    return found


def sees_what_is_planted(browser: Browser, axe: str) -> bool:
    """Whether axe finds a picture without words and a field without a name, on a page made to have both."""
    page = browser.new_page()
    page.set_content("<html lang=en><title>x</title><main><h1>x</h1><img src='data:,'><input></main></html>")
    page.evaluate(axe)
    answer = page.evaluate("axe.run(document)")
    page.close()
    return {"image-alt", "label"} <= {each["id"] for each in answer["violations"] if each["impact"] in GRAVE}


def check(browser: Browser, addresses: list[tuple[str, str]], axe: str, shots: Path) -> tuple[int, list[str]]:
    """(pages looked at, what is wrong), at every width and in both colours; each is printed once."""
    wrong: list[str] = []
    seen = 0
    for width in WIDTHS:
        for colour in COLOURS:
            context = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=colour, bypass_csp=True, java_script_enabled=True
            )
            page = context.new_page()
            asked: list[str] = []
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            page.on("pageerror", lambda error, wrong=wrong: wrong.append(f"error in a page: {error}"))
            for name, address in addresses:
                asked.clear()
                page.goto(address)
                if address.endswith("#asked"):
                    page.fill("textarea", QUESTION["document"])
                    for field in ("vocab", "left", "right"):
                        page.select_option(f"#{field}", QUESTION[field])
                    page.click("button")
                    page.wait_for_selector("#answer", timeout=60_000)
                elif len(asked) != 1:
                    wrong.append(f"{name}: it asks for {asked[1:]}")
                wrong += [
                    f"{name}, {width}, {colour}: {each}"
                    for each in looked_at(page, f"{name}-{width}-{colour}", axe, shots)
                ]
                seen += 1
            context.close()
    context = browser.new_context(bypass_csp=True)
    page = context.new_page()
    for name, address in addresses:
        if not address.startswith("http"):
            page.goto(address)
            page.pdf(path=shots / f"{name}.pdf", format="A4", margin=dict.fromkeys(EDGES, "12mm"))
    return seen, wrong


def main() -> int:
    """Build, serve, look."""
    parser = argparse.ArgumentParser()
    parser.add_argument("axe", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--store", type=Path, action="append", default=[])
    parser.add_argument("--bench", type=Path, action="append", default=[])
    given = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        print("no Chromium in PATH: install it, and run this again", file=sys.stderr)
        return 5
    shots = given.folder / "shots"
    shots.mkdir(parents=True, exist_ok=True)
    conftest, tests = by_path("conftest"), by_path("test_site")
    hand = given.folder / "hand"
    hand.mkdir(exist_ok=True)
    for name in ("failing.sqlite", "b.sqlite"):
        (hand / name).unlink(missing_ok=True)
    stores = conftest.failing(hand / "failing.sqlite"), tests.bench(hand / "b.sqlite")
    build_site(Site(tests.sources(stores[0], stores[1:])), hand / "site")
    sites = {"hand": hand / "site"}
    if given.store or given.bench:
        built(given.store, given.bench, given.folder / "site", trace_seconds=60.0)
        sites["site"] = given.folder / "site"
    addresses = [
        ("-".join((name, *path.relative_to(site).with_suffix("").parts)), path.resolve().as_uri())
        for name, site in sites.items()
        for path in kinds(site)
    ]
    # The pages that commands write by themselves.
    write_report(stores[0], None, hand / "report")
    traces = Traces({}, 1.0)
    traces.of_vectors(one for file in load_all() for one in file.vectors if one.id == "gpt2-tab-contraction")
    (hand / "trace.html").write_text(render_trace(traces.made["gpt2-tab-contraction"]), encoding="utf-8")
    addresses += [
        (name, (hand / path).resolve().as_uri())
        for name, path in (("audit", "report/index.html"), ("trace", "trace.html"))
    ]
    with Server(next(reversed(sites.values())), load_roster()) as server, sync_playwright() as playwright:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        there = f"http://127.0.0.1:{server.server_port}/playground.html"
        addresses += [("playground", there), ("playground-answer", f"{there}#asked")]
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        axe = given.axe.read_text(encoding="utf-8")
        if not sees_what_is_planted(browser, axe):
            print("axe does not see what is planted: nothing was looked at", file=sys.stderr)
            return 5
        seen, wrong = check(browser, addresses, axe, shots)
        browser.close()
        server.shutdown()
    for each in wrong:
        print(each)
    print(f"{len(addresses)} pages, {seen} looks, {len(wrong)} serious or critical findings; shots in {shots}")
    return 1 if wrong or not seen else 0


if __name__ == "__main__":
    sys.exit(main())
