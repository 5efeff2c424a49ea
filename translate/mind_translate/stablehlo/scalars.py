"""
Meaning of a body of scalar ops, found by running it: on symbols for reductions, on sample numbers for comparators of sorts.

A reducer of comparisons and selections sees of its arguments only how they are ordered and whether they are NaN, so running it
once for each such case says all about it. A comparator compares numbers with each other and with constants, so numbers around
every constant and all special values decide. Bodies with anything else are not recognised, never guessed.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import Any, NamedTuple, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.dialects.func import CallOp
from xdsl.ir import Block, Operation, SSAValue

from mind_dialect.ptir.types import Kind, PtirDType, part_of

from .converter import RETURNS, StablehloConverter
from .elementwise import COMPARE_TYPES, DIRECTIONS
from .foreign import ForeignOp, landed_spec, name_of
from .sort_keys import Columns, captured_constants
from .structural import stored_bytes

Pairs = Mapping[tuple[int, str], tuple[Any, Any]]
MOST_OPS = 64
"""Longer bodies are not looked into."""


class UnknownError(Exception):
    """A body holds what cannot be evaluated here."""


def simple_kind(to: StablehloConverter, block: Block) -> str | None:
    """
    The op of a body of two arguments: `add`, `maximum` and so on; `replace` if it gives the second argument.

    None for any other body. A body that only calls a function is that function's.
    """
    ops = list(block.ops)
    if len(block.args) != 2 or not 1 <= len(ops) <= 2 or name_of(ops[-1]) not in RETURNS or len(ops[-1].operands) != 1:
        return None
    if len(ops) == 1:
        return "replace" if ops[0].operands[0] is block.args[1] else None
    op = ops[0]
    if ops[1].operands[0] is not op.results[0]:
        return None
    if isinstance(op, CallOp) and tuple(op.operands) == tuple(block.args):
        callee = to.callee(op.callee.root_reference.data).body.block
        return simple_kind(to, callee) if not any(isinstance(inner, CallOp) for inner in callee.ops) else None
    name = name_of(op)
    if name.startswith("stablehlo.") and set(op.operands) == set(block.args) and len(op.operands) == 2:
        short = name.removeprefix("stablehlo.")
        return short if short in _COMMUTATIVE else None
    return None


_COMMUTATIVE = frozenset({"add", "multiply", "maximum", "minimum", "and", "or", "xor"})


# Reductions to the place of an extreme value


def arg_kind(block: Block, dtype: PtirDType) -> str | None:
    """
    `max` or `min` if a body of (value, index, value, index) keeps the extreme value and its index, the first of equals.

    NaN wins, the first one. The left index is the lower one, as reductions run from left to right.
    """
    if len(block.args) != 4:
        return None
    for kind, wins in (("max", "greater"), ("min", "less")):
        try:
            if all(_keeps(block, case, _winner(case, wins)) for case in _cases(dtype)):
                return kind
        except UnknownError:
            return None
    return None


def _cases(dtype: PtirDType) -> list[str]:
    """Return the relations of two values; the left index is lower."""
    return ["less", "equal", "greater", *(["left nan", "right nan", "both nan"] if dtype.is_float else [])]


def _winner(case: str, wins: str) -> int:
    """The argument that must be kept: 0 for the left one."""
    return 1 if case == "right nan" or case in {"less", "greater"} - {wins} else 0


def _keeps(block: Block, case: str, winner: int) -> bool:
    left, left_index, right, right_index = block.args
    names: dict[SSAValue, str] = {left: "x", right: "y", left_index: "i", right_index: "j"}
    value, index = _run(block, names, _Symbols(case))
    is_tie = case in ("equal", "both nan")
    return index == "ij"[winner] and (value == "xy"[winner] or (is_tie and value in ("x", "y")))


class _Symbols:
    """Comparisons of symbols, decided by a case."""

    def __init__(self, case: str):
        self.case = case

    def constant(self, op: Operation) -> object:
        raise UnknownError

    def compare(self, op: ForeignOp, kind: str, x: object, y: object) -> bool:
        pair = {x, y}
        if pair <= {"i", "j"}:
            relation = "equal" if x == y else "less" if x == "i" else "greater"
        elif pair <= {"x", "y"}:
            nan = {"left nan": {"x"}, "right nan": {"y"}, "both nan": {"x", "y"}}.get(self.case, set[object]())
            if pair & nan:
                return kind == "not_equal"
            mirrored = {"less": "greater", "greater": "less", "equal": "equal"}
            relation = "equal" if x == y else self.case if (x, y) == ("x", "y") else mirrored[self.case]
        else:
            raise UnknownError
        return relation in _HOLDS[kind]

    def extreme(self, name: str, x: object, y: object) -> object:
        raise UnknownError


_HOLDS = {
    "equal": ("equal",),
    "not_equal": ("less", "greater"),
    "less": ("less",),
    "less_equal": ("less", "equal"),
    "greater": ("greater",),
    "greater_equal": ("greater", "equal"),
}


# Comparators


class Key(NamedTuple):
    """Key of a sort: a column, of complex ones its real or imaginary part, and whether it descends."""

    operand: int
    part: str = ""
    descending: bool = False


def sort_order(
    block: Block, columns: Columns, dtypes: Sequence[PtirDType], *, total: bool = False, ties: bool = False
) -> list[Key] | None:
    """
    The keys of a comparator of `columns`, most significant first, each with the number of its column; None for others.

    Keys of floats must be ordered as PTIR's `sort` orders them: NaN after all numbers, zeros equal. A comparator that leaves
    NaN unordered fits too. With `total` they must be ordered as IEEE 754 totally orders them. With `ties` the comparator must
    hold of equal elements, as LE does.
    """
    operands = sorted({i // 2 for i in _used(block, columns)})
    keys = [Key(i, part) for i in operands for part in (("real", "imag") if dtypes[i].kind is Kind.COMPLEX else ("",))]
    if not 1 <= len(keys) <= 3:
        return None
    constants = _constants(block)
    samples = [_samples(part_of(dtypes[key.operand]), constants, len(keys)) for key in keys]
    candidates = [
        [key._replace(descending=sign) for key, sign in zip(order, signs, strict=True)]
        for order in _permutations(keys)
        for signs in product((False, True), repeat=len(keys))
    ]
    try:
        for lefts in product(*samples):
            for rights in product(*samples):
                pairs = {(key.operand, key.part): pair for key, pair in zip(keys, zip(lefts, rights, strict=True), strict=True)}
                found = _before(block, columns, pairs)
                candidates = [order for order in candidates if _agrees(order, pairs, found, total, ties)]
                if not candidates:
                    return None
    except UnknownError:
        return None
    return candidates[0] if len(candidates) == 1 else None


def _permutations(keys: Sequence[Key]) -> list[list[Key]]:
    return [[key, *rest] for key in keys for rest in _permutations([k for k in keys if k != key])] if keys else [[]]


def _agrees(order: Sequence[Key], pairs: Pairs, found: bool, total: bool, ties: bool) -> bool:
    """Return whether the comparator's answer is that of a lexicographic order."""
    for operand, part, descending in order:
        x, y = (_total_order(v) if total and isinstance(v, float) else v for v in pairs[operand, part])
        x, y = (y, x) if descending else (x, y)
        if (x != x) or (y != y):
            if not found:
                return True  # NaN may be left unordered
            less, equal = (x == x) and (y != y), (x != x) and (y != y)
        else:
            less, equal = x < y, x == y
        if not equal:
            return found == less
    return found == ties


