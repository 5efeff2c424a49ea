"""
Base class of every PTIR op: properties, coded checks in a fixed order, inferred result types, dynamic dimensions.

The order of checks is counts of operands, results and regions; properties; operand types; dtypes (`legal.py`, then equality);
shapes (`ptir_shapes.py`) and regions; declared result types. A declared type is the inferred one, except that it may give an
unknown dimension a name or a size; that is a claim which the run checks.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, cast

from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import result_def, traits_def
from xdsl.traits import NoMemoryEffect

from ..codecs import is_array
from ..declared_dims import facts_around
from ..declared_op import Declared
from ..errors import MindError, error
from ..extents import Facts
from ..extents.dims import are_equal, is_expression, under
from ..op import TENSOR, DialectOp, value_of
from ..profiles import Profile
from ..ptir_shapes import UNKNOWN, Dim, Dims
from .attributes import DIM, DIMS, scalar
from .legal import check_legal, mixed, row_key
from .types import PtirDType, TensorSpec, read_type, tensor_type

Rule = Callable[..., Dims]


class PtirOp(DialectOp, ABC):
    """An instruction of the contract: operands and results are tensors."""

    OPCODE: ClassVar[str] = cast(str, Declared(lambda op: op.name.removeprefix("ptir.")))
    LEAST_VARIADIC: ClassVar[int] = 0
    RULE: ClassVar[Rule]
    """From the operands' shapes and the properties in `RULE_TAKES` to the result's shape."""
    RULE_TAKES: ClassVar[tuple[str, ...] | None] = None
    """The properties that the rule takes; None for all."""
    SAME_DTYPE: ClassVar[tuple[str, ...]] = ()
    """Operands of one dtype."""
    MIXED_CATEGORY: ClassVar[str | None] = None
    """The contract's name for operands of different dtypes, where it has one."""

    SCALARS: ClassVar[tuple[str, ...]] = ()
    """Properties that are a number of the first operand's dtype; the constructor takes plain numbers."""

    def __init__(self, *operands: SSAValue | Operation, result_types: Sequence[Attribute] | None = None, **properties: Any):
        """Build the op; the result types are inferred unless given. Raises the coded error that the verifier would raise."""
        values = [value_of(v) for v in operands]
        try:
            for name in self.SCALARS:
                if name in properties and values:
                    properties[name] = scalar(read_type(values[0].type).dtype, properties[name])
            stored = self.store_properties(properties)
            types = self.built_types([v.type for v in values], stored, (), result_types)
        except MindError as e:
            raise MindError(e.code, f"{self.OPCODE}: {e.message}", {"op": self.OPCODE, **e.context}, None, e.category) from None
        Operation.__init__(self, operands=values, properties=stored, result_types=types)

    @classmethod
    def built_types(
        cls,
        operand_types: Sequence[Attribute],
        stored: Mapping[str, Attribute],
        regions: Sequence[Region],
        result_types: Sequence[Attribute] | None,
    ) -> Sequence[Attribute]:
        """The result types of an op to build: the inferred ones, or the given ones if they agree."""
        cls.check_arity(len(operand_types), None if result_types is None else len(result_types), len(regions))
        declared = None if result_types is None else [read_type(t) for t in result_types]
        specs = [read_type(t) for t in operand_types]
        inferred = cls.infer_all(specs, cls.read_properties(stored), regions, declared)
        if declared is None or result_types is None:  # making a type costs more than all checks, so the first operand's is shared
            return [operand_types[0] if specs and spec == specs[0] else tensor_type(*spec) for spec in inferred]
        check_declared(declared, inferred)
        return result_types

    @classmethod
    def check_arity(cls, operands: int, results: int | None, regions: int) -> None:
        """Raise E2007 unless the counts of operands and results are right, E8005 for the regions."""
        fixed = len(cls.OPERANDS) - cls.VARIADIC
        least = fixed + cls.LEAST_VARIADIC
        if operands < least or (operands != fixed and not cls.VARIADIC):
            expected = f"at least {least}" if cls.VARIADIC else fixed
            raise error("E2007", f"expects {expected} operands, found {operands}", expected=expected, actual=operands)
        if results is not None and cls.RESULTS is not None and results != len(cls.RESULTS):
            n = len(cls.RESULTS)
            raise error("E2007", f"expects {n} results, found {results}", expected=n, actual=results)
        if regions != len(cls.REGION_NAMES):
            names = list(cls.REGION_NAMES)
            raise error("E8005", f"has {regions} regions, expected {names}", region=None, expected=names, actual=regions)

    @classmethod
    def roles(cls, operands: Sequence[Any]) -> dict[str, Any]:
        """The operands by name; the variadic ones are one list."""
        if not cls.VARIADIC:
            return dict(zip(cls.OPERANDS, operands, strict=True))
        fixed = len(cls.OPERANDS) - 1
        return {**dict(zip(cls.OPERANDS, operands[:fixed], strict=False)), cls.OPERANDS[-1]: list(operands[fixed:])}

    @classmethod
    def infer_all(
        cls,
        operands: Sequence[TensorSpec],
        values: Mapping[str, Any],
        regions: Sequence[Region],
        declared: Sequence[TensorSpec] | None,
    ) -> Sequence[TensorSpec]:
        """The results of well-formed operands, properties and regions, or the coded error that says what is wrong."""
        cls.check_dtypes(operands, values)
        return cls.infer(operands, values)

    @classmethod
    def check_dtypes(cls, operands: Sequence[TensorSpec], values: Mapping[str, Any]) -> None:
        """Raise E2005 for a dtype that the op does not take, E2004 for operands that should have one dtype."""
        by_name = cls.roles([spec.dtype for spec in operands])
        every: list[Any] = by_name.pop(cls.OPERANDS[-1]) if cls.VARIADIC else []
        properties = {name: v for name, v in values.items() if isinstance(v, PtirDType)}
        check_legal(row_key(cls.name, values.get("kind")), {**by_name, **properties})
        first = by_name[cls.SAME_DTYPE[0]] if cls.SAME_DTYPE else None
        for name in cls.SAME_DTYPE[1:]:
            if by_name[name] is not first and first is not None:
                raise mixed(f"{cls.SAME_DTYPE[0]} and {name}", first, by_name[name], cls.MIXED_CATEGORY)
        for name in cls.SCALARS:
            if (dtype := values[name].spec[0]) is not operands[0].dtype:
                raise mixed(f"{cls.OPERANDS[0]} and {name}", operands[0].dtype, dtype)
        for dtype in every:
            check_legal(row_key(cls.name, None), {cls.OPERANDS[-1]: dtype})

    @classmethod
    def infer(cls, operands: Sequence[TensorSpec], values: Mapping[str, Any]) -> Sequence[TensorSpec]:
        """The results, given operands and properties of legal dtypes: one of the rule's shape and `result_dtype`."""
        shape = cls.infer_shape([spec.shape for spec in operands], values)
        return [TensorSpec(cls.result_dtype([spec.dtype for spec in operands], values), shape)]

    @classmethod
    def infer_shape(cls, operands: Sequence[Dims], values: Mapping[str, Any]) -> Dims:
        """Return the shape of each result by the op's rule, or raise its coded error."""
        taken = values if cls.RULE_TAKES is None else {name: values[name] for name in cls.RULE_TAKES}
        return cls.RULE(*operands, **taken)

    @classmethod
    def result_dtype(cls, dtypes: Sequence[PtirDType], values: Mapping[str, Any]) -> PtirDType:
        """The dtype of the only result."""
        return dtypes[0]

    def operand_spec(self, i: int) -> TensorSpec:
        """The dtype and dimensions of operand `i`."""
        return read_type(self.operands[i].type)

    def result_spec(self, i: int = 0) -> TensorSpec:
        """The dtype and dimensions of result `i`."""
        return read_type(self.results[i].type)

    def stated_dims(self) -> dict[str, Dims]:
        """The properties that are dimensions, not all of them sizes; one that is a single dimension is a list of one."""
        found: dict[str, Dims] = {}
        for name, codec in self.CODECS.items():
            if codec is DIMS and not is_array(attribute := self.properties[name]):
                found[name] = DIMS.value(attribute)
            elif codec is DIM and isinstance(dim := DIM.value(self.properties[name]), str):
                found[name] = (dim,)
        return found

    def is_speculatable(self) -> bool:
        """As of any op, where all sizes are static or all shapes are one: otherwise the run checks sizes, which may fail."""
        shapes = {read_type(v.type).shape for v in (*self.operands, *self.results)}
        shapes |= set(self.stated_dims().values())
        sizes = {n for shape in shapes for n in shape}
        checked = UNKNOWN in sizes or (len(shapes) > 1 and not all(isinstance(n, int) for n in sizes))
        return not checked and not self.can_fail()

    def check_rules(self, profile: Profile = Profile.CORE_V1) -> None:
        """Every rule of the contract for this op, in the fixed order; raises the coded error of the first one broken."""
        self.check_arity(len(self.operands), len(self.results), len(self.regions))
        if self.successors:
            raise error("E4000", "has successors, expected none", given="successors", expected="none")
        if self.attributes:
            self.check_discardable()
        values = self.values()
        operands = [read_type(v.type) for v in self.operands]
        declared = [read_type(v.type) for v in self.results]
        with under(self.facts):
            check_declared(declared, self.infer_all(operands, values, self.regions, declared))

    def facts(self) -> Facts:
        """Return the facts about sizes that hold throughout the function around the op."""
        return facts_around(self)


