"""
The snippet form: which ops it has, and how a function is written in it.

    func @f(%x: tensor<f32, 2x3>) -> tensor<f32, 2> {
      %max = reduce_max(%x) axes[1] keepdims[false] -> tensor<f32, 2>
      return %max
    }

One function of static shapes, without regions, of the twelve ops that the public parser knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.utils.target import Target

from mind_dialect import ptir
from mind_dialect.errors import MindError, error
from mind_dialect.ptir.types import PtirDType, TensorSpec, read_type
from mind_dialect.ptir_program import check_states_version

from ..ptir.rows import ROW_OF, check_stated_dims, normalised
from .bindings import extents, snippet_dtype


@dataclass(frozen=True)
class SnippetOp:
    """An op of the form: the properties that its name implies, and those written as attributes, by kind."""

    op: type[ptir.PtirOp]
    implied: Mapping[str, Any] = field(default_factory=dict[str, Any])
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])
    """`ints`, `bool`, or `dtype`."""
    required: tuple[str, ...] = ()
    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Other names of attributes, and the attributes that they stand for."""


_DTYPES = {"accum_dtype": "dtype", "out_dtype": "dtype"}
_REDUCE: Any = {"attributes": {"axes": "ints", "keepdims": "bool", **_DTYPES}, "required": ("axes",)}
_DIMS = ("batch_lhs", "batch_rhs", "contract_lhs", "contract_rhs")
SNIPPET_OPS: dict[str, SnippetOp] = {
    "cast": SnippetOp(ptir.CastOp),
    "reduce_max": SnippetOp(ptir.ReduceOp, {"kind": "max"}, **_REDUCE),
    "reduce_sum": SnippetOp(ptir.ReduceOp, {"kind": "sum"}, **_REDUCE),
    "broadcast_to": SnippetOp(
        ptir.BroadcastToOp,
        attributes={"result_shape": "ints"},
        required=("result_shape",),
        synonyms={"shape": ("result_shape",)},
    ),
    "dot_general": SnippetOp(
        ptir.DotGeneralOp,
        attributes={**dict.fromkeys(_DIMS, "ints"), **_DTYPES},
        required=("contract_lhs", "contract_rhs"),
        synonyms={"batch": ("batch_lhs", "batch_rhs")},
    ),
    "add": SnippetOp(ptir.AddOp),
    "sub": SnippetOp(ptir.SubOp),
    "mul": SnippetOp(ptir.MulOp),
    "div": SnippetOp(ptir.DivOp),
    "exp": SnippetOp(ptir.ExpOp),
    "neg": SnippetOp(ptir.NegOp),
    "stop_gradient": SnippetOp(ptir.StopGradientOp),
}
"""The twelve ops by their names."""
DEFAULTS: dict[str, Any] = {"keepdims": False, "batch_lhs": (), "batch_rhs": ()}
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def print_snippet(module: ModuleOp, *, lenient: bool = False) -> str:
    """
    The snippet of a module of one function.

    E4000 for an op, or anything else, that the form cannot say, E3006 for a dynamic dimension, E8006 for the version.
    """
    check_states_version(module, lenient=lenient)
    ops = list(module.body.block.ops)
    func = ops[0] if len(ops) == 1 else None
    last = func.body.block.last_op if isinstance(func, FuncOp) and len(func.body.blocks) == 1 else None
    if not isinstance(func, FuncOp) or not isinstance(last, ReturnOp):
        raise error("E4000", f"the module holds {len(ops)} ops, expected one function of one block", given=len(ops), expected=1)
    name = func.sym_name.data
    if _NAME.fullmatch(name) is None or not last.operands:
        given = f"a function named {name[:60]!a} with {len(last.operands)} results"
        raise error(
            "E4000", f"{given}, expected a name of letters and at least one result", operation=func, given=given, expected=1
        )
    names = _Names(func)
    parameters = ", ".join([f"{names[v]}: {_type(func, v)}" for v in func.body.block.args])
    types = [_type(func, v) for v in last.operands]
    result = types[0] if len(types) == 1 else f"({', '.join(types)})"
    lines = [f"func @{name}({parameters}) -> {result} {{"]
    lines += [f"  {line}" for line in _statements(list(func.body.block.ops)[:-1], names)]
    return "\n".join([*lines, f"  return {', '.join([names[v] for v in last.operands])}", "}"]) + "\n"