def _samples(dtype: PtirDType, constants: Sequence[Any], keys: int) -> list[Any]:
    if not dtype.is_float:
        bits, low = dtype.bits, dtype.name.startswith("s")
        numbers = [-(1 << (bits - 1)), -1, 0, 1] if low else [0, 1, (1 << bits) - 1]
        near = [c + d for c in constants if isinstance(c, int) for d in (-1, 0, 1)] if keys < 3 else []
        return [bool(n) for n in (0, 1)] if dtype.bits == 1 else sorted({*numbers, *near})
    if keys > 2:
        return [-1.0, 0.0, 1.0, math.nan]
    special = [-math.inf, -1.0, -0.0, 0.0, 1.0, math.inf, math.nan, -math.nan]
    near = [c + d for c in constants if isinstance(c, float) and math.isfinite(c) and c for d in (-0.5, 0.0, 0.5)]
    return special if keys == 2 else [-2.5, -1e-30, *special, 1e-30, 2.5, *near]


def _constants(block: Block) -> list[Any]:
    """The numbers that a block states, and those that it captures."""
    inside = [op for op in block.ops if name_of(op) == "stablehlo.constant"]
    return [_constant(op) for op in (*inside, *(v.owner for v in captured_constants(block)))]


def _used(block: Block, columns: Columns) -> set[int]:
    """The values of columns, counted from left to right, on which what a block returns depends."""
    last = block.last_op
    stack = list(last.operands) if last is not None else []
    numbers: dict[SSAValue, int] = {value: i for i, value in enumerate(value for pair in columns for value in pair)}
    found, seen = set[int](), set[SSAValue]()
    while stack:
        value = stack.pop()
        if value in seen:
            continue
        seen.add(value)
        if value in numbers:
            found.add(numbers[value])
        elif isinstance(value.owner, Operation):
            stack.extend(value.owner.operands)
    return found


