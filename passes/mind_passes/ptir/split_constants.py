"""
Computation on constants alone, split from the rest of a function, so that an executor runs it once and not in each call.

`@f_constants` takes nothing and returns arrays, and `@f` takes them as its last inputs. Packed constants, such as weights
in 4 bits, are decoded by such computation. Folding computes small constants in place of their ops; here results are large, and
only their function is in the program. Views stay with those that use them, as do ops that can fail and random ops.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.dialects.builtin import DictionaryAttr, FunctionType, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from mind_dialect.dominance import walk
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.program import NAME_ATTRIBUTE, input_names, stated_attributes
from mind_dialect.ptir import ConstantOp
from mind_dialect.ptir.types import read_type

from .building import is_plain
from .failing import can_fail
from .split_parameters import FREE


@dataclass(frozen=True)
class ConstantSplit:
    """The two functions, and for each op of the function with the inputs in addition the op that it is a copy of."""

    func: FuncOp
    constants: FuncOp
    origins: dict[Operation, Operation]


def split_constants(func: FuncOp, smallest: int, most: int) -> ConstantSplit | None:
    """
    Split a verified function of one block, which stays as it is; None where nothing is worth it.

    Results of at least `smallest` bytes each are computed in the function of constants, of at most `most` bytes in all.
    """
    block = func.body.block
    fixed = _fixed(block)
    exports, needed = _exports(block, fixed, smallest, most)
    if not exports:
        return None
    main, origins = _with_inputs(func, exports, fixed - needed)
    return ConstantSplit(main, _constants(func, exports), origins)


def _fixed(block: Block) -> set[SSAValue]:
    """The values of a block that depend on constants alone, by ops that cannot fail."""
    fixed: set[SSAValue] = set()
    for op in block.ops:
        is_fixed = isinstance(op, ConstantOp) or (bool(op.operands) and all(v in fixed for v in op.operands))
        if is_fixed and is_plain(op) and not can_fail(op) and all(read_type(v.type).is_static for v in op.results):
            fixed.update(op.results)
    return fixed


def _exports(block: Block, fixed: set[SSAValue], smallest: int, most: int) -> tuple[list[SSAValue], set[SSAValue]]:
    """The values to compute once, and all values that the rest uses."""
    exports: list[SSAValue] = []
    needed: set[SSAValue] = set()
    for op in reversed(tuple(block.ops)):
        if not any(v in fixed for v in op.results):
            needed.update(v for inner in walk(op) for v in inner.operands)
            continue
        results = [v for v in op.results if v in needed]
        size = sum(_bytes(v) for v in results)
        if results and smallest <= size <= most and op.operands and not isinstance(op, FREE):
            exports += reversed(results)
            most -= size
        elif results:
            needed.update(op.operands)
    return exports[::-1], needed


def _bytes(value: SSAValue) -> int:
    dtype, shape = read_type(value.type)
    return dtype.size * prod(cast("Sequence[int]", shape))


def _with_inputs(func: FuncOp, exports: Sequence[SSAValue], unused: set[SSAValue]) -> tuple[FuncOp, dict[Operation, Operation]]:
    """A copy of a function that takes the exports as last inputs, without the ops of unused values; the ops that it copies."""
    arguments = func.body.block.args
    body = Block(arg_types=[v.type for v in (*arguments, *exports)])
    values: dict[SSAValue, SSAValue] = dict(zip((*arguments, *exports), body.args, strict=True))
    origins: dict[Operation, Operation] = {}
    for old, new in values.items():
        new.name_hint = old.name_hint
    known = set(exports)
    for op in func.body.block.ops:
        if op.results and all(v in unused or v in known for v in op.results):
            continue
        copy = op.clone(values)
        body.add_op(copy)
        origins.update(zip(walk(copy), walk(op), strict=True))
    types = FunctionType.from_lists([v.type for v in body.args], list(func.function_type.outputs))
    made = FuncOp.create(properties=dict(func.properties), attributes=dict(func.attributes), regions=[Region(body)])
    made.location = func.location
    made.properties["function_type"] = types
    made.arg_attrs = stated_attributes(_attributes(func, len(exports)))
    return made, origins


def _attributes(func: FuncOp, count: int) -> list[DictionaryAttr]:
    """The attributes of the inputs with their names, and of `count` more inputs."""
    names = input_names(func)
    found: list[DictionaryAttr] = []
    for i, name in enumerate(names):
        given: dict[str, Attribute] = {} if func.arg_attrs is None else dict(func.arg_attrs.data[i].data)
        found.append(DictionaryAttr({NAME_ATTRIBUTE: StringAttr(name), **given}))
    taken = set(names)
    for i in range(count):
        name = f"constant{i}"
        while name in taken:
            name += "_"
        taken.add(name)
        found.append(DictionaryAttr({NAME_ATTRIBUTE: StringAttr(name)}))
    return found


def _constants(func: FuncOp, exports: Sequence[SSAValue]) -> FuncOp:
    """The function that computes the exports."""
    wanted: set[SSAValue] = set(exports)
    ops: list[Operation] = []
    for op in reversed(tuple(func.body.block.ops)):
        if any(v in wanted for v in op.results):
            ops.append(op)
            wanted.update(op.operands)
    body = Block()
    values: dict[SSAValue, SSAValue] = {}
    for op in reversed(ops):
        body.add_op(op.clone(values))
    body.add_op(ReturnOp(*(values[v] for v in exports)))
    types = FunctionType.from_lists([], [v.type for v in exports])
    made = FuncOp(f"{func.sym_name.data}_constants", types, Region(body))
    made.location = func.location
    return made
