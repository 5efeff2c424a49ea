"""
From records to the dialect: tuples flattened, regions put where they are used, every op checked as it is made.

A region that several ops use is copied. Which region uses which is looked at before anything is made, so that neither a cycle nor
regions that double at every step cost more than a message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import LocationAttr, ModuleOp, StringAttr, SymbolRefAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from mind_dialect.declared_dims import state_declarations, undeclarable
from mind_dialect.errors import MindError, error
from mind_dialect.names import note_names
from mind_dialect.ptir import ConstantOp, YieldOp
from mind_dialect.ptir.attributes import scalar
from mind_dialect.ptir.literal import PtirLiteralAttr
from mind_dialect.ptir.types import TensorSpec, read_type, tensor_type
from mind_dialect.ptir_program import ENTRY_ATTRIBUTE, SPEC_VERSION, VERSION_ATTRIBUTE

from .records import FunctionRecord, Instruction, Program, RegionRecord
from .rows import check_stated_dims
from .tensor_kinds import named, shown_type
from .value_types import TupleType, ValueType, leaves

HINTS_ATTRIBUTE = "ptir.hints"
"""The attribute of a function that keeps the fusion hints of the text it was read from."""
MAX_NESTING = 100
MAX_INSTRUCTIONS = 1 << 20
"""Most instructions that the copies of regions may come to."""

Fail = Callable[[Any, Sequence[str | int], MindError], Exception]
"""From a record's place, the way to one of its parts, and an error: what to raise."""
Locate = Callable[[Any], LocationAttr | None]


def to_module(
    program: Program, fail: Fail, *, strict: bool = False, extended: bool = False, locate: Locate | None = None
) -> ModuleOp:
    """
    The module of a program; what its records get wrong is raised by `fail`.

    `locate` gives the location of an op from its record's place. With `strict` ops that the public form lacks are refused;
    unless `extended`, so are expressions of names, names as bounds and declarations of sizes.
    """
    return _ProgramImporter(program, fail, strict, extended and not strict, locate).module()


