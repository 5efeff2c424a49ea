"""Decides what an input showed: accepted, refused by a code, or a finding, and of which cause."""

from __future__ import annotations

import contextlib
import signal
import traceback
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import FrameType

from xdsl.utils.exceptions import DiagnosticException, ParseError, UnregisteredConstructException

from mind_dialect.errors import CATALOGUE, MindError, MindParseError
from mind_tools.diagnostics import as_coded

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("mind_dialect", "mind_passes", "mind_lowering", "mind_runtime", "mind_translate", "mind_tools", "mind_array")
SECONDS = 10.0
"""Processor time that one input may take."""
LONGEST = 6000
"""Characters that a message may have."""


class Kind(ABC):
    """A kind of inputs: how they are generated, tried and made smaller."""

    name: str
    share: int = 1
    """How many inputs of this kind run for one of the slowest kind."""

    @abstractmethod
    def make(self, rng: Random) -> bytes:
        """Generate an input."""

    @abstractmethod
    def run(self, data: bytes) -> None:
        """Try an input: return if it is accepted, raise a coded error if it is refused, raise anything else for a finding."""

    def size(self, data: bytes) -> int:
        """Return how much there is in an input."""
        return len(data)

    def smaller(self, data: bytes) -> Iterator[bytes]:
        """Yield inputs like `data` with less in them, the smallest first."""
        pieces = data.splitlines(keepends=True)
        yield from _without_parts(pieces if len(pieces) > 1 else [data[i : i + 1] for i in range(len(data))])
        if len(pieces) > 1:
            yield from _without_parts(_words(data))


class Difference(AssertionError):
    """Two results that should be the same; the first line says which."""


class Hang(BaseException):
    """An input took more than `SECONDS`. No `except Exception` may catch it."""


@dataclass(frozen=True)
class Finding:
    """A failure that no input may cause."""

    cause: str
    detail: str


def judge(kind: Kind, data: bytes, seconds: float = SECONDS) -> str | Finding:
    """Try an input; return "accepted", the code of the error that refuses it, or a finding."""
    try:
        with time_limit(seconds):
            kind.run(data)
    except KeyboardInterrupt:
        raise
    except BaseException as e:
        return _refusal(e) or Finding(_cause(e), "".join(traceback.format_exception(e))[-LONGEST:])
    return "accepted"


def _refusal(e: BaseException) -> str | None:
    """Return the code of an error that is well formed, or None."""
    if not isinstance(e, DiagnosticException | ParseError | UnregisteredConstructException | MindError):
        return None
    coded = e.error if isinstance(e, MindParseError) else as_coded(e, "input")
    message = f"{coded} {e}"
    is_wrong = coded.code not in CATALOGUE or coded.code in ("E7004", "E7006") or len(message) > LONGEST
    return None if is_wrong or not _is_printable(message) else coded.code


def _is_printable(message: str) -> bool:
    """Return whether a message can be written as UTF-8."""
    with contextlib.suppress(UnicodeEncodeError):
        message.encode()
        return True
    return False


def _cause(e: BaseException) -> str:
    """Return the type of a failure and our innermost frame; of a difference, what differs."""
    if isinstance(e, Difference):
        return f"difference: {str(e).splitlines()[0]}"
    frames = traceback.extract_tb(e.__traceback__)
    ours = [f"{_shown(f.filename)}:{f.name}" for f in frames if set(Path(f.filename).parts) & set(PACKAGES)]
    what = "hang" if isinstance(e, Hang) else type(e).__name__
    if isinstance(e, MindError):
        what = f"{e.code} of {len(str(e)) // LONGEST * LONGEST}+ characters" if len(str(e)) > LONGEST else e.code
    return f"{what} in {ours[-1] if ours else 'no frame of ours'}"


def _shown(filename: str) -> str:
    """Return the path of a module from its package on."""
    parts = Path(filename).parts
    return "/".join(parts[max(parts.index(p) for p in PACKAGES if p in parts) :])


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `Hang` once the process has computed for so many seconds; the load of the machine does not count."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Hang(f"more than {seconds} s of processor time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


# Making inputs smaller


def minimised(kind: Kind, data: bytes, cause: str, tries: int = 400, seconds: float = SECONDS) -> bytes:
    """Return a smaller input of the same cause: whatever can be left out one by one, within so many tries."""
    left = tries
    while left > 0:
        for candidate in kind.smaller(data):
            left -= 1
            if kind.size(candidate) < kind.size(data):
                found = judge(kind, candidate, seconds)
                if isinstance(found, Finding) and found.cause == cause:
                    data = candidate
                    break
            if left <= 0:
                return data
        else:
            return data
    return data


def _words(data: bytes) -> list[bytes]:
    """Split into words, blanks and single characters."""
    found: list[bytes] = []
    for byte in (data[i : i + 1] for i in range(len(data))):
        is_word = byte.isalnum() or byte in b"_.%@"
        if found and is_word and (found[-1][-1:].isalnum() or found[-1][-1:] in b"_.%@"):
            found[-1] += byte
        else:
            found.append(byte)
    return found


def _without_parts(pieces: list[bytes]) -> Iterator[bytes]:
    """Yield the pieces without one run of them: half of them first, single ones last."""
    size = len(pieces) // 2
    while size:
        for start in range(0, len(pieces), size):
            yield b"".join(pieces[:start] + pieces[start + size :])
        size //= 2
