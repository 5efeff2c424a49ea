"""What is found in a folder of machine code that others may write to: whole regular files of ours, and nothing else."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from mind_lowering import code_cache

NAME, CODE = "0" * 64, b"machine code"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(code_cache.VARIABLE, str(tmp_path))


def entry() -> Path:
    folder = code_cache.folder()
    assert folder is not None
    return folder / NAME


def fifo(path: Path) -> None:
    os.mkfifo(path)


def socket_file(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def link_to(make: Callable[[Path], None]) -> Callable[[Path], None]:
    def made(path: Path) -> None:
        make(path.with_suffix(".target"))
        path.symlink_to(path.with_suffix(".target"))

    return made


def too_large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(code_cache.LARGEST + 1)


STRANGE: dict[str, Callable[[Path], None]] = {
    "a FIFO": fifo,
    "a link to a FIFO": link_to(fifo),
    "a socket": socket_file,
    "a folder": Path.mkdir,
    "a link to nothing": lambda path: path.symlink_to(path.with_suffix(".nowhere")),
    "a link to itself": lambda path: path.symlink_to(path),
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "nothing": lambda path: None,
    "an empty file": lambda path: path.write_bytes(b"") and None,
    "a short file": lambda path: path.write_bytes(b"short") and None,
    "a file of no code": lambda path: path.write_bytes(bytes(32)) and None,
    "a file of other code": lambda path: path.write_bytes(bytes(64)) and None,
    "a large file": too_large,
}


def finished(call: Callable[[], object]) -> object:
    """What a call gives that must not wait for anybody: it has a thread of its own, so that a test ends that fails."""
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(call()), daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive(), "it waits"
    return found[0]


@pytest.mark.parametrize("kind", STRANGE)
def test_what_is_no_entry_is_no_find(kind: str) -> None:
    entry().parent.mkdir(parents=True)
    STRANGE[kind](entry())
    assert finished(lambda: code_cache.read(NAME)) is None


@pytest.mark.parametrize("kind", [kind for kind in STRANGE if kind != "a folder"])
def test_an_entry_takes_its_place(kind: str) -> None:
    entry().parent.mkdir(parents=True)
    STRANGE[kind](entry())
    finished(lambda: code_cache.write(NAME, CODE))
    assert finished(lambda: code_cache.read(NAME)) == CODE
    assert entry().is_file()
    assert not entry().is_symlink()
