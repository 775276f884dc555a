"""One encoder, many threads: its tables are in memory once, whether they were built or are mapped from a file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tokassay.engines.dat_bpe import Encoder

SAMPLE = Path(__file__).parents[3] / "fixtures" / "sample" / "udhr.txt"
# In a process of its own: what another test has allocated is no measure. 32 threads of a batch, then 32 of the
# interpreter; the caches, which are a thread's own, are as small as they get.
PROGRAM = """
import sys
from concurrent.futures import ThreadPoolExecutor
from tokassay.engines.dat_bpe import Encoder

path, sample, kind = sys.argv[1:]
text = open(sample, "rb").read()
documents = [text[at : at + 4096] for at in range(0, len(text), 4096)] * 4

def resident():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS"))

if kind == "mapped":
    encoder = Encoder.open(path, cache_bits=8, without=["wide"])
else:
    encoder = Encoder.load("cl100k_base", cache_bits=8, without=["wide"])
right = encoder.encode_batch(documents)[0]
before = resident()
kept = [open(path, "rb").read() for _ in range(5)] if kind == "copies" else []
with ThreadPoolExecutor(32) as pool:
    rows = list(pool.map(encoder.encode, documents))
assert (encoder.encode_batch(documents, threads=32)[0] == right).all()
assert sum(map(len, rows)) == len(right)
print(resident() - before)
if kind == "mapped":
    inside, found = False, []
    with open("/proc/self/smaps") as file:
        for line in file:
            name = line.split()[0]
            if not name.endswith(":"):
                inside = line.rstrip().endswith(path)
                if inside:
                    found.append(line.split()[1])
            elif inside and name == "Anonymous:":
                found.append(line.split()[1])
    print(*found)
"""


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """cl100k's tables as a file, and how many bytes they are."""
    path = tmp_path_factory.mktemp("shared") / "cl100k.profile"
    return path, Encoder.load("cl100k_base").save(path)


def measure(path: Path, kind: str) -> list[str]:
    words = [sys.executable, "-c", PROGRAM, str(path), str(SAMPLE), kind]
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=200).stdout.split()


@pytest.mark.parametrize("kind", ["built", "mapped"])
def test_threads_have_no_tables_of_their_own(profile: tuple[Path, int], kind: str) -> None:
    """32 threads and then 32 more: copies of the tables would be 64 times their size, and were they only made by one
    thread in sixteen, 4 times."""
    path, size = profile
    assert size > 10_000_000
    grown, *mapping = measure(path, kind)
    assert int(grown) < 2 * size
    # One mapping of the file, read-only and shared, of which no page has become the process's own.
    assert mapping == ([] if kind == "built" else ["r--s", "0"])


def test_copies_would_be_seen(profile: tuple[Path, int]) -> None:
    """The measure itself: five copies of the tables are far over the bound."""
    path, size = profile
    assert int(measure(path, "copies")[0]) > 4 * size
