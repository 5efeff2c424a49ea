"""
Programs for CuPy without a GPU: the Python runs over NumPy, its kernels on the CPU, results are those of the NumPy target.

NVRTC compiles every kernel of every program here.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from cuda_emulation import ARCHITECTURES, compiled, compiler
from cupy_agreement import agree, arguments
from fake_device import Batch
from mind_dialect import ptir
from mind_dialect.ptir.types import DTYPES, read_type
from mind_runtime.on_cupy import CupyProgram
from programs import parse
from ptir_forms import dropped, like, program, reduce, shape, spread
from ptir_programs import ACCEPTED, regions_module, row_module
from ptir_random_programs import Maker

pytest.importorskip("ml_dtypes", reason="no ml_dtypes: narrow floats have no arrays to compare with")


def softmax(x: Any, axis: int = -1) -> Any:
    e = ptir.ExpOp(ptir.SubOp(x, spread(reduce(x, "max", axis), x)))
    return ptir.DivOp(e, spread(reduce(e, "sum", axis), e))


def norm(x: Any, gamma: Any, beta: Any) -> Any:
    return ptir.LayerNormOp(x, gamma, beta, epsilon=1e-5, feature_axis=-1)


def log_sum_exp(x: Any) -> Any:
    m = reduce(x, "max")
    return ptir.AddOp(ptir.LogOp(reduce(ptir.ExpOp(ptir.SubOp(x, spread(m, x))), "sum")), m)


def causal(x: Any) -> Any:
    rows, columns = (ptir.IotaOp(shape=shape(x), dtype=DTYPES["si32"], axis=axis) for axis in (-2, -1))
    return softmax(ptir.SelectOp(ptir.CompareOp(rows, columns, kind="less"), like(x, -1e9), x))


def moments(x: Any) -> list[Any]:
    square = ptir.MulOp(x, x)
    return [reduce(x, "sum", keepdims=False), dropped(square, "sum", -1), ptir.SubOp(square, x)]


SHAPES = ("5,77", "1,1", "3,4", "2,3,33", "2,9000", "1100,3", "7,1", "1,2049", "40,256")
ROWS = [(f"{form.__name__} {s}", f"f32[{s}]", form) for form in (softmax, log_sum_exp, causal, moments) for s in SHAPES]
COLUMNS = ("300,70", "3,5", "1,40", "7,30,5", "1000,1", "64,32", "5000,3")
CASES: list[tuple[str, str, Any]] = [
    *ROWS,
    *((f"norm {s}", f"f32[{s}] f32[{s.split(',')[-1]}] f32[{s.split(',')[-1]}]", norm) for s in SHAPES),
    *((f"norm {t}", f"{t}[6,48] {t}[48] {t}[48]", norm) for t in ("f16", "bf16", "f64")),
    *((f"softmax {t}", f"{t}[6,50]", softmax) for t in ("f16", "bf16", "f64")),
    *((f"softmax of columns {s}", f"f32[{s}]", lambda x: softmax(x, 0)) for s in COLUMNS),
    *((f"columns {s}", f"f32[{s}]", lambda x: [reduce(ptir.MulOp(x, x), "sum", 0, keepdims=False)]) for s in COLUMNS),
    *((f"columns and all {s}", f"f32[{s}]", lambda x: [reduce(ptir.ExpOp(x), "max", 0), ptir.ExpOp(x)]) for s in COLUMNS),
    ("middle", "f32[7,30,5]", lambda x: reduce(ptir.NegOp(x), "min", 1, keepdims=False)),
    ("outer and inner", "f32[7,30,5]", lambda x: ptir.ReduceOp(ptir.NegOp(x), kind="sum", axes=(0, 2), keepdims=True)),
    ("everything", "f32[100001]", lambda x: reduce(ptir.MulOp(x, x), "sum", 0, keepdims=False)),
    ("everything of two", "f32[2,65536]", lambda x: [reduce(ptir.MulOp(x, x), "sum"), reduce(x, "max")]),
    ("nothing", "f32[0,3]", lambda x: [ptir.ExpOp(ptir.NegOp(x)), reduce(ptir.NegOp(x), "sum", 0), reduce(x, "max", 0)]),
    ("a reduction to nothing", "f32[0,3]", lambda x: reduce(ptir.NegOp(x), "max", 1)),
    ("truths", "i1[9,40]", lambda x: [reduce(ptir.NotOp(x), "max"), reduce(ptir.NotOp(x), "min", 0)]),
    *((f"bits {k}", "ui16[9,400]", lambda x, k=k: [reduce(ptir.NotOp(x), k), reduce(x, k, 0)]) for k in ("and", "or", "xor")),
    *((f"bits {k} of signed", "si32[9,40]", lambda x, k=k: reduce(ptir.NotOp(x), k)) for k in ("and", "or", "xor")),
    *((f"truths {k}", "i1[9,40]", lambda x, k=k: reduce(ptir.NotOp(x), k)) for k in ("and", "or", "xor")),
    *(
        (f"products of {t}", f"{t}[9,40]", lambda x: [reduce(ptir.NegOp(x), "prod"), reduce(x, "prod", 0)])
        for t in ("f32", "f16")
    ),
    ("products that wrap", "si8[9,400]", lambda x: reduce(ptir.NotOp(x), "prod")),
    ("a product of nothing", "f32[0,3]", lambda x: reduce(ptir.NegOp(x), "prod", 0)),
    ("sums that wrap", "si8[9,400]", lambda x: reduce(ptir.MulOp(x, x), "sum")),
    ("wide sums", "si8[9,400]", lambda x: reduce(ptir.NegOp(x), "sum", accum_dtype=DTYPES["si32"], out_dtype=DTYPES["si32"])),
    ("extremes", "ui16[3,70] si64[70]", lambda x, y: [reduce(ptir.XorOp(x, x), "max"), reduce(ptir.NegOp(y), "min", 0)]),
    ("no axes", "f32[3,4]", lambda x: ptir.ReduceOp(ptir.NegOp(x), kind="sum", axes=(), keepdims=False)),
    ("numbers", "si8[3,300]", lambda x: ptir.AddOp(x, ptir.IotaOp(shape=(3, 300), dtype=DTYPES["si8"], axis=1))),
    ("counting in bf16", "bf16[600]", lambda x: ptir.AddOp(x, ptir.IotaOp(shape=(600,), dtype=DTYPES["bf16"], axis=0))),
    ("a bias", "f32[6,10] f32[10,7] f32[7]", lambda x, w, b: ptir.TanhOp(ptir.AddOp(p := product(x, w), spread(b, p)))),
]


def greatest(axis: int, dtype: str = "si32", *, keepdims: bool = False) -> Any:
    return lambda x: ptir.ArgMaxOp(
        ptir.AbsOp(x) if read_type(x.type).dtype.is_float else x, axis=axis, keepdims=keepdims, output_dtype=dtype
    )


def sampled(x: Any) -> Any:
    """A softmax, its greatest and where that is: one row kernel."""
    p = softmax(x)
    return [ptir.ArgMaxOp(p, axis=-1, keepdims=False, output_dtype="si64"), reduce(p, "max"), p]


CASES += [
    *((f"greatest {s} {axis}", f"f32[{s}]", greatest(axis)) for s in ("5,77", "300,70", "2,9000", "7,1") for axis in (0, 1)),
    *((f"greatest {t}", f"{t}[6,50]", greatest(1, "si64", keepdims=True)) for t in ("f16", "bf16", "f64", "si8", "ui64", "i1")),
    ("greatest of the middle", "f32[7,30,5]", greatest(1)),
    ("greatest of all", "f32[70000]", greatest(0, "si64")),
    ("sampled", "f32[6,50]", sampled),
    ("siblings", "f32[6,50]", lambda x: [softmax(x), reduce(ptir.ExpOp(x), "sum")]),
]


def product(x: Any, w: Any) -> Any:
    return ptir.DotGeneralOp(x, w, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,))


@lru_cache(maxsize=1)
def batch_of_cases() -> tuple[Batch, list[tuple[str, CupyProgram, Any]]]:
    batch = Batch()
    found = [(name, module, batch.add(module.clone())) for name, module in ((n, program(t, body)) for n, t, body in CASES)]
    return batch, [(name, made, module) for name, module, made in found]


def test_forms_of_models_give_the_same() -> None:
    compiler()
    _, cases = batch_of_cases()
    for i, (name, made, module) in enumerate(cases):
        agree(name, made, module, arguments(made, i))


@pytest.mark.parametrize(
    "name",
    [
        "softmax 5,77",
        "sampled",
        "siblings",
        "greatest 2,9000 1",
        "norm 5,77",
        "columns 300,70",
        "everything",
        "norm bf16",
        "log_sum_exp 40,256",
        "middle",
    ],
)
def test_each_of_these_is_one_kernel(name: str) -> None:
    _, cases = batch_of_cases()
    (made,) = [made for n, made, _ in cases if n == name]
    assert made.cuda.count("__global__") == 1
    calls = re.findall(r"(?:xp|k)\.\w+", made.source)
    assert [c for c in calls if c != "k.copy"] == ["k.launch"]  # an output of rank 0 is copied


@lru_cache(maxsize=1)
def batch_of_rows() -> tuple[Batch, list[tuple[str, CupyProgram, Any]]]:
    batch = Batch()
    found: list[tuple[str, CupyProgram, Any]] = []
    for row in ACCEPTED:
        module = row_module(row)
        types = [v.type for op in module.walk() for v in (*op.operands, *op.results)]
        if row.op.OPCODE != "custom_call" and all(read_type(t).is_static for t in types):
            found.append((str(row), batch.add(module.clone()), module))
    return batch, found


def test_every_op_gives_the_same() -> None:
    compiler()
    _, cases = batch_of_rows()
    assert len(cases) > 50
    for i, (name, made, module) in enumerate(cases):
        agree(name, made, module, arguments(made, i))


RANDOM = [(seed, name) for seed in range(6) for name in ("f32", "f64", "f16", "bf16", "si32", "ui8", "si64")]


@lru_cache(maxsize=1)
def batch_of_random() -> tuple[Batch, list[tuple[str, CupyProgram, Any]]]:
    batch = Batch()
    found: list[tuple[str, CupyProgram, Any]] = []
    for seed, dtype in RANDOM:
        module = Maker(seed, DTYPES[dtype]).module(30)
        found.append((f"{dtype} {seed}", batch.add(module.clone()), module))
    return batch, found


def test_random_programs_give_the_same() -> None:
    compiler()
    _, cases = batch_of_random()
    for i, (name, made, module) in enumerate(cases):
        agree(name, made, module, arguments(made, i))


def test_control_flow_gives_the_same() -> None:
    compiler()
    batch, module = Batch(), regions_module()
    made = batch.add(module.clone())
    values = [np.array(3, np.int32), np.arange(6, dtype=np.float32).reshape(3, 2), np.array(True)]
    agree("regions", made, module, values)


@pytest.mark.parametrize("name", ["greatest 5,77 1", "greatest 300,70 0", "greatest of all", "greatest bf16"])
def test_of_equals_and_of_nans_the_first_is_the_greatest(name: str) -> None:
    compiler()
    ((made, module),) = [(made, module) for n, made, module in batch_of_cases()[1] if n == name]
    for number in (7.5, np.inf, np.nan):
        for seed in range(3):
            (x,) = arguments(made, seed)
            x[np.random.default_rng(seed).random(x.shape) < 0.1] = number
            agree(name, made, module, [x])


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("programs", [batch_of_cases, batch_of_rows, batch_of_random])
def test_nvrtc_compiles_every_kernel(programs: Any, architecture: str) -> None:
    batch, _ = programs()
    compiled(batch.text(), architecture)


DIVISION = """
module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @f(%a: tensor<300xsi32>, %b: tensor<300xsi32>, %c: tensor<300xui64>) -> (tensor<300xsi32>, tensor<300xui64>) {
    %p = ptir.add %a, %a : tensor<300xsi32>
    %q = ptir.div %p, %b : tensor<300xsi32>
    %r = ptir.remainder %q, %q : tensor<300xsi32>
    %s = ptir.div %c, %c : tensor<300xui64>
    func.return %r, %s : tensor<300xsi32>, tensor<300xui64>
  }
}
"""


@pytest.mark.parametrize(
    ("zeros", "quotient", "unsigned"), [((), 1, 5), ((250, 70), 1, 5), ((), 0, 5), ((3,), 0, 0), ((), 1, 0)], ids=str
)
def test_the_first_integer_divided_by_zero_is_reported(zeros: tuple[int, ...], quotient: int, unsigned: int) -> None:
    compiler()
    module = parse(DIVISION)
    batch = Batch()
    made = batch.add(module.clone())
    b = np.full(300, 1, np.int32)
    b[list(zeros)] = 0
    values = [np.arange(-300, 0, dtype=np.int32), b, np.full(300, (1 << 64) - 5, np.uint64)]
    values[0][9] *= quotient
    values[2][20] *= np.uint64(bool(unsigned))
    agree("division", made, module, values)
