"""Files of `tokassay freeze`: an engine's ids on stated corpora, as digests and in full (docs/FORMATS.md#frozen-files).

Nothing in a file depends on when or where in the file system it was made: the same ids give the same bytes.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from tokassay.engines.frames import corpus_digest
from tokassay.harness.answers import Field, check_fields, is_number, is_text
from tokassay.harness.compare import Output
from tokassay.harness.contract import SPECIAL_POLICIES, Contract
from tokassay.harness.domains import DOMAINS
from tokassay.harness.errors import InputError

SCHEMA = "tokassay.golden/2"
# Ids of a corpus and domain are kept in full up to this many; past it, only their digest is.
KEPT = 4_000_000
MOST_FILE = 1 << 28


@dataclass(frozen=True)
class Part:
    """One domain of a frozen corpus. `kept` has the statuses and ids of its documents, in order; None: digests only.

    `blocks` are the digests of its blocks, from which `digest` is made.
    """

    domain: str
    documents: int
    ids: int
    rejects: int
    failed: int
    blocks: tuple[str, ...]
    kept: Output | None = None

    @property
    def digest(self) -> str:
        """The corpus digest (docs/FORMATS.md#digests), 64 hex digits."""
        return corpus_digest(self.blocks)

    def to_json(self) -> dict[str, Any]:
        value: dict[str, Any] = {
            "domain": self.domain, "documents": self.documents, "ids": self.ids, "rejects": self.rejects,
            "failed": self.failed, "digest": self.digest, "blocks": list(self.blocks),
        }
        return value | {"kept": None if self.kept is None else packed(self.kept)}


@dataclass(frozen=True)
class Frozen:
    """One corpus of a file: which one (`content`: its content digest), asked how, and what the ids were."""

    spec: str
    seed: int
    specials: str
    documents: int
    bytes: int
    content: str
    parts: tuple[Part, ...]

    @property
    def name(self) -> str:
        """The spec; `spec +specials` where special tokens were matched."""
        return self.spec + (" +specials" if self.specials == "on" else "")

    def to_json(self) -> dict[str, Any]:
        return {
            "spec": self.spec, "seed": self.seed, "specials": self.specials, "documents": self.documents,
            "bytes": self.bytes, "content": self.content, "parts": [part.to_json() for part in self.parts],
        }


@dataclass(frozen=True)
class Golden:
    """A whole file. `vocabulary`: `given` (a known name, or a path relative to the file), `format`, `sha256` and
    `pattern`. `engine`: `name`, `version`, `python`, `platform`. `settings` are those of a folder of tokenizer files,
    None where there is none."""

    tokassay: str
    vocabulary: Mapping[str, Any]
    contract: Contract
    unmodelled: tuple[str, ...]
    engine: Mapping[str, str]
    corpora: tuple[Frozen, ...]
    settings: Mapping[str, Any] | None = None
    path: Path = field(default=Path("golden.json"), compare=False)

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "tokassay": self.tokassay,
            "vocabulary": dict(self.vocabulary),
            "contract": self.contract.to_json(),
            "unmodelled": list(self.unmodelled),
            "engine": dict(self.engine),
            "settings": None if self.settings is None else dict(self.settings),
            "corpora": [corpus.to_json() for corpus in self.corpora],
        }

    def text(self) -> str:
        """The file's text: one JSON object, a line a field."""
        return json.dumps(self.to_json(), indent=1, ensure_ascii=True) + "\n"


def packed(output: Output) -> str:
    """Statuses, counts and ids as text: base64 of zlib of u8[n], then the bytes of u32[n] and u32[sum] by planes.

    By planes: all lowest bytes, then all second ones, and so on; ids compress to about half of what they do else.
    """
    planes = [
        np.ascontiguousarray(column.astype("<u4")).view(np.uint8).reshape(-1, 4).T.tobytes()
        for column in (output.counts, output.values)
    ]
    return base64.b64encode(zlib.compress(output.status.astype(np.uint8).tobytes() + b"".join(planes), 9)).decode()


def unpacked(text: str, documents: int, ids: int, where: str) -> Output:
    """What `packed` wrote for so many documents and ids. Raises InputError."""
    remedy = "freeze again, or take the file from where it was written"
    size = 5 * documents + 4 * ids
    try:
        inflater = zlib.decompressobj()
        # No more than what the counts say: a small file may stand for gigabytes.
        data = inflater.decompress(base64.b64decode(text, validate=True), size + 1)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise InputError(f"not packed ids: {error}", where=where, remedy=remedy) from None
    if len(data) != size:
        raise InputError(
            f"holds {'more' if len(data) > size else 'less'} than {documents} documents with {ids} ids", where=where,
            remedy=remedy,
        )
    status = np.frombuffer(data, np.uint8, documents)
    counts = _plane(data, documents, documents)
    if int(counts.sum(dtype=np.uint64)) != ids or int(status.max(initial=0)) > 2:
        raise InputError(f"its documents have other ids than the {ids} that are stated", where=where, remedy=remedy)
    return Output(status, counts.astype(np.uint64), _plane(data, 5 * documents, ids))


def _plane(data: bytes, start: int, count: int) -> Any:
    rows = np.frombuffer(data, np.uint8, 4 * count, start).reshape(4, count)
    return np.ascontiguousarray(rows.T).view("<u4").reshape(-1).astype(np.uint32)


