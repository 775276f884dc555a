"""The ways in which an engine is asked for the same ids, as a table: what `audit --self` compares with what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

FILES = 100  # documents a request that are files: a process has 256 descriptors


@dataclass(frozen=True)
class Way:
    """A way to ask for the same ids.

    threads    of the call, and of the pool with which the process starts
    order      of the documents: forward, reversed, shuffled
    most       documents a request; 0: as many as a block holds
    times      passes over all documents; each must give the same
    before     what the instance has done already: "" nothing, "reversed" the documents in that order
    form       the type that documents are handed over as, or how they lie in files; "" the usual
    options    of `load`, beside the roster's
    text_only  ask for well-formed documents alone
    few        ask for at most FEW documents
    """

    name: str
    operation: str = "encode"
    threads: int = 1
    order: str = "forward"
    most: int = 0
    times: int = 1
    before: str = ""
    form: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    text_only: bool = False
    few: bool = False


BASELINE = Way("baseline")
WAYS = (
    Way("a fresh instance"),
    Way("again and again", times=4),
    Way("reversed order", order="reversed"),
    Way("shuffled order", order="shuffled"),
    Way("a used instance", before="reversed"),
    Way("one request a document", most=1, few=True),
    Way("seven documents a request", most=7, few=True),
    Way("a pool of four", threads=4),
    Way("encode_batch", operation="encode_batch"),
    Way("encode_batch, two threads", operation="encode_batch", threads=2),
    Way("encode_batch, four threads", operation="encode_batch", threads=4),
    Way("encode_batch, four threads, again", operation="encode_batch", threads=4, times=4),
    Way("encode_batch, four threads, shuffled", operation="encode_batch", threads=4, order="shuffled"),
    Way("batches of one", operation="encode_batch", most=1, few=True),
    Way("batches of seven, two threads", operation="encode_batch", most=7, threads=2, few=True),
)
# What is told by the ids and the documents, and not by the ids of another call.
ROUND_TRIP = Way("round trip", operation="decode")
STREAMED = Way("streaming decode", operation="decode_stream", text_only=True)
OFFSETS = Way("offsets", operation="offsets")
STARTS = Way("offsets of decoding", operation="decode_offsets", text_only=True)
DERIVED = (ROUND_TRIP, STREAMED, OFFSETS, STARTS)
LONG_DOCUMENT = Way("a long document in parts")


def offered(hello: Mapping[str, Any], alternatives: Mapping[str, Mapping[str, Any]]) -> Iterator[Way]:
    """The ways that an engine offers of itself."""
    for entry in hello.get("entries", ()):
        yield Way(f"entry point {entry}", operation=entry, text_only=True)
    for form in hello.get("forms", ()):
        yield Way(f"as {form}", form=form, text_only=True)
    for reader in hello.get("readers", ()):
        how: dict[str, Any] = {"operation": "encode_files", "form": reader, "text_only": reader == "jsonl"}
        how |= {"most": FILES} if reader == "files" else {}
        yield Way(f"from {reader}", **how)
        yield Way(f"from {reader}, four threads", threads=4, **how)
    if "encode_spans" in hello.get("operations", ()):
        yield Way("ids of the call with offsets", operation="encode_spans")
    for name, options in alternatives.items():
        yield Way(name, options=options)
        yield Way(f"{name}, warm", options=options, times=2)