class OneResultOp(PtirOp, ABC):
    """A pure op with one result."""

    result = result_def(TENSOR)
    traits = traits_def(NoMemoryEffect())


def check_declared(declared: Sequence[TensorSpec], inferred: Sequence[TensorSpec]) -> None:
    """
    Raise E4015 unless declared results are the inferred ones, but for what a type says otherwise of expressions, or more.

    An unknown dimension may be declared to have a size or name. So may one that is an expression, unless it cannot be that; it
    may be declared unknown too. Names that the facts of the function make equal may stand for each other. The run checks what is
    declared and not known.
    """
    if len(declared) != len(inferred):
        message = f"expects {len(inferred)} results, found {len(declared)}"
        raise error("E2007", message, expected=len(inferred), actual=len(declared))
    for i, (given, found) in enumerate(zip(declared, inferred, strict=True)):
        if given == found:
            continue
        fits = given.dtype is found.dtype and len(given.shape) == len(found.shape)
        if not fits or not all(_may_declare(m, n) for m, n in zip(given.shape, found.shape, strict=True)):
            which = f" {i}" if len(declared) > 1 else ""
            shown, expected = str(tensor_type(*given)), str(tensor_type(*found))
            raise error("E4015", f"declared result{which} {shown}, inferred {expected}", declared=shown, inferred=expected)


def _may_declare(declared: Dim, inferred: Dim) -> bool:
    """Return whether a type may declare a dimension as `declared` where the rule infers `inferred`."""
    if declared == inferred or inferred == UNKNOWN:
        return True
    equal = are_equal(declared, inferred)
    return equal is True or (is_expression(inferred) and equal is not False)