# -- reading ------------------------------------------------------------------------------------------------


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a file."""
    text = files("tokassay.fixtures").joinpath("golden", "golden.schema.json").read_text("utf-8")
    made: dict[str, Any] = json.loads(text)
    return made


def _hex64(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


NUMBER = Field(lambda value: is_number(value, most=2**63), "a whole number from 0 on")
TEXT = Field(is_text, "a text")
DIGEST = Field(_hex64, "64 hex digits, small letters")
OBJECT = Field(lambda value: isinstance(value, dict), "an object")
ROOT: Mapping[str, Field] = {
    "schema": TEXT,
    "tokassay": TEXT,
    "vocabulary": OBJECT,
    "contract": OBJECT,
    "unmodelled": Field(is_text, "texts", each=True),
    "engine": OBJECT,
    "settings": Field(lambda value: isinstance(value, dict), "an object or null", null=True),
    "corpora": Field(lambda value: isinstance(value, dict), "objects", each=True),
}
VOCABULARY: Mapping[str, Field] = {
    "given": TEXT,
    "format": TEXT,
    "sha256": DIGEST,
    "pattern": Field(is_text, "a text or null", null=True),
}
ENGINE: Mapping[str, Field] = {"name": TEXT, "version": TEXT, "python": TEXT, "platform": TEXT}
CORPUS: Mapping[str, Field] = {
    "spec": TEXT,
    "seed": NUMBER,
    "specials": Field(lambda value: value in SPECIAL_POLICIES, " | ".join(SPECIAL_POLICIES)),
    "documents": NUMBER,
    "bytes": NUMBER,
    "content": DIGEST,
    "parts": Field(lambda value: isinstance(value, dict), "objects", each=True),
}
PART: Mapping[str, Field] = {
    "domain": Field(lambda value: value in DOMAINS, " | ".join(DOMAINS)),
    "documents": NUMBER,
    "ids": NUMBER,
    "rejects": NUMBER,
    "failed": NUMBER,
    "digest": DIGEST,
    "blocks": Field(_hex64, "digests of 64 hex digits", each=True),
    "kept": Field(lambda value: isinstance(value, str), "packed ids or null", null=True),
}


def read_golden(path: Path) -> Golden:
    """The file at `path`. Raises InputError that names the file and the place in it for anything that is not as
    `Golden.to_json` writes it, digests included."""
    where = str(path)
    root = _read_json(path)
    found = root.get("schema") if isinstance(root, dict) else None
    if found != SCHEMA:
        raise InputError(
            f"schema is {found!r}, not {SCHEMA!r}", where=where, remedy="give a file that `tokassay freeze` wrote"
        )
    check_fields(root, ROOT, where, needed=list(ROOT))
    check_fields(root["vocabulary"], VOCABULARY, f"{where}: vocabulary", needed=list(VOCABULARY))
    check_fields(root["engine"], ENGINE, f"{where}: engine", needed=list(ENGINE))
    corpora = tuple(_corpus(value, f"{where}: corpora[{place}]") for place, value in enumerate(root["corpora"]))
    if not corpora:
        raise InputError("no corpora", where=f"{where}: corpora", remedy="freeze again")
    keys = [(corpus.name, corpus.seed) for corpus in corpora]
    if len(set(keys)) != len(keys):
        raise InputError("a corpus is there twice", where=f"{where}: corpora", remedy="freeze again")
    return Golden(
        root["tokassay"], root["vocabulary"], Contract.from_json(root["contract"], where=f"{where}: contract"),
        tuple(root["unmodelled"]), root["engine"], corpora, root["settings"], path,
    )


def _read_json(path: Path) -> Any:
    where = str(path)

    def unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(pairs)
        if len(table) != len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for place, key in enumerate(keys) if key in keys[:place])
            raise InputError(f"key {twice!r} is given twice", where=where, remedy="leave one of them out")
        return table

    try:
        if not path.is_file():
            raise InputError("no such file", where=where, remedy="make it with `tokassay freeze --out FILE`")
        if path.stat().st_size > MOST_FILE:
            raise InputError("larger than 256 MiB", where=where, remedy="give a file that `tokassay freeze` wrote")
        return json.loads(path.read_bytes().decode("utf-8"), object_pairs_hook=unique)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=where, remedy="check the path") from None
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 at byte {error.start}", where=where, remedy="freeze again") from None
    except json.JSONDecodeError as error:
        place = f"{where}:{error.lineno}:{error.colno}"
        raise InputError(f"not JSON: {error.msg}", where=place, remedy="freeze again, or restore the file") from None
    except RecursionError:
        raise InputError("nested too deep", where=where, remedy="freeze again") from None


def _corpus(value: Any, where: str) -> Frozen:
    check_fields(value, CORPUS, where, needed=list(CORPUS))
    parts = tuple(_part(part, f"{where}.parts[{place}]") for place, part in enumerate(value["parts"]))
    domains = [part.domain for part in parts]
    if len(set(domains)) != len(domains) or sum(part.documents for part in parts) != value["documents"]:
        raise InputError(
            f"its parts do not make up {value['documents']} documents", where=f"{where}.parts", remedy="freeze again"
        )
    return Frozen(**{**value, "parts": parts})


def _part(value: Any, where: str) -> Part:
    check_fields(value, PART, where, needed=list(PART))
    kept = value["kept"]
    output = None if kept is None else unpacked(kept, value["documents"], value["ids"], f"{where}.kept")
    part = Part(
        value["domain"], value["documents"], value["ids"], value["rejects"], value["failed"], tuple(value["blocks"]),
        output,
    )
    if part.digest != value["digest"]:
        raise InputError("the digest is not that of its blocks", where=f"{where}.digest", remedy="freeze again")
    if output is not None:
        counted = int((output.status == 1).sum()), int((output.status == 2).sum())
        if counted != (part.rejects, part.failed):
            raise InputError(
                f"{counted[0]} documents are refused and {counted[1]} fail in it, {part.rejects} and {part.failed} "
                "are stated", where=f"{where}.kept", remedy="freeze again",
            )
    return part