class _ProgramImporter:
    def __init__(self, program: Program, fail: Fail, strict: bool, extended: bool, locate: Locate | None):
        self.program, self.fail, self.strict, self.locate = program, fail, strict, locate
        self.extended = extended
        self.types: dict[TensorSpec, TensorType] = {}
        self.regions: dict[int, RegionRecord] = {}
        self.made: dict[int, Region] = {}
        self.taken: set[int] = set()

    def module(self) -> ModuleOp:
        """The whole program."""
        for region in self.program.regions:
            if region.id in self.regions:
                err = error("E4002", f"region {region.id} is defined again", value=region.id)
                raise self.fail(region.place, ("id",), err)
            self.regions[region.id] = region
        for number in self._ordered():
            self._make(self.regions[number])
        functions: dict[str, FuncOp] = {}
        for record in self.program.functions:
            if record.name in functions:
                err = error("E4002", f"function {record.name[:80]!r} is defined again", value=record.name)
                raise self.fail(record.place, ("name",), err)
            functions[record.name] = self._function(record)
        entry = self.program.entry
        if entry not in functions:
            names = [name[:80] for name in list(functions)[:20]]
            err = error("E2002", f"the entry {entry[:80]!r} is not a function, expected one of {names}", name=entry)
            raise self.fail(self.program.place, ("entry",), err)
        module = ModuleOp(list(functions.values()))
        module.attributes[VERSION_ATTRIBUTE] = StringAttr(SPEC_VERSION)
        if len(functions) > 1:
            module.attributes[ENTRY_ATTRIBUTE] = SymbolRefAttr(entry)
        return module

    # Regions

    def _ordered(self) -> list[int]:
        """The numbers of all regions, each after those it uses; E8005 for a cycle, E1007 for too much of it."""
        order: dict[int, tuple[int, int]] = {}  # how deep and how large
        open_: dict[int, None] = {}
        for root in self.regions:
            stack = [(root, False)]
            while stack:
                number, done = stack.pop()
                if done:
                    order[number] = self._extent(number, order)
                    del open_[number]
                elif number not in order:
                    open_[number] = None
                    stack.append((number, True))
                    stack.extend((used, False) for used in self._used(number, order, open_))
        calls = (order[n][1] for f in self.program.functions for i in f.body for n in i.regions if n in order)
        total = sum(calls) + sum(size for _, size in order.values())
        if total > MAX_INSTRUCTIONS:
            message = f"regions expand to {total} instructions where they are used, expected at most {MAX_INSTRUCTIONS}"
            raise self.fail(self.program.place, ("regions",), error("E1007", message))
        return list(order)

    def _used(self, number: int, order: Mapping[int, Any], open_: Mapping[int, None]) -> list[int]:
        found: dict[int, None] = {}
        for instruction in self.regions[number].body:
            for used in instruction.regions:
                self._defined(instruction, used)
                if used in open_:
                    way = " -> ".join(map(str, [*list(open_)[list(open_).index(used) :], used]))
                    message = f"region {used} calls itself: {way if len(way) < 100 else way[:100] + '...'}"
                    err = error("E8005", message, region=used, expected="regions that end", actual="a cycle")
                    raise self.fail(instruction.place, ("op",), err)
                if used not in order:
                    found[used] = None
        return list(found)

    def _extent(self, number: int, order: Mapping[int, tuple[int, int]]) -> tuple[int, int]:
        record = self.regions[number]
        inner = [order[used] for i in record.body for used in i.regions]
        depth = 1 + max((d for d, _ in inner), default=0)
        size = len(record.body) + sum(s for _, s in inner)
        if depth > MAX_NESTING or size > MAX_INSTRUCTIONS:
            message = f"region {number} is {depth} deep and expands to {size} instructions"
            limits = f"expected at most {MAX_NESTING} and {MAX_INSTRUCTIONS}"
            raise self.fail(record.place, (), error("E1007", f"{message}, {limits}"))
        return depth, size

    def _defined(self, instruction: Instruction, number: int) -> None:
        if number not in self.regions:
            err = error("E2002", f"region {number} is not defined", name=number)
            raise self.fail(instruction.place, ("op",), err)

    def _make(self, record: RegionRecord) -> None:
        scope = _ImportScope(self, record.parameters, range(len(record.parameters)), record.body, record.place)
        last = record.body[len(record.body) - len(record.results) :] if record.results else ()
        if len(last) != len(record.results):
            message = f"{len(record.results)} results of {len(record.body)} instructions, expected the last ones"
            expected, actual = len(record.results), len(record.body)
            err = error("E8005", message, region=record.id, expected=expected, actual=actual)
            raise self.fail(record.place, ("results",), err)
        values: list[SSAValue] = []
        for i, (instruction, type) in enumerate(zip(last, record.results, strict=True)):
            scope.check_result(("results", i), instruction.output, type)
            values += scope.values[instruction.id][1]
        scope.block.add_op(YieldOp.create(operands=values))
        self.made[record.id] = Region(scope.block)

    def region(self, instruction: Instruction, number: int) -> Region:
        """A region to put into an op: the made one the first time, then copies."""
        self._defined(instruction, number)
        if number in self.taken:
            return self.made[number].clone()
        self.taken.add(number)
        return self.made[number]

    # Functions

    def _function(self, record: FunctionRecord) -> FuncOp:
        if not record.name:
            raise self.fail(record.place, ("name",), error("E4000", "a function has an empty name", given="", expected="a name"))
        for what, ids, types in (
            ("parameter", record.parameter_ids, record.parameters),
            ("result", record.result_ids, record.results),
        ):
            if len(ids) != len(types):
                message = f"{len(ids)} ids for {len(types)} {what}s, expected equal numbers"
                err = error("E2007", message, expected=len(types), actual=len(ids))
                raise self.fail(record.place, (f"{what}_ids",), err)
        scope = _ImportScope(self, record.parameters, record.parameter_ids, record.body, record.place)
        outputs: list[SSAValue] = []
        for i, (number, type) in enumerate(zip(record.result_ids, record.results, strict=True)):
            if (found := scope.values.get(number)) is None:
                err = error("E4003", f"result {i} is %{number}, which is not defined", index=i, value=number)
                raise self.fail(record.place, ("result_ids", i), err)
            scope.check_result(("results", i), found[0], type)
            outputs += found[1]
        scope.block.add_op(ReturnOp(*outputs))
        types = ([v.type for v in scope.block.args], [v.type for v in outputs])
        func = FuncOp(record.name, types, Region(scope.block))
        if record.dims:
            self._declare(func, record)
        if record.hints is not None:
            func.attributes[HINTS_ATTRIBUTE] = StringAttr(record.hints)
        if self.locate is not None and (location := self.locate(record.place)) is not None:
            func.location = location
        return func

    def _declare(self, func: FuncOp, record: FunctionRecord) -> None:
        """Let a function declare what its record says of sizes; the verifier's error where that is wrong."""
        try:
            if not self.extended:
                message = "declares sizes, which this form cannot express"
                raise error("E4000", message, given="dims", expected="no declarations")
            state_declarations(func, record.dims)
            for wrong in undeclarable(func):
                raise wrong
        except MindError as e:
            raise self.fail(record.place, ("dims",), MindError(e.code, e.message, e.context, None, e.category)) from None

    def check_dims(self, specs: Sequence[TensorSpec], place: Any, keys: Sequence[str | int]) -> None:
        """Raise E4000 for an expression of names in a type, unless the form is the extended one."""
        if self.extended:
            return
        try:
            for dim in [dim for spec in specs for dim in spec.shape if isinstance(dim, str)]:
                named(dim)
        except MindError as e:
            raise self.fail(place, keys, e) from None

    def type(self, spec: TensorSpec) -> Attribute:
        """The builtin type, one object for all its uses."""
        if (found := self.types.get(spec)) is None:
            found = self.types[spec] = tensor_type(*spec)
        return found


