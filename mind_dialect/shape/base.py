"""
Base class of every op of the shape dialect: structure checks from its declaration, upstream's rule on errors, inferred types.

A declaration names the kinds of operands and results; the checks walk it and raise coded errors before IRDL's own, which have
no codes. `infer` gives the types of results that are not stated; where upstream infers them too, a stated type
must agree with it.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import OptionalDef, VariadicDef

from ..errors import brief, error
from ..op import CodedOp, value_of
from ..profiles import Profile
from .types import KindConstraint, index, may_hold_error

Types = Sequence[Attribute]


class ShapeOp(CodedOp, ABC):
    """An op of the shape dialect."""

    PROPAGATES: ClassVar[Attribute | None] = None
    """The type that the result must have if an operand may hold an error: `!shape.size` or `!shape.shape`."""
    PARENTS: ClassVar[tuple[str, ...]] = ()
    """The ops in whose regions this one may stand; none named: anywhere."""
    MIN_OPERANDS: ClassVar[int] = 0
    """The least number of operands of a variadic op."""
    INFERS: ClassVar[bool] = False
    """True if stated result types must agree with the inferred ones, as where upstream infers them."""

    def __init__(
        self,
        *operands: SSAValue | Operation,
        result_types: Types | None = None,
        regions: Sequence[Region] = (),
        **properties: Attribute | str | int | None,
    ):
        """
        Build the op; result types that are not stated are inferred. Strings, truths and integers become attributes.

        Raises the coded error of operands from whose types none can be inferred.
        """
        values = [value_of(v) for v in operands]
        stored = {name: as_attribute(p) for name, p in properties.items() if p is not None}
        types = self.infer([v.type for v in values], stored) if result_types is None else result_types
        Operation.__init__(self, operands=values, result_types=types, properties=stored, regions=regions)

    @classmethod
    def infer(cls, operands: Types, properties: Mapping[str, Attribute]) -> Types:
        """The result types for the types of the operands; a coded error if there are none."""
        results = _signature(cls).results
        known = [kind.only for _, kind in results.kinds if kind.only is not None]
        if len(known) == len(results.kinds) and not results.variadic:
            return known
        raise error("E2003", f"{cls.name}: the types of the results must be stated", name=cls.name)

    @staticmethod
    def agrees(inferred: Attribute, stated: Attribute) -> bool:
        """Return whether a stated result type agrees with the inferred one."""
        return inferred == stated

    def check_rules(self, profile: Profile) -> None:
        self.check_structure()
        self.check_properties()
        self.check_types()
        self.check_place()
        self.check_op()

    def check_op(self) -> None:
        """The op's own rules, after those of its declaration."""

    def check_properties(self) -> None:
        """The kinds of the op's properties; unknown and missing ones were found before."""

    def check_structure(self) -> None:
        """Counts and kinds of operands, results and regions, names of properties, as declared."""
        declared = _signature(type(self))
        declared.operands.check(self.operands)
        declared.results.check(self.results)
        if len(self.operands) < self.MIN_OPERANDS:
            raise _arity("operand", f"at least {self.MIN_OPERANDS}", len(self.operands))
        if len(self.regions) != declared.regions or self.successors:
            found = f"counts of regions and successors are {len(self.regions)} and {len(self.successors)}"
            raise error("E9005", f"{found}, expected {declared.regions} and 0", issue="count of regions")
        known, needed = declared.properties, declared.needed
        for name in self.properties:
            if name not in known:
                raise error("E9007", f"unknown property {name!r}, expected {list(known) or 'none'}", property=name)
        for name in needed:
            if name not in self.properties:
                raise error("E9007", f"lacks the property {name!r}", property=name)

    def check_types(self) -> None:
        """Errors must be able to propagate (E9002), and a stated result type must agree with the inferred one (E9003)."""
        if self.PROPAGATES is not None:
            holder = next((t for t in self.operand_types if may_hold_error(t)), None)
            found = self.result_types[0]
            if holder is not None and found != self.PROPAGATES:
                message = f"an operand of type {holder} may hold an error, so the result must be {self.PROPAGATES}"
                raise error("E9002", f"{message}, found {brief(found)}", expected=str(self.PROPAGATES), actual=brief(found))
        if self.INFERS:
            for stated, inferred in zip(self.result_types, self.infer(self.operand_types, self.properties), strict=True):
                if not self.agrees(inferred, stated):
                    message = f"result type {brief(stated)} does not agree with the inferred {brief(inferred)}"
                    raise error("E9003", message, declared=brief(stated), inferred=brief(inferred))

    def check_place(self) -> None:
        """E9006 unless the op stands in the region of one of its `PARENTS`."""
        if self.PARENTS and (parent := self.parent_op()) is not None and parent.name not in self.PARENTS:
            expected = " or ".join(self.PARENTS)
            raise error("E9006", f"is in {parent.name}, expected {expected}", parent=parent.name, expected=expected)

    def string(self, name: str) -> str | None:
        """The text of a string property; None if it is absent, E9007 if it is no string."""
        found = self.properties.get(name)
        if found is None or isinstance(found, StringAttr):
            return None if found is None else found.data
        raise error("E9007", f"{name} is {brief(found)}, expected a string", property=name)


