"""Gradients of an attention that are written into the parts of one array: the bits of a copy, and where there is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attention_gradients import attend, gradient, split
from cuda_emulation import ARCHITECTURES, compiled, compiler
from cupy_agreement import agree, arguments, in_one_batch
from fake_device import Batch
from mind_dialect import ptir
from mind_dialect.dominance import walk
from mind_dialect.program import functions
from mind_dialect.ptir import ConcatOp, FusionOp
from mind_lowering.cupy import prepare
from mind_passes.fusion.place_parts import OVERWRITTEN
from numpy_launches import on_numpy
from ptir_forms import causal, program, shape, spread

pytest.importorskip("ml_dtypes", reason="no ml_dtypes: narrow floats have no arrays to compare with")
Body = Callable[..., Any]


def sliced(x: Any, axis: int, start: int, size: int) -> Any:
    extents = shape(x)
    starts = tuple(start if a == axis else 0 for a in range(len(extents)))
    return ptir.SliceOp(x, starts=starts, sizes=tuple(size if a == axis else n for a, n in enumerate(extents)))


def thirds(x: Any, axis: int) -> list[Any]:
    n = shape(x)[axis] // 3
    return [sliced(x, axis, i * n, n) for i in range(3)]


def joined(heads: int) -> Body:
    """Queries, keys and values side by side, heads split off."""

    def body(x: Any, *biases: Any) -> Any:
        for bias in biases:
            x = ptir.AddOp(x, spread(bias, x)).result
        o = attend(*(split(part, heads) for part in thirds(x, 2)), lambda s: causal(s, -1e9))
        batch, rows, width = shape(x)
        return ptir.ReshapeOp(ptir.TransposeOp(o, perm=(0, 2, 1, 3)), new_shape=(batch, rows, width // 3))

    return body


def along(axis: int) -> Body:
    return lambda x: attend(*thirds(x, axis))


def uneven(x: Any) -> Any:
    """Keys and values of fewer heads, which several share: parts of different sizes."""
    q, k, v = (sliced(x, 0, start, size) for start, size in ((0, 6), (6, 2), (8, 2)))

    def shared(x: Any) -> Any:
        kv, keys, depth = shape(x)
        wide = ptir.BroadcastToOp(ptir.ReshapeOp(x, new_shape=(kv, 1, keys, depth)), result_shape=(kv, 3, keys, depth))
        return ptir.ReshapeOp(wide, new_shape=(kv * 3, keys, depth))

    return attend(q, shared(k), shared(v))


PLACED: dict[str, tuple[str, Body]] = {
    **{t: (f"{t}[2,70,48]", joined(2)) for t in ("f32", "f64")},
    **{t: (f"{t}[2,70,96]", joined(2)) for t in ("f16", "bf16")},
    "bias": ("f32[2,40,48] f32[48]", joined(2)),
    "bias bf16": ("bf16[2,40,96] bf16[96]", joined(2)),
    "one head": ("f32[1,33,15]", joined(1)),
    "narrow heads": ("bf16[2,30,36]", joined(3)),
    "along rows": ("f32[3,60,8]", along(1)),
    "along a batch": ("f32[6,20,8]", along(0)),
    "along a batch f16": ("f16[6,40,16]", along(0)),
}


def made(name: str) -> Any:
    types, body = PLACED[name]
    return gradient(types, body, range(len(types.split())))


def fusions(module: Any) -> list[FusionOp]:
    return [op for op in walk(prepare.prepared(next(iter(functions(module))))) if isinstance(op, FusionOp)]


def concats(module: Any) -> list[bool]:
    """Whether each concatenation is part of a gradient."""
    found = [(op, o) for op in fusions(module) for o in op.body.block.ops if isinstance(o, ConcatOp)]
    return [op.pattern is not None for op, _ in found]


@pytest.mark.parametrize("name", PLACED)
def test_there_is_no_copy(name: str) -> None:
    assert concats(made(name)) == [True, True]
    first, second = [op for op in fusions(made(name)) if any(isinstance(o, ConcatOp) for o in op.body.block.ops)]
    assert any(OVERWRITTEN in o.attributes for o in first.body.block.ops)
    assert not any(OVERWRITTEN in o.attributes for o in second.body.block.ops)
    assert first.results[0] in second.operands


def test_results_are_those_of_numpy_and_the_bits_those_of_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler()
    _, programs = in_one_batch([(name, made(name)) for name in PLACED])
    monkeypatch.setattr(prepare, "place_parts", lambda *_: None)
    _, copies = in_one_batch([(name, made(name)) for name in PLACED])
    for i, ((name, run, module), (_, copy, _)) in enumerate(zip(programs, copies, strict=True)):
        values = arguments(run, i)
        if name != "bias bf16":  # sums of keys' gradients, which are nearly 0
            agree(name, run, module, values)
        tiny = [
            np.where(np.arange(x.size).reshape(x.shape) % 3 > 0, x * x.dtype.type(1e-5), -x * 0).astype(x.dtype) for x in values
        ]
        if values[0].dtype == np.float32:
            tiny[-1] = (tiny[-1] * np.float32(1e-38)).astype(np.float32)
        for given in (values, tiny):
            for x, y in zip(run(*given), copy(*given), strict=True):
                assert x.tobytes() == y.tobytes(), name


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_nvrtc_compiles_them(architecture: str) -> None:
    batch = Batch()
    for name in ("f32", "bf16", "along rows"):
        batch.add(made(name))
    assert compiled(batch.text(), architecture)


def test_the_array_is_one_in_the_plan() -> None:
    run: Any = on_numpy(made("f32"))
    values = arguments(run, 3)
    for x, y in zip(run(*values), run(*values), strict=True):
        assert x.tobytes() == y.tobytes()


def two_of_three(x: Any) -> Any:
    q, k, v = thirds(x, 2)
    return attend(q, k, ptir.TanhOp(v))


def read_again(x: Any, y: Any) -> Any:
    """The gradient of the queries is a result, too."""
    q, k, v = thirds(x, 2)
    return attend(ptir.AddOp(q, y), k, v)


COPIED: dict[str, tuple[str, Body]] = {
    "a part is computed": ("f32[2,40,24]", two_of_three),
    "a part is read again": ("f32[2,40,24] f32[2,40,8]", read_again),
    "shared heads": ("f32[10,20,8]", uneven),
}


@pytest.mark.parametrize("name", COPIED)
def test_what_is_copied(name: str) -> None:
    compiler()
    types, body = COPIED[name]
    module = gradient(types, body, range(len(types.split())))
    assert True not in concats(module)
    _, ((_, run, _),) = in_one_batch([("", module)])
    agree(name, run, module, arguments(run, 1))


def test_attentions_themselves_are_copied() -> None:
    compiler()
    module = program(" ".join(["f32[3,20,8]"] * 3), lambda q, k, v: ConcatOp(attend(q, k, v), attend(k, q, v), axis=0))
    assert concats(module) == [False]
    _, ((_, run, _),) = in_one_batch([("", module)])
    agree("", run, module, arguments(run, 2))
