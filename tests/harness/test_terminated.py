"""A command that is ended by a signal leaves no folder behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

START = "from tokassay.harness.cli import main; main()"


@pytest.mark.parametrize(
    ("words", "folder"),
    [
        (["audit", "--vocab", "gpt2", "--engine", "dat-bpe", "--corpus", "{}@lines"], "tokassay-host-"),
        (["trace", "oracle", "--file", "{}"], "tokassay-host-"),
        (["reduce", "--run", "sh -c 'sleep 30'", "{}"], "tokassay-reduce-"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else value,
)
def test_a_terminated_command_cleans_up(tmp_path: Path, words: list[str], folder: str) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    document = tmp_path / "document"
    document.write_text("some words, and more of them\n" * 20_000)
    command = [sys.executable, "-c", START, *(word.format(document) for word in words)]
    process = subprocess.Popen(
        command, cwd=tmp_path, env={**os.environ, "TMPDIR": str(temporary)}, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        while process.poll() is None and not any(temporary.glob(f"{folder}*")):
            time.sleep(0.01)
        time.sleep(0.3)  # it is at work
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM
    finally:
        process.kill()
    assert list(temporary.iterdir()) == []