def as_attribute(value: Attribute | str | int) -> Attribute:
    """The attribute that stores a Python value: an integer as index, a truth as i1."""
    match value:
        case bool():
            return IntegerAttr.from_bool(value)
        case int():
            return IntegerAttr(value, index)
        case str():
            return StringAttr(value)
        case _:
            return value


def _arity(what: str, expected: object, actual: int) -> Exception:
    plural = "" if expected == 1 or str(expected).endswith(" 1") else "s"
    return error("E2007", f"expects {expected} {what}{plural}, found {actual}", expected=expected, actual=actual)


@dataclass(frozen=True)
class _Values:
    """The declared operands or results; if `variadic`, any number of the last."""

    what: str
    kinds: Sequence[tuple[str, KindConstraint]]
    variadic: bool

    def check(self, values: Sequence[SSAValue]) -> None:
        """Count and kinds: E2007, E9001, E9004."""
        fixed = len(self.kinds) - self.variadic
        if len(values) < fixed or (len(values) > fixed and not self.variadic):
            raise _arity(self.what, f"at least {fixed}" if self.variadic else fixed, len(values))
        for i, value in enumerate(values):
            name, kind = self.kinds[min(i, len(self.kinds) - 1)]
            if not kind.fits(value.type):
                place = f" {i - fixed}" if self.variadic and i >= fixed else ""
                kind.check(value.type, self.what if name == self.what else f"{self.what} {name}{place}")


@dataclass(frozen=True)
class _Signature:
    """The operands, results and properties that an op declares."""

    operands: _Values
    results: _Values
    regions: int
    properties: tuple[str, ...]
    needed: tuple[str, ...]


@cache
def _signature(op: type[ShapeOp]) -> _Signature:
    declared = op.get_irdl_definition()
    return _Signature(
        _values("operand", declared.operands),
        _values("result", declared.results),
        len(declared.regions),
        tuple(sorted(declared.properties)),
        tuple(name for name, definition in declared.properties.items() if not isinstance(definition, OptionalDef)),
    )


def _values(what: str, declared: Sequence[tuple[str, Any]]) -> _Values:
    kinds = [(name, _kind(definition.constr)) for name, definition in declared]
    variadic = [isinstance(definition, VariadicDef) for _, definition in declared]
    assert not any(variadic[:-1]), "only the last may be variadic"
    return _Values(what, kinds, any(variadic))


def _kind(constraint: Any) -> KindConstraint:
    """The kind within what IRDL wraps around it."""
    while not isinstance(constraint, KindConstraint):
        constraint = getattr(constraint, "constr", None) or constraint.constraint
    return constraint


def only_block(region: Region, what: str) -> Block:
    """The one block of a region; E9005 if there are none or more."""
    first = region.first_block
    if first is None or first is not region.last_block:
        raise error("E9005", f"{what} has {len(region.blocks)} blocks, expected 1", issue="count of blocks")
    return first


def error_or(types: Types, held: Attribute, otherwise: Attribute) -> Attribute:
    """`held` if a value of one of the types may be an error, else `otherwise`."""
    return held if any(map(may_hold_error, types)) else otherwise
