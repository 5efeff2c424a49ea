"""The table of kernels is complete, true to itself, and every legal pair has a test."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from closed_tables import expect_rows
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.ptir.legal import LEGAL, default_accumulator
from mind_dialect.ptir.types import ALL, DTYPES, read_type
from mind_lowering.ptir_kernels import formats, table
from mind_lowering.ptir_kernels.table import KERNELS as ROWS
from mind_lowering.ptir_kernels.table import WITHOUT_KERNEL, Call, kernel_call
from mind_lowering.ptir_kernels.ufuncs import UFUNCS
from mind_lowering.xp.functions import FUNCTIONS, ROW_MAJOR_RESULTS, Storage
from ptir_evaluator import function_of
from ptir_forms import program as program_of
from ptir_oracle import FAMILIES, KERNELS, array, elements, op_of, perform
from ptir_programs import ACCEPTED, row_module


@pytest.mark.quick
def test_every_op_has_a_kernel_or_a_reason():
    ops = {*ptir.PTIR_OPS, *ptir.EXTENSION_OPS}
    expect_rows("KERNELS or WITHOUT_KERNEL of mind_lowering/ptir_kernels/table.py", {*ROWS, *WITHOUT_KERNEL}, ops)
    assert not set(ROWS) & set(WITHOUT_KERNEL)


@pytest.mark.quick
def test_every_row_of_the_table_of_legal_dtypes_is_run_by_a_test():
    tested = [key for keys in FAMILIES.values() for key in keys]
    assert [key for key in LEGAL if key not in tested] == []
    assert sorted(tested) == sorted(LEGAL)
    without = {op.OPCODE for op in WITHOUT_KERNEL}
    assert set(FAMILIES["without a kernel"]) == without


def test_formats_agree_with_the_dialect():
    assert table.NATIVE == formats.NATIVE
    assert set(formats.ARRAY_NAMES) == set(DTYPES)
    for dtype in ALL:
        form = formats.format_of(formats.array_dtype(dtype.name))
        assert (form.name, form.bits) == (dtype.name, dtype.bits)
        assert form.dtype.itemsize == dtype.size
        assert formats.format_of(form.dtype.type) == form  # what the printed program writes: xp.float32
        assert formats.format_of(form.accumulator).name == default_accumulator(dtype).name


@pytest.mark.quick
def test_every_ufunc_has_a_kernel_and_is_an_array_function():
    for name in UFUNCS.values():
        assert callable(getattr(KERNELS, name))
        assert isinstance(getattr(np, name), np.ufunc)


FAST: list[tuple[str, list[Any], dict[str, Any], str]] = [
    ("add", ["f32", "f32"], {}, "xp.add"),
    ("add", ["si8", "si8"], {}, "xp.add"),
    ("add", ["bf16", "bf16"], {}, "k.add"),
    ("add", ["si4", "si4"], {}, "k.add"),
    ("exp", ["f64"], {}, "xp.exp"),
    ("exp", ["f16"], {}, "k.exp"),
    ("div", ["f32", "f32"], {}, "xp.divide"),
    ("div", ["si32", "si32"], {}, "k.divide"),
    ("remainder", ["f64", "f64"], {}, "xp.fmod"),
    ("compare less", ["f32", "f32"], {}, "xp.less"),
    ("cast", ["f32"], {"dtype": DTYPES["f32"]}, "k.identity"),
    ("reduce sum", ["f32"], {"axes": (0,), "keepdims": True}, "xp.add.reduce"),
    ("reduce sum", ["f32"], {"axes": (0,), "keepdims": True, "out_dtype": DTYPES["f64"]}, "k.reduce"),
    ("reduce max", ["f32"], {"axes": (0,), "keepdims": True}, "xp.maximum.reduce"),
    ("reduce max", ["f16"], {"axes": (0,), "keepdims": True}, "k.reduce"),
]


@pytest.mark.parametrize(("op", "dtypes", "properties", "callee"), FAST)
def test_native_dtypes_go_straight_to_the_array_function(op: str, dtypes: list[str], properties: dict[str, Any], callee: str):
    assert kernel_call(op_of(op, *(array([1, 2], d) for d in dtypes), **properties)).callee == callee


def test_an_extreme_over_what_may_be_nothing_goes_to_the_kernel():
    assert kernel_call(op_of("reduce max", array([], "f32"), axes=(0,), keepdims=False)).callee == "k.reduce"


@pytest.mark.parametrize(
    ("shapes", "axes", "callee"),
    [
        (((2, 3), (3, 4)), ((), (), (1,), (0,)), "xp.matmul"),
        (((2, 3), (3, 4)), ((), (), (-1,), (-2,)), "xp.matmul"),
        (((5, 2, 3), (5, 3, 4)), ((0,), (0,), (2,), (1,)), "xp.matmul"),
        (((2, 3), (4, 3)), ((), (), (1,), (1,)), "k.dot_general"),
        (((2, 3), (3,)), ((), (), (1,), (0,)), "k.dot_general"),
    ],
)
def test_plain_matrix_products_go_straight_to_matmul(shapes: Any, axes: Any, callee: str):
    names = dict(zip(("batch_lhs", "batch_rhs", "contract_lhs", "contract_rhs"), axes, strict=True))
    operands = [np.ones(s, "f4") for s in shapes]
    op = op_of("dot_general", *operands, **names)
    call = kernel_call(op)
    assert call.callee == callee
    found = perform(call, *operands)
    assert found.shape == op.result_spec().shape
    assert set(elements(found)) == {3.0}
    assert kernel_call(op_of("dot_general", *(x.astype("i4") for x in operands), **names)).callee == "k.dot_general"


@pytest.mark.parametrize(
    ("shapes", "axes"),
    [
        (((3, 2, 4), (5, 2, 4)), ((1,), (1,), (2,), (2,))),
        (((2, 3, 4, 5), (4, 5, 6)), ((), (), (3, 2), (1, 0))),
        (((5, 3, 4), (5, 2, 6)), ((), (), (0,), (0,))),
        (((3, 4, 5), (2, 6, 5)), ((), (), (2,), (2,))),
    ],
)
def test_transposes_are_folded_into_views(shapes: Any, axes: Any):
    """The operands of the matrix product are views of the arrays that came in."""
    seen: list[Any] = []

    class Recorder:
        def __getattr__(self, name: str) -> Any:
            return getattr(np, name)

        def matmul(self, a: Any, b: Any) -> Any:
            seen.extend([a, b])
            return np.matmul(a, b)

    kernels = type(KERNELS)(Recorder())
    lhs, rhs = (np.ones(s, "f4") for s in shapes)
    kernels.dot_general(lhs, rhs, **dict(zip(("batch_lhs", "batch_rhs", "contract_lhs", "contract_rhs"), axes, strict=True)))
    assert np.shares_memory(seen[0], lhs)
    assert np.shares_memory(seen[1], rhs)


def test_the_table_needs_no_arrays():
    program = "import sys; import mind_lowering.ptir_kernels.table; print('numpy' in sys.modules, 'ml_dtypes' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "False False\n"


def test_without_ml_dtypes_there_is_one_clear_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    monkeypatch.setattr(formats.np, "dtype", refuse)
    with pytest.raises(
        MindError, match=r"arrays of bf16 need the package ml_dtypes.*pip install 'mind-dialect\[dtypes\]'"
    ) as caught:
        formats.array_dtype("bf16")
    assert caught.value.code == "E6002"


def refuse(name: str) -> Any:
    """NumPy as it is before ml_dtypes registers its names."""
    raise TypeError(name)


def test_a_call_is_plain_data():
    op = op_of("reduce sum", array([1.0], "f16"), axes=(0,), keepdims=False, out_dtype=DTYPES["f32"])
    assert kernel_call(op) == Call("k.reduce", {"kind": "sum", "axes": (0,), "keepdims": False, "out_dtype": DTYPES["f32"]})
    with pytest.raises(KeyError):
        kernel_call(ptir.YieldOp())


def in_order(x: np.ndarray) -> np.ndarray:
    return x


def turned(x: np.ndarray) -> np.ndarray:
    return np.asfortranarray(x) if x.ndim else x


def repeated(x: np.ndarray) -> np.ndarray:
    """The first part along axis 0 everywhere, in one place of memory."""
    return np.broadcast_to(x[:1], x.shape) if x.ndim and x.size else x


LINES = program_of("si32[5]", lambda x: ptir.CumulativeSumOp(x, axis=0, exclusive=False, reverse=True))
WINDOW = {"window_dims": (1,), "strides": (2,), "padding": ((1, 0),), "base_dilation": (1,), "window_dilation": (1,)}
SPARSE = program_of("f32[5]", lambda x: ptir.ReduceWindowOp(x, kind="max", **WINDOW))
BATCHES = {"batch_lhs": (1, 0), "batch_rhs": (0, 1), "contract_lhs": (), "contract_rhs": ()}
STACKS = program_of("f32[3,16] f32[16,3,4]", lambda x, y: ptir.DotGeneralOp(x, y, **BATCHES))
STATIC = [m for row in ACCEPTED if "?" not in str(m := row_module(row)) and "custom_call" not in str(m)]


@pytest.mark.parametrize("arranged", [in_order, turned, repeated])
def test_results_are_in_row_major_order(arranged: Any):
    """What the table of functions says is so: of operands in that order, and for some in any."""
    seen = set()
    for module in (*STATIC, LINES, SPARSE, STACKS):
        (op,) = [op for op in function_of(module).body.block.ops if isinstance(op, ptir.PtirOp)]
        if op.regions or type(op) in WITHOUT_KERNEL:
            continue
        call = kernel_call(op)
        callee = call.callee
        if FUNCTIONS[callee] is not Storage.OWN or (arranged is not in_order and callee not in ROW_MAJOR_RESULTS):
            continue
        arrays = [
            arranged(np.zeros(spec.shape, formats.array_dtype(spec.dtype.name))) for spec in map(read_type, op.operand_types)
        ]
        more = {"seed": 0, "ordinal": 0, "iterations": ()} if isinstance(op, ptir.RandomOp) else {}
        try:
            found = perform(call, *arrays, **more)
        except MindError:
            continue
        seen.add(callee)
        for result in found if isinstance(found, tuple) else (found,):
            assert result.flags.c_contiguous, (str(op), result.strides)
    assert len(seen) > 6


def test_a_tile_of_nothing_is_an_array_of_its_own():
    nothing = np.broadcast_to(np.zeros((1, 0), np.float32), (3, 0))
    assert KERNELS.tile(nothing, repeats=(2, 1)).flags.writeable
