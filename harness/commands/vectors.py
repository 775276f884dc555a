"""`tokassay vectors`: small documents with their right answers, and what engines make of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from tokassay.harness.commands.options import Hex, Json, Pattern, Roster, Specials, Text, Variants, Vocab, print_json

app = typer.Typer(
    help="List, check, add and export vectors; scripts and reports for an engine's authors.", no_args_is_help=True
)

Files = Annotated[
    list[Path] | None, typer.Option("--file", help="A file of vectors; without it, those of the package.")
]
Timeout = Annotated[float | None, typer.Option(min=0.1, help="Seconds for a document; without it, the roster's.")]
OWN = Path("vectors.json")


@app.command("list")
def list_vectors(
    engine: Annotated[str | None, typer.Option(help="Only those with an answer of this engine.")] = None,
    flag: Annotated[str | None, typer.Option(help="Only those with this flag.")] = None,
    level: Annotated[str | None, typer.Option(help="Only those of this level: must, must-not or declared.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the known divergences there as a page.")] = None,
    file: Files = None,
    as_json: Json = False,
) -> None:
    """The vectors, and whose divergences are known."""
    from tokassay.harness import vectors

    rows = [
        one
        for held in vectors.load_all(file or ())
        for one in held.vectors
        if (engine is None or one.of(engine)) and (flag is None or flag in one.flags) and level in (None, one.level)
    ]
    if markdown is not None:
        from tokassay.harness import vector_table
        from tokassay.harness.errors import writing

        with writing(f"--markdown {markdown}"):
            markdown.write_text(vector_table.markdown(rows), encoding="utf-8")
    if as_json:
        print_json({"schema": vectors.SCHEMA, "vectors": [one.to_json() for one in rows]})
        return
    columns = ("id", "level", "vocabulary", "stage", "known to differ", "rule")
    _table(columns, [(one.id, one.level, one.vocabulary, one.stage, _known(one), one.rule) for one in rows])


def _known(vector: Any) -> str:
    """`tokie 0.0.9 to 0.1.4`, for each engine that was wrong."""
    told = []
    for name in dict.fromkeys(one.engine for one in vector.engines):
        history = vector.history(name)
        if "first_bad" in history:
            ends = dict.fromkeys((history["first_bad"], history["last_bad"]))
            told.append(f"{name} {' to '.join(ends)}")
    return ", ".join(told)


@app.command()
def check(
    engines: Annotated[
        list[str] | None, typer.Argument(help="Engines, NAME==VERSION too; without one, the oracle and the installed.")
    ] = None,
    ids: Annotated[list[str] | None, typer.Option("--id", help="Only this vector; may be given again.")] = None,
    file: Files = None,
    timeout: Timeout = None,
    engine_minutes: Annotated[
        float, typer.Option(min=0.1, help="How long one engine is asked; the rest is unsupported, for time.")
    ] = 5.0,
    roster: Roster = None,
    as_json: Json = False,
) -> None:
    """Hold engines to the vectors, and to what is recorded of them.

    A verdict of `healed` (a known divergence that is gone), `changed` (wrong otherwise than recorded) or `differ`
    (wrong, and not known) fires. Exit codes: 0 all as expected, 1 something fires, 2 wrong use, 4 nothing was verified.
    """
    from collections import Counter

    from rich.console import Console
    from tokassay.engines.roster import load_roster
    from tokassay.harness import vector_check, vectors

    known = load_roster(*(roster or ()))
    held = vectors.load_all(file or ())
    chosen = [vectors.find(name, held)[1] for name in ids] if ids else [one for each in held for one in each.vectors]
    with Console(stderr=True).status("vectors") as status:
        rows = vector_check.check(
            chosen, engines or vector_check.usual(known), known, timeout_s=timeout, engine_s=60 * engine_minutes,
            tell=status.update,
        )
    code = vector_check.exit_code(rows)
    if as_json:
        print_json({"schema": "tokassay.vectors-check/1", "rows": [row.to_json() for row in rows], "exit_code": code})
        raise typer.Exit(code)
    counts: dict[tuple[str, str], Counter[str]] = {}
    for row in rows:
        counts.setdefault((row.engine, row.version), Counter())[row.verdict] += 1
    words = (vector_check.MATCH, vector_check.KNOWN, *vector_check.FIRES, vector_check.UNSUPPORTED)
    table = [(*who, *(str(count[word] or "-") for word in words)) for who, count in counts.items()]
    _table(("engine", "version", *words), table)
    for row in rows:
        if row.verdict in vector_check.FIRES:
            print(f"{row.verdict}: {row.vector.id}: {row.engine} {row.version} {row.told()}")
    unasked = Counter((row.engine, row.reason) for row in rows if row.verdict == vector_check.UNSUPPORTED)
    for (engine, reason), count in unasked.items():
        print(f"unsupported: {engine}, {count} vectors: {reason}")
    if not chosen:
        print(f"nothing was checked: no vectors in {', '.join(str(one.path) for one in held)}")
    raise typer.Exit(code)


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="The vector's id.")],
    rule: Annotated[str, typer.Option(help="The rule that makes the answer right, in words.")],
    source: Annotated[str, typer.Option(help="Where the rule is written.")],
    vocab: Vocab = "gpt2",
    pattern: Pattern = None,
    contract: Variants = None,
    specials: Specials = False,
    hexadecimal: Hex = None,
    text: Text = None,
    times: Annotated[int, typer.Option(min=1, help="The document is these bytes so many times.")] = 1,
    operation: Annotated[str, typer.Option(help="encode, decode or decode_stream.")] = "encode",
    expect: Annotated[
        str | None, typer.Option(help="The right ids (15339,1917), or `reject`: the oracle must agree, if it can say.")
    ] = None,
    title: Annotated[str, typer.Option(help="A line for reports.")] = "",
    stage: Annotated[str, typer.Option(help="The stage that is tested.")] = "",
    flag: Annotated[list[str] | None, typer.Option(help="What is tested, in a word; may be given again.")] = None,
    engine: Annotated[
        list[str] | None, typer.Option(help="Record the answer of this engine, NAME==VERSION too; may be given again.")
    ] = None,
    file: Annotated[Path, typer.Option(help="The file to add it to; made where it is missing.")] = OWN,
    timeout: Timeout = None,
    roster: Roster = None,
    as_json: Json = False,
) -> None:
    """Add a vector: a document, its right answer by the oracle, the rule and its source.

    Exit codes: 0 added, 2 wrong use (also: there is a vector of this id, or --expect contradicts the oracle).
    """
    from tokassay.harness import cases, vectors
    from tokassay.harness.commands.options import asked
    from tokassay.harness.errors import InputError
    from tokassay.harness.input import read_document

    for option, given in (("--rule", rule), ("--source", source)):
        if not given.strip():
            raise InputError("it is empty", where=option, remedy="say why the answer is right, and who says so")
    what = asked(vocab, pattern, contract, specials, roster)
    unit = read_document(hexadecimal, text, None)
    held = vectors.load(file, missing=True)
    fields = {"specials": "on"} if specials else {}
    fields |= {key: getattr(what.contract, key) for key in ("byte_policy", "unicode") if contract and
               getattr(what.contract, key) != vectors.DEFAULTS[key]}
    row: dict[str, Any] = {
        "id": name, "vocabulary": vocab, "operation": operation, "contract": fields, "flags": flag or [],
        "stage": stage, "title": title, "rule": rule, "source": source,
    }
    row |= {"input_hex": unit.hex()} if times == 1 else {"input_repeat": {"hex": unit.hex(), "times": times}}
    where = f"{file}, vector {len(held.vectors) + 1}"
    draft = vectors.parse({**row, "ids": []}, where)
    held.with_new(draft)  # what is wrong so far is said before anyone is asked, which takes long
    case = cases.Case(what.loaded, what.contract, draft.document)
    answer = cases.by_oracle(case, what.roster)
    if expect is not None:
        told = cases.parse_ids(expect)
        if answer is not None and not told.same(answer):
            raise InputError(
                f"the oracle gives {answer.told()}", where="--expect", remedy="the rule decides: look which is wrong"
            )
        answer = told
    if answer is None:
        raise InputError("no oracle for this vocabulary", where="--expect", remedy="give the right ids")
    made = vectors.parse(row | ({"ids": None} if answer.outcome == "reject" else answer.to_json()), where)
    made = made.recorded(*_answers(made, engine or [], what.roster, timeout))
    vectors.change(file, lambda now: now.with_new(made), missing=True)
    if as_json:
        print_json(made.to_json())
    else:
        print(f"added to {file}: {json.dumps(made.to_json(), ensure_ascii=False)}")


@app.command()
def record(
    name: Annotated[str, typer.Argument(help="The vector's id.")],
    engines: Annotated[list[str], typer.Argument(help="Engines, NAME==VERSION too; each must be installed.")],
    like: Annotated[str, typer.Option(help="A vector whose divergence has the same cause in these engines.")] = "",
    file: Files = None,
    timeout: Timeout = None,
    roster: Roster = None,
    as_json: Json = False,
) -> None:
    """Record what engines give on a vector, right or wrong: from then on it is expected of them."""
    from tokassay.engines.roster import load_roster
    from tokassay.harness import vectors

    files = vectors.load_all(file or ())
    held, vector = vectors.find(name, files)
    if like:
        vectors.find(like, files)
    rows = _answers(vector, engines, load_roster(*(roster or ())), timeout, like)
    made = vector.recorded(*rows)
    # Others may have recorded meanwhile: only these answers are put into the file as it is now.
    vectors.change(held.path, lambda now: now.with_vector(vectors.find(name, [now])[1].recorded(*rows)))
    # Without --file it may be a file of the package; of --json, standard output is the vector alone.
    typer.echo(f"recorded in {held.path}", err=as_json)
    if as_json:
        print_json(made.to_json())
        return
    for one in made.engines:
        print(f"{one.engine} {one.version}: {'right' if made.right(one.answer) else 'wrong'}: {one.answer.told()}")


def _answers(vector: Any, engines: list[str], roster: Any, timeout: float | None, like: str = "") -> list[Any]:
    """The answers of these engines, to be recorded. Raises InputError for one that cannot be asked."""
    from tokassay.harness import vector_check, vectors
    from tokassay.harness.errors import NOTHING, InputError

    rows = []
    for name in engines:
        row = vector_check.check([vector], [name], roster, timeout_s=timeout)[0]
        if row.answer is None:
            raise InputError(
                f"{name} was not asked: {row.reason}", where=vector.id, remedy=f"tokassay engines install {name}",
                exit_code=NOTHING,
            )
        cause = "" if vector.right(row.answer) else like  # what is right has none
        rows.append(vectors.Recorded(row.engine, row.version, row.answer, cause))
    return rows


@app.command()
def export(
    out: Annotated[Path, typer.Option(help="The file to write.")] = OWN, file: Files = None, as_json: Json = False
) -> None:
    """All vectors as one file that needs nothing of ours: whole contracts, and the digests of the vocabularies."""
    from tokassay.harness import vector_export, vectors
    from tokassay.harness.errors import InputError, writing

    held = vectors.load_all(file or ())
    root = vector_export.exported(held)
    with writing(f"--out {out}"):
        if out.exists() and any(out.samefile(one.path) for one in held):
            raise InputError("it is one of the files that are read", where=f"--out {out}", remedy="name another file")
        out.write_text(json.dumps(root, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    told = {"written": str(out), "vectors": len(root["vectors"]), "contracts": len(root["contracts"])}
    print_json(told) if as_json else print(f"{told['vectors']} vectors of {told['contracts']} contracts: {out}")


@app.command()
def reproduce(
    name: Annotated[str, typer.Argument(help="The vector's id.")],
    engine: Annotated[str | None, typer.Argument(help="The engine, where the vector knows several.")] = None,
    out: Annotated[Path, typer.Option(help="The folder to write to.")] = Path("reproduce"),
    run: Annotated[bool, typer.Option("--run", help="Run the script in the engine's environment, too.")] = False,
    file: Files = None,
    roster: Roster = None,
    as_json: Json = False,
) -> None:
    """A script that needs the engine's package alone, and a report in Markdown for its authors.

    Exit codes: 0 written (with --run: and the script shows the divergence), 1 it does not show it, 2 wrong use.
    """
    from tokassay.engines.roster import load_roster
    from tokassay.harness import reproduce as made_by
    from tokassay.harness import vectors
    from tokassay.harness.errors import AGREED, MISMATCH

    known = load_roster(*(roster or ()))
    made = made_by.reproducer(vectors.find(name, vectors.load_all(file or ()))[1], engine, known)
    paths = [str(path) for path in made.write(out)]
    status, printed = made_by.run(made, out, known) if run else (None, "")
    if as_json:
        print_json({"written": paths, "status": status, "printed": printed})
    else:
        print("\n".join(["written: " + path for path in paths] + ([f"exit status {status}", printed] if run else [])))
    raise typer.Exit(MISMATCH if status == 0 else AGREED)


def _table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text as Plain

    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(Plain, row))
    Console().print(table)