class _Names(dict[SSAValue, str]):
    """A name for each value of a function: its own if it has one that is free, else a number."""

    def __init__(self, func: FuncOp):
        super().__init__()
        taken: set[str] = set()
        for number, value in enumerate([*func.body.block.args, *(v for op in func.body.block.ops for v in op.results)]):
            hint = value.name_hint
            name = hint if hint is not None and _NAME.fullmatch(hint) and hint not in taken else str(number)
            taken.add(name)
            self[value] = f"%{name}"


def _type(op: Operation, value: SSAValue) -> str:
    dtype, shape = read_type(value.type)
    sizes = [d for d in shape if isinstance(d, int)]
    if len(sizes) != len(shape):
        i = next(i for i, d in enumerate(shape) if isinstance(d, str))
        message = f"dimension {i} of {list(shape)}, expected a size: snippets are static"
        raise error("E3006", message, operation=op, shape=shape, index=i, value=shape[i])
    return f"tensor<{snippet_dtype(dtype)}{f', {extents(sizes)}' if sizes else ''}>"


def _statements(ops: Sequence[Operation], names: _Names) -> Iterator[str]:
    for op in ops:
        name = None
        values: dict[str, Any] = {}
        if isinstance(op, ptir.PtirOp):
            op.check()
            values = op.values()
            name = next((n for n, s in SNIPPET_OPS.items() if s.op is type(op) and s.implied.items() <= values.items()), None)
        if name is None or not isinstance(op, ptir.PtirOp):
            shown = f"{op.name} kind {values['kind']}" if "kind" in values else op.name
            raise error("E4000", f"snippets have no {shown}", operation=op, given=shown, expected=list(SNIPPET_OPS))
        if any(v not in names for v in op.operands):
            raise error("E4001", f"{op.OPCODE} uses a value that is defined elsewhere", operation=op, op=op.OPCODE, operand=0)
        try:
            check_stated_dims(op, ROW_OF[type(op)])
        except MindError as e:
            raise e.at(op, op.OPCODE) from None
        values = normalised(op, values, ROW_OF[type(op)])
        attributes = [_attribute(key, values[key]) for key in SNIPPET_OPS[name].attributes if _is_needed(key, values[key])]
        operands = ", ".join([names[v] for v in op.operands])
        called = f"{name}({operands})" if SNIPPET_OPS[name].attributes else f"{name} {operands}"
        yield f"{names[op.results[0]]} = {' '.join([called, *attributes])} -> {_type(op, op.results[0])}"


def _is_needed(key: str, value: Any) -> bool:
    return value is not None and (key == "keepdims" or DEFAULTS.get(key) != value)


def _attribute(key: str, value: Any) -> str:
    if isinstance(value, PtirDType):
        shown = snippet_dtype(value)
    elif isinstance(value, bool):
        shown = "true" if value else "false"
    else:
        shown = ", ".join(map(str, value))
    return f"{'shape' if key == 'result_shape' else key}[{shown}]"


def properties(name: str, given: Mapping[str, Any], result: Any) -> dict[str, Any]:
    """The properties of an op from its attributes; `E4000` for one that is missing."""
    snippet = SNIPPET_OPS[name]
    for key in snippet.required:
        if key not in given:
            expected = list(snippet.required)
            raise error("E4000", f"{name} lacks {key}[...]", given=sorted(given), expected=expected)
    defaults = {key: DEFAULTS.get(key) for key in snippet.attributes}
    values = {**defaults, **snippet.implied, **given}
    if snippet.op is ptir.CastOp:
        if not isinstance(result, TensorSpec):
            raise error("E2001", "cast returns a tensor, found a tuple", expected="tensor", actual="tuple")
        values["dtype"] = result.dtype
    return values


@dataclass(frozen=True)
class PtirSnippetTarget(Target):
    """Print a module of one function as a snippet."""

    name = "mind-ptir-snippet"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(print_snippet(module))
