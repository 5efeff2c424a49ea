"""Programs, and which of their calls go through Python, for tests of calls that native code takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mind_runtime
from mind_dialect import ptir
from mind_dialect.errors import MindError
from ptir_forms import like, program

ROWS = np.random.default_rng(0).standard_normal((2, 37)).astype(np.float32)


def calls_in_python(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The calls that go through Python, by how many arguments they have."""
    found: list[int] = []
    for kind in (mind_runtime.Program, mind_runtime.Bound):
        true_call = kind.__call__

        def slowly(self: Any, *arguments: Any, true_call: Any = true_call, **options: Any) -> Any:
            found.append(len(arguments))
            return true_call(self, *arguments, **options)

        monkeypatch.setattr(kind, "_slowly", slowly, raising=False)
    from mind_runtime.native.program import NativeProgram

    monkeypatch.setattr(NativeProgram, "_slowly", mind_runtime.Program._slowly)
    return found


def chain(n: int = 37) -> Any:
    return program(f"f32[{n}] f32[{n}]", lambda a, b: [ptir.MaximumOp(ptir.SubOp(ptir.MulOp(a, b), a), like(a, 0.5))])


def compiled(module: Any, **options: Any) -> Any:
    return mind_runtime.compile(module, target="native", **options)


def failure(run: Any, *arguments: Any, **options: Any) -> MindError:
    with pytest.raises(MindError) as e:
        run(*arguments, **options)
    return e.value


def unaligned(x: Any) -> Any:
    return np.frombuffer(b"x" + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(x.shape)
