"""Random PTIR programs for tests of what holds for all: dtypes of every kind, several results, literals of any bytes."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from mind_dialect.ptir import (
    AddOp,
    BroadcastToOp,
    CastOp,
    CompareOp,
    ConcatOp,
    ConstantOp,
    ExpOp,
    IotaOp,
    MulOp,
    NegOp,
    PadOp,
    PtirLiteralAttr,
    ReduceOp,
    ReshapeOp,
    SqrtOp,
    StopGradientOp,
    TopKOp,
    TransposeOp,
)
from mind_dialect.ptir.legal import LEGAL
from mind_dialect.ptir.types import ALL, DTYPES, Dims, PtirDType, read_type, tensor_type
from ptir_programs import module_of

SHAPES: tuple[Dims, ...] = ((), (3,), (2, 3), (0, 2), ("B", 3))
Draw = st.DrawFn


def _bytes(draw: Draw, dtype: PtirDType, count: int) -> bytes:
    limit = 2 if dtype.bits == 1 else 16 if dtype.bits == 4 else 256
    return bytes(draw(st.lists(st.integers(0, limit - 1), min_size=count * dtype.size, max_size=count * dtype.size)))


def _constant(draw: Draw, values: list[SSAValue]) -> Operation:
    dtype, shape = draw(st.sampled_from(ALL)), draw(st.sampled_from([(), (2,), (0, 2), (1, 2)]))
    count = 1
    for n in shape:
        count *= n
    return ConstantOp(PtirLiteralAttr.from_bytes(dtype, shape, _bytes(draw, dtype, count)))


def _pad(draw: Draw, values: list[SSAValue]) -> Operation | None:
    x = draw(st.sampled_from(values))
    dtype, shape = read_type(x.type)
    number = draw(st.sampled_from([0, 1]))
    value: object = {"bool": bool(number), "float": float("-inf"), "complex": complex(number, -0.0)}.get(dtype.kind, number)
    if dtype.name == "fp8_e4m3":
        value = -448.0
    if any(isinstance(d, str) for d in shape):
        return None
    return PadOp(x, low=(1,) * len(shape), high=(0,) * len(shape), interior=(2,) * len(shape), pad_value=value)


def _on(cls: Callable[..., Operation], key: str | None, properties: Callable[[Draw, Dims], dict]) -> Callable:
    """An op on one drawn value of a dtype that the row allows."""

    def make(draw: Draw, values: list[SSAValue]) -> Operation | None:
        legal = ALL if key is None else next(iter(LEGAL[key].values()))
        fitting = [v for v in values if read_type(v.type).dtype in legal]
        if not fitting:
            return None
        x = draw(st.sampled_from(fitting))
        return cls(x, **properties(draw, read_type(x.type).shape))

    return make


def _binary(cls: Callable[..., Operation], key: str, **properties: object) -> Callable:
    def make(draw: Draw, values: list[SSAValue]) -> Operation | None:
        legal = next(iter(LEGAL[key].values()))
        fitting = [v for v in values if read_type(v.type).dtype in legal]
        if not fitting:
            return None
        x = draw(st.sampled_from(fitting))
        return cls(x, draw(st.sampled_from([v for v in fitting if v.type == x.type])), **properties)

    return make


def _top_k(draw: Draw, values: list[SSAValue]) -> Operation | None:
    legal = LEGAL["top_k"]["x"]
    fitting = [v for v in values if read_type(v.type).dtype in legal and read_type(v.type).shape[-1:] == (3,)]
    if not fitting:
        return None
    x = draw(st.sampled_from(fitting))
    return TopKOp(x, k=2, axis=len(read_type(x.type).shape) - 1, largest=True, indices_dtype="si64")


def _concat(draw: Draw, values: list[SSAValue]) -> Operation | None:
    fitting = [v for v in values if read_type(v.type).shape and read_type(v.type).is_static]
    if not fitting:
        return None
    x = draw(st.sampled_from(fitting))
    return ConcatOp(*[v for v in values if v.type == x.type], axis=0)


def _cast(draw: Draw, values: list[SSAValue]) -> Operation | None:
    x = draw(st.sampled_from(values))
    complex_ = read_type(x.type).dtype.kind == "complex"
    names = ["cf32", "cf64"] if complex_ else list(DTYPES)
    return CastOp(x, dtype=draw(st.sampled_from(names)))


def _transposed(draw: Draw, shape: Dims) -> dict:
    return {"perm": tuple(draw(st.permutations(range(len(shape)))))}


MENU: list[Callable] = [
    _constant,
    _pad,
    _top_k,
    _cast,
    _on(NegOp, "neg", lambda draw, shape: {}),
    _on(ExpOp, "exp", lambda draw, shape: {}),
    _on(SqrtOp, "sqrt", lambda draw, shape: {}),
    _on(StopGradientOp, None, lambda draw, shape: {}),
    _on(TransposeOp, None, _transposed),
    _on(ReshapeOp, None, lambda draw, shape: {"new_shape": (1, *shape)}),
    _on(BroadcastToOp, None, lambda draw, shape: {"result_shape": (2, *shape)}),
    _on(ReshapeOp, None, lambda draw, shape: {"new_shape": shape}),
    _concat,
    _on(
        ReduceOp,
        "reduce max",
        lambda draw, shape: {
            "kind": draw(st.sampled_from(["max", "min"])),
            "axes": tuple(range(draw(st.integers(0, len(shape))))),
            "keepdims": draw(st.booleans()),
        },
    ),
    _binary(AddOp, "add"),
    _binary(MulOp, "mul"),
    _binary(CompareOp, "compare less", kind="less"),
    lambda draw, values: IotaOp(shape=(2, 3), dtype=draw(st.sampled_from(["bf16", "ui4", "si64"])), axis=1),
]


@st.composite
def ptir_modules(draw: Draw, *, whole: bool = False) -> ModuleOp:
    """A function of a few ops. With `whole` it returns all results of the ops that it returns results of."""
    types = [tensor_type(draw(st.sampled_from(ALL)), draw(st.sampled_from(SHAPES))) for _ in range(draw(st.integers(1, 3)))]
    block = Block(arg_types=types)
    values: list[SSAValue] = list(block.args)
    ops: list[Operation] = []
    for make in draw(st.lists(st.sampled_from(MENU), max_size=10)):
        op = make(draw, values)
        if op is not None:
            ops.append(op)
            values.extend(op.results)
    block.add_ops(ops)
    returned = draw(st.lists(st.sampled_from(values), max_size=4))
    if whole:
        returned = [r for v in returned for r in (v.owner.results if isinstance(v.owner, Operation) else (v,))]
    block.add_op(ReturnOp(*returned))
    return module_of(FuncOp("main", ([a.type for a in block.args], [v.type for v in returned]), Region(block)))