class _ImportScope:
    """One block in the making, and its values by number: the type of each and the tensors it consists of."""

    def __init__(
        self,
        importer: _ProgramImporter,
        parameters: Sequence[ValueType],
        ids: Sequence[int],
        body: Sequence[Instruction],
        place: Any,
    ):
        self.importer, self.body, self.place = importer, body, place
        self.values: dict[int, tuple[ValueType, list[SSAValue]]] = {}
        self.block = Block(arg_types=[importer.type(t) for p in parameters for t in leaves(p)])
        importer.check_dims([t for p in parameters for t in leaves(p)], place, ("parameters",))
        position = 0
        for i, (number, type) in enumerate(zip(ids, parameters, strict=True)):
            if number in self.values:
                raise importer.fail(place, ("parameter_ids", i), error("E4002", f"%{number} is defined again", value=number))
            count = len(leaves(type))
            self.values[number] = type, list(self.block.args[position : position + count])
            position += count
        self.ops: list[Operation] = []
        for instruction in body:
            self._add(instruction)
        self.block.add_ops(self.ops)

    def _add(self, instruction: Instruction) -> None:
        importer, row, number = self.importer, instruction.row, instruction.id
        cls = row.op
        if number in self.values:
            raise importer.fail(instruction.place, ("id",), error("E4002", f"%{number} is defined again", value=number))
        operands: list[SSAValue] = []
        for i, operand in enumerate(instruction.operands):
            if type(operand) is int and (found := self.values.get(operand)) is not None:
                operands += found[1]
            else:
                operands += self._operand(instruction, i)
        specs = [instruction.output] if isinstance(instruction.output, TensorSpec) else leaves(instruction.output)
        regions = [importer.region(instruction, r) for r in instruction.regions]
        try:
            properties = {k: v for k, v in instruction.values.items() if k in cls.CODECS}
            for name in cls.SCALARS:
                if operands:
                    properties[name] = scalar(read_type(operands[0].type).dtype, properties[name])
            stored = cls.store_properties(properties)
            types = [importer.type(s) for s in specs]
            op = cls.create(operands=operands, properties=stored, result_types=types, regions=regions)
            op.check_rules()
            if not importer.extended:
                check_stated_dims(op, row)
        except MindError as e:
            named = MindError(e.code, f"{cls.OPCODE}: {e.message}", {"op": cls.OPCODE, **e.context}, None, e.category)
            raise importer.fail(instruction.place, (), named) from None
        if importer.strict and (given := op.extension) is not None:
            err = error("E4000", f"{given} is an extension, refused by strict", given=given, expected="an op of the contract")
            raise importer.fail(instruction.place, ("op",), err)
        if importer.locate is not None and (location := importer.locate(instruction.place)) is not None:
            op.location = location
            note_names(location, [str(instruction.id)])
        importer.check_dims(specs, instruction.place, ("output",))
        self.ops.append(op)
        self.values[number] = instruction.output, list(op.results)

    def _operand(self, instruction: Instruction, i: int) -> list[SSAValue]:
        """The tensors of an operand that is not simply a value defined before."""
        operand, fail = instruction.operands[i], self.importer.fail
        if isinstance(operand, PtirLiteralAttr):
            constant = ConstantOp(operand)
            self.ops.append(constant)
            return [constant.results[0]]
        number, index = operand if isinstance(operand, tuple) else (operand, None)
        if (found := self.values.get(number)) is None:
            later = any(other.id == number for other in self.body)
            which = "before its definition" if later else "which is not defined here"
            err = error("E4001", f"operand {i} is %{number}, {which}", operand=i)
            raise fail(instruction.place, ("operands", i), err)
        type, values = found
        assert index is not None, "a defined value is found by the caller"
        if not isinstance(type, TupleType) or not index < len(type.elements):
            given = f"a tuple of {len(type.elements)}" if isinstance(type, TupleType) else "no tuple"
            err = error("E2001", f"element {index} of %{number}, which is {given}", expected="a tuple", actual=given)
            raise fail(instruction.place, ("operands", i), err)
        start = sum(len(leaves(t)) for t in type.elements[:index])
        return values[start : start + len(leaves(type.elements[index]))]

    def check_result(self, keys: Sequence[str | int], found: ValueType, declared: ValueType) -> None:
        """Raise E4015 unless a result has the type it is declared with."""
        if found != declared:
            shown, expected = shown_type(declared), shown_type(found)
            message = f"declared {shown}, the value is {expected}"
            raise self.importer.fail(self.place, keys, error("E4015", message, declared=shown, inferred=expected))
