"""What is computed again where it is read: when that moves less, with the same bits, and when not at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cuda_emulation import compiler
from cupy_agreement import agree, arguments
from fake_device import Batch
from mind_dialect import ptir
from mind_dialect.dominance import walk
from mind_dialect.program import functions
from mind_dialect.ptir import FusionOp
from mind_lowering.cupy.prepare import prepared
from mind_passes.fusion import rematerialize
from mind_passes.fusion.fuse import fuse
from mind_passes.fusion.merge_producers import merge_producers
from mind_passes.fusion.merge_rows import merge_rows
from mind_passes.fusion.split import split_products
from mind_passes.fusion.wrap import wrap_ops
from native_control_programs import dot, scan
from ptir_forms import like, program, reduce, shape, softmax, spread

X, SMALL = "f32[128,160]", "f32[8,12]"


def activation(x: Any, w: Any) -> Any:
    """What a derivative needs of the function before it: two arrays that are found again from `x`."""
    e = ptir.ExpOp(x)
    t = ptir.TanhOp(e)
    y = ptir.DotGeneralOp(ptir.NegOp(t), w, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,))
    return ptir.MulOp(y, ptir.AddOp(ptir.MulOp(e, t), ptir.SubOp(like(x, 1.0), ptir.MulOp(t, t))))


def normal(x: Any, w: Any) -> Any:
    """Rows less their means: these stay, the differences do not."""
    mean = ptir.MulOp(reduce(x, "sum"), like(reduce(x, "sum"), 1 / 160))
    centred = ptir.SubOp(x, spread(mean, x))
    y = ptir.DotGeneralOp(ptir.TanhOp(centred), w, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,))
    return [ptir.MulOp(y, centred), mean]


def centred(x: Any, w: Any) -> Any:
    """Rows less their means, which nothing else needs: these are stored, and the differences are not."""
    mean = ptir.MulOp(reduce(x, "sum"), like(reduce(x, "sum"), 1 / 160))
    rest = ptir.SubOp(x, spread(mean, x))
    y = ptir.DotGeneralOp(ptir.TanhOp(rest), w, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,))
    return ptir.MulOp(y, rest)


def multiplied(x: Any, w: Any) -> Any:
    """Rows less their means are stored, because a product reads them."""
    rest = ptir.SubOp(x, spread(reduce(x, "max"), x))
    y = ptir.DotGeneralOp(rest, w, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,))
    return ptir.MulOp(y, rest)


def twice(x: Any, w: Any) -> Any:
    """Of a softmax both totals of a row are stored."""
    e = softmax(ptir.TanhOp(x))
    y = ptir.DotGeneralOp(ptir.NegOp(e), w, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,))
    return ptir.MulOp(y, e)


def looked_up(table: Any, i: Any, w: Any) -> Any:
    """Rows that are looked up are stored, but not what is computed of them."""
    x = ptir.TakeOp(table, i)
    rest = ptir.SubOp(x, spread(reduce(x, "max"), x))
    y = ptir.DotGeneralOp(ptir.TanhOp(rest), w, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,))
    return [ptir.MulOp(y, rest), x]


def of_two(x: Any, z: Any, w: Any) -> Any:
    """A sum of two arrays is read as one: as much is written and read as both would be."""
    s = ptir.AddOp(x, z)
    y = ptir.DotGeneralOp(ptir.NegOp(s), w, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,))
    return ptir.MulOp(y, s)


def dividing(x: Any, z: Any, w: Any) -> Any:
    """A division that may fail is done once."""
    q = ptir.DivOp(x, z)
    y = ptir.DotGeneralOp(ptir.NegOp(q), w, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(0,))
    return ptir.MulOp(y, q)


def in_a_loop(x: Any, xs: Any) -> Any:
    """What a loop reads is not computed in each iteration."""
    return scan(lambda e, h, row: [e, ptir.AddOp(ptir.MulOp(dot(h, h), e), row)], ptir.ExpOp(x), x, xs, carries=2, stacks=0)


CASES: dict[str, tuple[str, Any, list[int]]] = {
    "activation": (f"{X} f32[160,160]", activation, [1, 1]),
    "normal": (f"{X} f32[160,160]", normal, [2, 1]),
    "centred": (f"{X} f32[160,160]", centred, [2, 1]),
    "multiplied": (f"{X} f32[160,160]", multiplied, [1, 1]),
    "softmax": (f"{X} f32[160,160]", twice, [3, 1]),
    "short rows": ("f32[4096,8] f32[8,8]", centred, [2, 1]),
    "looked up": ("f32[300,160] si32[128] f32[160,160]", looked_up, [3, 1]),
    "of two": (f"{X} {X} f32[160,160]", of_two, [2, 1]),
    "dividing": ("si32[160,160] si32[160,160] si32[160,160]", dividing, [2, 1]),
    "small": (f"{SMALL} f32[12,12]", activation, [2, 1]),
    "in a loop": ("f32[160,160] f32[3,160,160]", in_a_loop, [1, 1]),
}


def results(module: Any) -> list[int]:
    func = prepared(next(iter(functions(module))))
    return [len(op.results) for op in walk(func) if isinstance(op, FusionOp)]


@pytest.mark.parametrize("case", CASES)
def test_what_leaves_kernels(case: str) -> None:
    types, body, expected = CASES[case]
    assert results(program(types, body)) == expected


STORED = {
    "looked up": [(128, 160), (128, 160), (128, 1)],
    "centred": [(128, 160), (128, 1)],
    "short rows": [(4096, 8), (4096, 8)],
    "softmax": [(128, 160), (128, 1), (128, 1)],
}


@pytest.mark.parametrize("case", STORED)
def test_totals_of_long_rows_are_stored(case: str) -> None:
    types, body, _ = CASES[case]
    func = prepared(next(iter(functions(program(types, body)))))
    first = next(op for op in walk(func) if isinstance(op, FusionOp))
    assert sorted((shape(v) for v in first.results), reverse=True) == STORED[case]


@pytest.mark.parametrize("totals", [False, True])
def test_totals_are_stored_only_on_request(totals: bool) -> None:
    types, body, _ = CASES["centred"]
    module = program(types, body)
    for step in (fuse, split_products, wrap_ops, merge_rows, merge_producers):
        step(module)
    rematerialize.rematerialize(module, totals=totals)
    stored = [shape(v) for op in walk(module) if isinstance(op, FusionOp) for v in op.results]
    assert ((128, 1) in stored) == totals
    assert stored.count((128, 160)) == 3 - totals


def test_the_bits_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler()
    batch, modules = Batch(), [program(types, body) for types, body, _ in CASES.values()]
    made = [batch.add(module.clone()) for module in modules]
    monkeypatch.setitem(rematerialize.rematerialize.__kwdefaults__, "least_bytes", 1 << 60)
    plain = [batch.add(module.clone()) for module in modules]
    assert sum(p.cuda != q.cuda.replace(q.name, p.name) for p, q in zip(made, plain, strict=True)) >= 2
    for i, (p, q, module) in enumerate(zip(made, plain, modules, strict=True)):
        values = [np.abs(x) + x.dtype.type(1) if x.dtype.kind == "i" else x for x in arguments(p, i)]
        agree(str(i), p, module, values)
        found, expected = (f if isinstance(f, tuple) else (f,) for f in (p(*values), q(*values)))
        for a, b in zip(found, expected, strict=True):
            assert a.tobytes() == b.tobytes()
