"""Keys that a comparator computes: `|a| < |b|` orders operands by their absolute values, `a + c < b + d` by sums."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, OpResult, SSAValue

from .foreign import name_of

Columns = Sequence[tuple[SSAValue, SSAValue]]
"""Values of a comparator in pairs: what one has of the left elements, the other has of the right ones."""


def captured_constants(block: Block) -> list[OpResult]:
    """Return the constants around a block that it reads: JAX shares those of programs with symbolic shapes."""
    found = dict.fromkeys(v for op in block.ops for v in op.operands if isinstance(v, OpResult) and v.op.parent is not block)
    return [v for v in found if name_of(v.op) == "stablehlo.constant"]


def argument_columns(block: Block) -> Columns:
    """Return the arguments of a comparator in pairs."""
    return list(zip(block.args[::2], block.args[1::2], strict=True))


def computed_columns(block: Block) -> Columns:
    """
    Return the pairs of values that a comparator computes alike, each from one side, and then combines.

    Empty if it combines a value of one side whose counterpart of the other side it does not combine.
    """
    sides: dict[SSAValue, frozenset[int]] = {v: frozenset({i % 2}) for i, v in enumerate(block.args)}
    numbers: dict[object, int] = {}
    forms: dict[SSAValue, int] = {v: numbers.setdefault(("argument", i // 2), len(numbers)) for i, v in enumerate(block.args)}
    for value in captured_constants(block):
        sides[value] = frozenset()
        forms[value] = numbers.setdefault((_form(value.op, ()), 0), len(numbers))
    met: tuple[dict[int, SSAValue], dict[int, SSAValue]] = ({}, {})
    for op in block.ops:
        if any(v not in sides for v in op.operands):
            return ()
        of_op = frozenset[int]().union(*(sides[v] for v in op.operands))
        if len(of_op) == 2:
            for v in op.operands:
                if len(sides[v]) == 1:
                    met[min(sides[v])].setdefault(forms[v], v)
        form = _form(op, [forms[v] for v in op.operands])
        for i, result in enumerate(op.results):
            sides[result] = of_op
            forms[result] = numbers.setdefault((form, i), len(numbers))
    left, right = met
    return [(v, right[form]) for form, v in left.items()] if left.keys() == right.keys() else ()


def _form(op: Operation, operands: Sequence[int]) -> object:
    """Return what two ops have in common exactly if they compute the same of the same operands."""
    if op.regions:
        return op
    stored = sorted((name, str(value)) for name, value in {**op.attributes, **op.properties}.items())
    return op.name, tuple(stored), tuple(operands), tuple(str(t) for t in op.result_types)
