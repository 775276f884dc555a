"""Makes wheels and source archives of planted packages, in a folder that pip and uv are pointed to: no network."""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: {tag}\n"


def wheel(folder: Path, name: str, version: str, code: str, tag: str = "py3-none-any") -> Path:
    """A wheel of one module, `name`."""
    info = f"{name}-{version}.dist-info"
    members = {
        f"{name}.py": code,
        f"{info}/METADATA": METADATA.format(name=name, version=version),
        f"{info}/WHEEL": WHEEL.format(tag=tag),
    }
    record = []
    path = folder / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in members.items():
            archive.writestr(member, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            record.append(f"{member},sha256={digest},{len(text.encode())}")
        archive.writestr(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,"]) + "\n")
    return path


def source(folder: Path, name: str, version: str) -> Path:
    """A source archive that holds its metadata and nothing to build."""
    path = folder / f"{name}-{version}.tar.gz"
    data = METADATA.format(name=name, version=version).encode()
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo(f"{name}-{version}/PKG-INFO")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return path
