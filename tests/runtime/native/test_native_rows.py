"""Every op, every legal dtype: the native target against the NumPy target, on the tables of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mind_runtime
from mind_dialect import ptir
from mind_dialect.errors import MindError
from mind_dialect.ptir import FUSIBLE
from mind_dialect.ptir.legal import REAL
from mind_dialect.ptir.types import DTYPES, PtirDType, read_type
from mind_lowering.native.elementwise import EMITTERS
from mind_tools.frontends import parse
from native_checks import assert_close, several
from ptir_evaluator import function_of
from ptir_forms import program
from ptir_oracle import FAMILIES, ids, legal, samples
from ptir_programs import ACCEPTED, row_module
from ptir_random_programs import Maker
from ptir_rows import Row


def is_static(row: Row) -> bool:
    func = function_of(row_module(row))
    return all(read_type(t).is_static for t in (*func.function_type.inputs, *func.function_type.outputs))


RUNNABLE = [row for row in ACCEPTED if row.op.OPCODE != "custom_call" and is_static(row)]


def failure(program: Any, arrays: Any) -> MindError | None:
    try:
        program(*arrays)
    except MindError as e:
        return e
    return None


def both(module: Any, *arrays: Any, **bounds: Any) -> Any:
    """The native program, its results held against NumPy's, or its error."""
    native, reference = (mind_runtime.compile(module, target=t) for t in ("native", "numpy"))
    failed = failure(reference, arrays)
    if failed is not None:
        with pytest.raises(MindError) as caught:
            native(*arrays)
        assert (caught.value.code, caught.value.category) == (failed.code, failed.category)
        return native
    expected = several(reference(*arrays))
    for a, b in zip(several(native(*arrays)), expected, strict=True):
        assert_close(a, b, **bounds)
    return native


@pytest.mark.parametrize("row", RUNNABLE, ids=str)
def test_every_op(row: Row) -> None:
    arrays = []
    for i, argument in enumerate(function_of(row_module(row)).body.block.args):
        spec = mind_runtime.TensorSpec.of("", argument.type)
        count = int(np.prod(spec.shape))
        arrays.append((np.arange(count).reshape(spec.shape) * (i == 0) % 7).astype(spec.numpy_dtype))
    both(row_module(row), *arrays)


ELEMENTWISE = [
    (name, dtype) for name, dtype in legal("transcendental", "arithmetic", "rounding", "bits", "comparison") if name != "select"
]
LOOSE = {
    "atan2": 4,
    "cbrt": 4,
    "erf_inv": 8,
    "lgamma": 64,
    "digamma": 64,
    "pow": 6,
    "erf": 5,
    "tanh": 6,
    "log1p": 6,
    "expm1": 6,
    "logistic": 6,
    "sin": 4,
    "cos": 4,
}


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "dtype"), ELEMENTWISE, ids=ids)
def test_elementwise_ops_of_every_dtype(name: str, dtype: PtirDType) -> None:
    """All pairs (or triples) of sample values, special ones first, so many that there is a tail."""
    opcode, _, kind = name.partition(" ")
    op = ptir.OPS_BY_OPCODE[opcode]
    values = samples(dtype, 23)
    if len(op.OPERANDS) == 1:
        arrays = [values]
    else:
        arrays = [np.ascontiguousarray(x.reshape(-1)) for x in np.meshgrid(values, values)]
    if opcode in ("div", "remainder") and dtype.kind in ("signed", "unsigned"):
        keep = arrays[1].astype(np.int64 if dtype.kind == "signed" else np.uint64) != 0
        arrays = [x[keep] for x in arrays]
    arrays += arrays[:1] * (len(op.OPERANDS) - len(arrays))
    properties = {"kind": kind} if kind else {}
    module = program(" ".join([f"{dtype}[{len(arrays[0])}]"] * len(arrays)), lambda *v: [op(*v, **properties)])
    both(module, *arrays, ulps=LOOSE.get(opcode, 2))


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", DTYPES.values(), ids=ids)
@pytest.mark.parametrize("source", DTYPES.values(), ids=ids)
def test_casts(source: PtirDType, target: PtirDType) -> None:
    if source.kind == "complex" and target.kind != "complex":
        return
    values = samples(source, 45)
    both(program(f"{source}[{len(values)}]", lambda x: [ptir.CastOp(x, dtype=target)]), values, ulps=0)


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", REAL, ids=ids)
@pytest.mark.parametrize("source", REAL, ids=ids)
def test_bits_and_low_bits(source: PtirDType, target: PtirDType) -> None:
    values = samples(source, 45)
    for op in ptir.CONVERSIONS:
        try:
            module = program(f"{source}[{len(values)}]", lambda x: [op(x, dtype=target)])  # noqa: B023
        except MindError:
            continue
        both(module, values, ulps=0)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "dtype"), [(n, d) for n, d in legal("reduction") if n.startswith("reduce ")], ids=ids)
