"""Elementwise kernels: every op in every dtype, on the CPU and against the NumPy kernels; NVRTC takes the same text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.ir import Block

from closed_tables import expect_rows
from cuda_emulation import ARCHITECTURES, compiled, library, run
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.ptir import FUSIBLE, PtirOp
from mind_dialect.ptir.types import DTYPES, Kind, PtirDType, tensor_type
from mind_lowering.cupy.cuda_cpp.text import module_text
from mind_lowering.cupy.kernels.kernel import CudaKernel
from mind_lowering.cupy.kernels.patterns import schedule_of
from mind_lowering.cupy.kernels.scalars import EMITTERS, STORED
from mind_lowering.kernels import NUMPY
from mind_lowering.ptir_kernels.formats import array_dtype
from mind_lowering.ptir_kernels.table import kernel_call

pytest.importorskip("ml_dtypes", reason="no ml_dtypes: bf16 has no arrays to compare with")

SIZE = 203
FRAMES = (ptir.CastOp, ptir.MinimumOp, ptir.SelectOp)
"""Ops that read and write all that an elementwise kernel can."""
INEXACT = {"exp", "log", "tanh", "erf", "sin", "cos", "pow", "expm1", "log1p", "logistic", "atan2", "cbrt", "erf_inv", "lgamma"}
ULP = {"f32": 4e-7, "f64": 1e-15, "f16": 1e-3, "bf16": 8e-3}


def emitted(block: Block) -> CudaKernel:
    """The kernel of a body that is one."""
    schedule = schedule_of(block)
    assert schedule is not None
    return schedule.emit()


def samples(dtype: PtirDType, seed: int, size: int = SIZE) -> np.ndarray:
    """Numbers of all sizes, the corners first."""
    rng, array = np.random.default_rng(seed), array_dtype(dtype.name)
    if dtype.kind is Kind.BOOL:
        return rng.integers(0, 2, size).astype(array)
    if dtype.kind is not Kind.FLOAT:
        info = np.iinfo(array)
        corners = [
            v for v in (info.min, info.max, 0, 1, -1, 2, 7, -7, dtype.bits, dtype.bits - 1, 3) if info.min <= v <= info.max
        ]
        wide = rng.integers(info.min, info.max, size, dtype=array, endpoint=True)
        small = rng.integers(0, 100, size).astype(array)
        found = np.where(rng.random(size) < 0.5, wide, small)
        found[: 11 * len(corners) : 11] = corners
        return found
    corners = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        np.inf,
        -np.inf,
        np.nan,
        0.5,
        1e-42,
        65520.0,
        3e38,
        -2.5,
        2.5,
        2.0**31,
        -(2.0**31),
        2.0**63,
        255.5,
    ]
    found = rng.standard_normal(size) * 10.0 ** rng.integers(-3, 4, size)
    with np.errstate(all="ignore"):
        found[: 11 * len(corners) : 11] = corners
        return found.astype(array)


def built(op: type[PtirOp], *values: Any) -> list[PtirOp]:
    """The forms of an op on some operands; none where it does not take them."""
    try:
        if op is ptir.CompareOp:
            return [op(*values, kind=kind) for kind in op.KINDS]
        if op in (ptir.CastOp, *ptir.CONVERSIONS):
            return [made for t in STORED for made in to_dtype(op, values[0], t)]
        return [op(*values)]
    except MindError:
        return []


def to_dtype(op: type[PtirOp], x: Any, dtype: PtirDType) -> list[PtirOp]:
    """A conversion to a dtype, if it is legal."""
    try:
        return [op(x, dtype=dtype)]
    except MindError:
        return []


def forms(op: type[PtirOp], dtype: PtirDType) -> list[tuple[PtirOp, CudaKernel]]:
    """Each form of an op on operands of a dtype, and its kernel."""
    found: list[tuple[PtirOp, CudaKernel]] = []
    types = [tensor_type(t, (SIZE,)) for t in operands(op, dtype)]
    block = Block(arg_types=types)
    for made in built(op, *block.args):
        block = Block(arg_types=types)
        copy = made.clone(dict(zip(made.operands, block.args, strict=True)))
        block.add_ops([copy, ptir.YieldOp(*copy.results)])
        found.append((copy, emitted(block)))
    return found


def operands(op: type[PtirOp], dtype: PtirDType) -> list[PtirDType]:
    if op is ptir.SelectOp:
        return [DTYPES["i1"], dtype, dtype]
    return [dtype] * len(op.OPERANDS)


@pytest.mark.quick
def test_there_is_an_emitter_for_every_elementwise_op() -> None:
    wanted = {op for op, part in FUSIBLE.items() if part == "elementwise"}
    expect_rows("EMITTERS of mind_lowering/cupy/kernels/scalars.py", EMITTERS, wanted)


@pytest.mark.parametrize("dtype", STORED, ids=str)
def test_every_op_on_the_cpu(dtype: PtirDType) -> None:
    cases = [form for op in EMITTERS for form in forms(op, dtype)]
    assert len(cases) > 10
    names = tuple(f"k{i}" for i in range(len(cases)))
    text = module_text([k.named(n) for (_, k), n in zip(cases, names, strict=True)])
    entries = library(text, names)
    for name, (op, kernel) in zip(names, cases, strict=True):
        arrays = [samples(t, i) for i, t in enumerate(operands(type(op), dtype))]
        if kernel.sites:
            arrays[1][arrays[1] == 0] = 1
        record = np.full(3, 2**64 - 1, np.uint64)
        (found,) = run(kernel, arrays, getattr(entries, f"launch_{name}"), record)
        assert record[0] == 2**64 - 1
        call = kernel_call(op)
        function: Any = NUMPY if call.callee.startswith("k.") else np
        with np.errstate(all="ignore"):
            expected = getattr(function, call.callee.partition(".")[2])(
                *arrays, **{n: array_dtype(v.name) for n, v in call.arguments.items()}
            )
        agree(op, found, expected)


def agree(op: PtirOp, found: np.ndarray, expected: np.ndarray) -> None:
    assert found.dtype == expected.dtype
    name = f"{op.OPCODE} {op.operand_spec(0).dtype} {op.values()}"
    if op.OPCODE in INEXACT and op.result_spec().dtype.kind is Kind.FLOAT:
        rtol = ULP[op.result_spec().dtype.name] * (4 if op.OPCODE in ("lgamma", "erf_inv") else 1)
        np.testing.assert_allclose(found.astype("f8"), expected.astype("f8"), rtol=rtol, atol=rtol * 1e-6, err_msg=name)
    else:
        wide = found.dtype if found.dtype.kind in "biuf" else np.dtype("f8")
        with np.errstate(invalid="ignore"):  # NaNs of any bits
            np.testing.assert_array_equal(found.astype(wide), expected.astype(wide), err_msg=name)


def together(dtype: PtirDType) -> CudaKernel:
    """One kernel with every form of every op on operands of a dtype."""
    block = Block(arg_types=[tensor_type(t, (SIZE,)) for t in (DTYPES["i1"], dtype, dtype, dtype)])
    for op in EMITTERS:
        first = 0 if op is ptir.SelectOp else 1
        block.add_ops(built(op, *block.args[first : first + len(op.OPERANDS)]))
    block.add_op(ptir.YieldOp(*[result for op in list(block.ops) for result in op.results]))
    return emitted(block)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_nvrtc_compiles_every_op_in_every_dtype(architecture: str) -> None:
    dtypes = STORED if architecture == "sm_80" else [DTYPES["f32"], DTYPES["bf16"], DTYPES["si8"]]
    kernels = [kernel for dtype in dtypes for op in FRAMES for _, kernel in forms(op, dtype)] + list(map(together, dtypes))
    compiled(module_text([k.named(f"k{i}") for i, k in enumerate(kernels)]), architecture)


@pytest.mark.parametrize("dtype", STORED, ids=str)
def test_nvrtc_is_given_every_op_that_runs_on_the_cpu(dtype: PtirDType) -> None:
    alone = sum(len(forms(op, dtype)) for op in EMITTERS)
    assert len(together(dtype).launch.outputs) == alone