def _before(block: Block, columns: Columns, pairs: Pairs) -> bool:
    names: dict[SSAValue, Any] = {}
    for operand, part in pairs:
        for side in (0, 1):
            if part == "":
                names[columns[operand][side]] = pairs[operand, part][side]
            elif part == "real":
                names[columns[operand][side]] = complex(pairs[operand, "real"][side], pairs[operand, "imag"][side])
    found = _run(block, names, _Numbers())
    if len(found) != 1 or not isinstance(found[0], bool):
        raise UnknownError
    return found[0]


class _Numbers:
    """Comparisons of numbers."""

    def constant(self, op: Operation) -> object:
        return _constant(op)

    def compare(self, op: ForeignOp, kind: str, x: Any, y: Any) -> bool:
        if op.word("compare_type", COMPARE_TYPES, "NOTYPE") == "TOTALORDER" and isinstance(x, float):
            x, y = _total_order(x), _total_order(y)
        return _COMPARE[kind](x, y)

    def extreme(self, name: str, x: Any, y: Any) -> object:
        if x != x or y != y:
            return x if x != x else y
        return max(x, y) if name == "maximum" else min(x, y)


_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "equal": lambda x, y: x == y,
    "not_equal": lambda x, y: x != y,
    "less": lambda x, y: x < y,
    "less_equal": lambda x, y: x <= y,
    "greater": lambda x, y: x > y,
    "greater_equal": lambda x, y: x >= y,
}


def _total_order(x: float) -> int:
    """
    A number that is ordered as IEEE 754 totally orders floats: -NaN, -inf, ..., -0, 0, ..., inf, NaN.

    >>> sorted([0.0, -0.0, math.inf, -1.0], key=_total_order)
    [-1.0, -0.0, 0.0, inf]
    """
    (bits,) = struct.unpack("<q", struct.pack("<d", x))
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF) - 1


# Evaluation


def _constant(op: Operation) -> Any:
    """The number of a scalar constant."""
    value = op.properties.get("value", op.attributes.get("value"))
    spec = landed_spec(op.results[0].type)
    if not isinstance(value, DenseIntOrFPElementsAttr) or spec.shape != ():
        raise UnknownError
    return spec.dtype.element.unpack(stored_bytes(cast(Any, value).data.data, spec.dtype))[0]


def _run(block: Block, names: Mapping[SSAValue, Any], over: Any) -> list[Any]:
    """
    Run a block from the values that `names` has and return its results; `over` decides comparisons.

    Raises `UnknownError` if they depend on what cannot be evaluated.
    """
    env: dict[SSAValue, Any] = dict(names)
    for value in captured_constants(block):
        with suppress(UnknownError):
            env[value] = over.constant(value.owner)
    for count, op in enumerate(block.ops):
        name = name_of(op)
        known = all(v in env for v in op.operands)
        if name in RETURNS and known:
            return [env[v] for v in op.operands]
        if count > MOST_OPS:
            raise UnknownError
        if not known or len(op.results) != 1 or op.results[0] in env or not name.startswith("stablehlo."):
            continue
        with suppress(UnknownError):
            env[op.results[0]] = _value(op, name.removeprefix("stablehlo."), [env[v] for v in op.operands], over)
    raise UnknownError


def _value(op: Operation, name: str, operands: Sequence[Any], over: Any) -> Any:
    match name:
        case "constant":
            return over.constant(op)
        case "compare":
            foreign = ForeignOp(op, (), ())
            kind = DIRECTIONS[foreign.word("comparison_direction", tuple(DIRECTIONS))]
            return over.compare(foreign, kind, *operands)
        case "select":
            return operands[1] if _truth(operands[0]) else operands[2]
        case "and" | "or" | "xor":
            x, y = map(_truth, operands)
            return x and y if name == "and" else x or y if name == "or" else x != y
        case "not":
            return not _truth(operands[0])
        case "maximum" | "minimum":
            return over.extreme(name, *operands)
        case "real" | "imag" if isinstance(operands[0], complex):
            return operands[0].real if name == "real" else operands[0].imag
        case _:
            raise UnknownError


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise UnknownError
    return value