@pytest.mark.parametrize(
    ("shape", "axes"), [((3, 37), (1,)), ((37, 3), (0,)), ((2, 3, 5), (0, 2)), ((0, 3), (0,)), ((70,), (0,))]
)
def test_reductions_of_every_dtype(name: str, dtype: PtirDType, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    count = int(np.prod(shape))
    x = np.resize(samples(dtype, 60, special=name != "reduce sum"), count).reshape(shape)
    text = f"{dtype}[{','.join(map(str, shape))}]"
    module = program(text, lambda v: [ptir.ReduceOp(v, kind=name.split()[1], axes=axes, keepdims=len(axes) == 2)])
    both(module, x, ulps=8, scale=magnitude(x))


def magnitude(x: np.ndarray) -> float:
    """The sum of finite magnitudes."""
    with np.errstate(all="ignore"):
        wide = np.abs(x.astype(np.complex128)).ravel()
        return float(wide[np.isfinite(wide)].sum())


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("dtype", ["f32", "f64", "si32", "ui8", "bf16"])
def test_random_programs(seed: int, dtype: str) -> None:
    module = Maker(seed, DTYPES[dtype]).module(14)
    rng = np.random.default_rng(seed)
    arrays = []
    for argument in function_of(module).body.block.args:
        spec = mind_runtime.TensorSpec.of("", argument.type)
        arrays.append(np.asarray(rng.integers(0, 5, spec.shape)).astype(spec.numpy_dtype))
    exact = dtype not in ("f32", "f64", "bf16")
    both(module, *arrays, **({} if exact else {"ulps": 64, "scale": 1.0}))


def test_the_table_of_emitters_is_whole() -> None:
    assert set(EMITTERS) == {op for op, part in FUSIBLE.items() if part == "elementwise"}
    assert {k.partition(" ")[0] for family in FAMILIES.values() for k in family} >= {op.OPCODE for op in EMITTERS}


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("dtype", ["bf16", "f32", "f64"])
@pytest.mark.parametrize("op", [ptir.ErfOp, ptir.ErfInvOp, ptir.TanhOp, ptir.SinOp, ptir.CbrtOp, ptir.CosOp])
def test_odd_and_even_functions_are_so_bit_for_bit(op: Any, dtype: str, target: str) -> None:
    """What the rewrites of functions of `-x` rely on; the sign of a NaN does not count."""
    x = samples(DTYPES[dtype], 3000)
    run = mind_runtime.compile(program(f"{dtype}[3000]", lambda v: [op(v)]), target=target)
    with np.errstate(all="ignore"):
        plus, minus = run(x), run(-x)
    minus = minus if op is ptir.CosOp else -minus
    kept = np.asarray(plus == plus)
    np.testing.assert_array_equal(kept, minus == minus)
    assert plus[kept].tobytes() == minus[kept].tobytes()


@pytest.mark.parametrize("kind", ["sum", "max"])
@pytest.mark.parametrize("shape", [(2, 3), (5, 17), (64, 33)])
def test_a_sum_over_rows_of_a_repeated_total_of_each(shape: tuple[int, int], kind: str) -> None:
    """The total of a row is known after the pass in which the sums over rows would have read it."""
    n, m = shape
    module = parse(f"""builtin.module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
      func.func @f(%x: tensor<{m}xf64>) -> tensor<{m}xf64> {{
        %rows = ptir.broadcast_to %x result_shape = [{n}, {m}] : tensor<{m}xf64> -> tensor<{n}x{m}xf64>
        %total = ptir.reduce %rows kind = {kind} axes = [1] keepdims = true : tensor<{n}x{m}xf64> -> tensor<{n}x1xf64>
        %wide = ptir.broadcast_to %total result_shape = [{n}, {m}] : tensor<{n}x1xf64> -> tensor<{n}x{m}xf64>
        %sums = ptir.reduce %wide kind = sum axes = [0] keepdims = false : tensor<{n}x{m}xf64> -> tensor<{m}xf64>
        func.return %sums : tensor<{m}xf64>
      }}
    }}""")
    x = np.random.default_rng(0).standard_normal(m)
    expected = np.full(m, n * (x.sum() if kind == "sum" else x.max()))
    np.testing.assert_allclose(mind_runtime.compile(module, target="native")(x), expected, rtol=1e-12)
