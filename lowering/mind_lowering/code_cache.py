"""
Machine code on disk, by the hash of what it was made from; for each target a folder.

A file is a digest, of its name too, and the code. One that is cut off, changed, of another name, or somebody else's is no find;
one that cannot be written is not. A file is written under another name and renamed, so that processes which share a folder see
all of it or nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
import zlib
from pathlib import Path

VARIABLE = "MIND_CACHE_DIR"
"""The environment variable that names the folder; empty, nothing is kept."""
LARGEST = 1 << 28
"""Bytes of the folder above which the files that were used longest ago go."""
SWEEP = 32
"""One of so many names makes who writes it see to that bound: looking at a folder of many files takes longer than writing one."""
_DIGEST = hashlib.sha256


def folder(target: str = "native") -> Path | None:
    """The folder of the cache, None where there is none."""
    given = os.environ.get(VARIABLE)
    if given is not None:
        return Path(given) / target if given else None
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "mind-dialect" / target
    except RuntimeError:  # no home
        return None


def key(*parts: str) -> str:
    """The name of the file for code made from `parts`."""
    digest = _DIGEST()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def read(name: str, target: str = "native") -> bytes | None:
    """The code of that name, if it is there, whole and ours: a regular file that does not exceed the bound of the folder."""
    place = folder(target)
    if place is None:
        return None
    try:
        with open(place / name, "rb", opener=_opened) as file:
            found = os.fstat(file.fileno())
            is_ours = not hasattr(os, "getuid") or found.st_uid == os.getuid()
            if not is_ours or not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
                return None
            data = file.read()
    except OSError:
        return None
    digest, code = data[:32], data[32:]
    return code if code and _digest_of(name, code) == digest else None


def _opened(path: str, flags: int) -> int:
    """Open a file without waiting for somebody to write to it, as a FIFO would have us do."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def write(name: str, code: bytes, target: str = "native") -> None:
    """Keep code under that name, if that can be done."""
    place = folder(target)
    if place is None:
        return
    temporary: str | None = None
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=place, prefix=".new-")
        with os.fdopen(handle, "wb") as file:
            file.write(_digest_of(name, code) + code)
        os.replace(temporary, place / name)
        temporary = None
        if zlib.crc32(name.encode()) % SWEEP == 0:
            _trim(place)
    except OSError:
        pass
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _digest_of(name: str, code: bytes) -> bytes:
    """Return a digest that tells whether code is that of a name."""
    digest = _DIGEST(name.encode() + b"\n")
    digest.update(code)
    return digest.digest()


def _trim(place: Path) -> None:
    """Keep the folder below its bound."""
    with os.scandir(place) as entries:
        found = [(s.st_mtime, s.st_size, e.path) for e in entries if (s := e.stat(follow_symlinks=False))]
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= LARGEST:
            return
        with contextlib.suppress(OSError):
            os.unlink(path)
        total -= size
