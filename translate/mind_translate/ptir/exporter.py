"""From the dialect to records: values numbered, results of one op gathered in a tuple, regions laid beside the functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from mind_dialect.declared_dims import DECLARED, declarations_of
from mind_dialect.dominance import walk
from mind_dialect.errors import MindError, error
from mind_dialect.ptir import ClampOp, FusionOp, LayerNormOp, PtirOp, ReshapeOp, YieldOp
from mind_dialect.ptir.types import TensorSpec, read_type
from mind_dialect.ptir_program import check_states_version, stated_entry

from .decompose import decompose, inline_fusions
from .records import FunctionRecord, Instruction, Operand, Program, RegionRecord
from .rows import ROW_OF, check_stated_dims, normalised, row_of
from .tensor_kinds import named
from .value_types import TupleType, ValueType


def to_program(module: ModuleOp, *, strict: bool = False, lenient: bool = False, extended: bool = False) -> Program:
    """
    The records of a module of functions of ptir ops.

    Each op is checked; the error names it. E8006 for a module that states no version (unless `lenient`) or another, E8001 for a
    dynamic dimension without a name, E4000 for ops of other dialects, and with `strict` for what the public form lacks. Fusions
    are replaced by their ops then. Unless `extended`, E4000 for expressions of names, names as bounds and declarations of sizes
    too, none of which the contract's forms have. Names and attributes that have no place in the form are left out.
    """
    check_states_version(module, lenient=lenient)
    if any(isinstance(op, LayerNormOp | ClampOp) or (strict and isinstance(op, FusionOp)) for op in walk(module)):
        for op in walk(module):
            if isinstance(op, PtirOp):
                op.check()
        module = module.clone()
        decompose(module)
        if strict:
            inline_fusions(module)
    return _Exporter(strict, extended and not strict).program(module)


def entry_of(module: ModuleOp, names: Sequence[str]) -> str:
    """The entry of a module of functions of these names: the one it states, else `main`, else the first."""
    return stated_entry(module, names) or ("main" if "main" in names else names[0])


class _Exporter:
    """State of the export of a whole program: the regions met so far."""

    def __init__(self, strict: bool, extended: bool):
        self.strict, self.extended = strict, extended
        self.blocks: list[Block] = []

    def program(self, module: ModuleOp) -> Program:
        functions = [self._function(op) for op in _functions(module)]
        regions: list[RegionRecord] = []
        while len(regions) < len(self.blocks):  # reading a region may add more
            regions.append(self._region(len(regions)))
        return Program(entry_of(module, [f.name for f in functions]), functions, regions)

    def _function(self, func: FuncOp) -> FunctionRecord:
        last = func.body.block.last_op if len(func.body.blocks) == 1 else None
        name = func.sym_name.data
        if not isinstance(last, ReturnOp):
            message = f"@{name} is not one block that ends in func.return"
            raise error("E4000", message, operation=func, given=f"{len(func.body.blocks)} blocks", expected="one block")
        declared = tuple(found.text for found in declarations_of(func))
        if declared and not self.extended:
            message = f"@{name} declares sizes in {DECLARED}, which this form cannot express"
            raise error("E4000", message, operation=func, given=DECLARED, expected="no declarations")
        scope = _ExportScope(self, func.body.block)
        results = [scope.whole(values) for values in _gathered(last.operands)]
        arguments = [self.specified(func, v) for v in func.body.block.args]
        types = [t for _, t in results]
        ids = [i for i, _ in results]
        return FunctionRecord(name, arguments, range(len(arguments)), types, scope.body, ids, dims=declared)

    def _region(self, number: int) -> RegionRecord:
        block = self.blocks[number]
        parent, last = block.parent_op(), block.last_op
        assert parent is not None
        assert isinstance(last, YieldOp), "checked with the op"
        scope = _ExportScope(self, block)
        groups = list(_gathered(last.operands))
        trailing = [_owner(values) for values in groups]
        ops = list(block.ops)[:-1]
        if groups and (ops[-len(groups) :] != trailing):
            groups = [(v,) for v in last.operands]
            results = [scope.copied(v) for v in last.operands]
        else:
            results = [scope.whole(values) for values in groups]
        return RegionRecord(number, [self.specified(parent, v) for v in block.args], scope.body, [t for _, t in results])

    def specified(self, op: Operation, value: SSAValue) -> TensorSpec:
        """The type of a value, each dimension one that the form can say; errors are attributed to `op`."""
        spec = read_type(value.type)
        for dim in spec.shape:
            if isinstance(dim, str):
                try:
                    named(dim, extended=self.extended)
                except MindError as e:
                    raise e.at(op, op.OPCODE if isinstance(op, PtirOp) else op.name) from None
        return spec


def _functions(module: ModuleOp) -> list[FuncOp]:
    found: list[FuncOp] = []
    for op in module.body.block.ops:
        if not isinstance(op, FuncOp):
            message = f"the module holds {op.name}, expected functions of ptir ops"
            raise error("E4000", message, operation=op, given=op.name, expected="func.func")
        found.append(op)
    if not found:
        raise error("E4000", "the module holds no function, expected at least one", given="nothing", expected="func.func")
    return found


def _owner(values: Sequence[SSAValue]) -> Operation | None:
    """The op whose results `values` are, all of them in order; None if there is none."""
    owner = values[0].owner
    return owner if isinstance(owner, Operation) and tuple(owner.results) == tuple(values) else None


def _gathered(values: Sequence[SSAValue]) -> list[tuple[SSAValue, ...]]:
    """Returned values, each by itself, but all results of one op in order together: they are its tuple."""
    groups: list[tuple[SSAValue, ...]] = []
    i = 0
    while i < len(values):
        owner = values[i].owner
        n = len(owner.results) if isinstance(owner, Operation) else 1
        group = tuple(values[i : i + n])
        if n > 1 and tuple(cast(Operation, owner).results) != group:
            group = (values[i],)
        groups.append(group)
        i += len(group)
    return groups


class _ExportScope:
    """The numbering of one block; ids are places in definition order, an op with several results being one."""

    def __init__(self, exporter: _Exporter, block: Block):
        self.exporter = exporter
        self.ids: dict[SSAValue, Operand] = {v: i for i, v in enumerate(block.args)}
        self.types: dict[SSAValue, TensorSpec] = {}
        self.next = len(block.args)
        self.body: list[Instruction] = []
        for op in block.ops:
            if not isinstance(op, YieldOp | ReturnOp):
                self._add(op)

    def _add(self, op: Operation) -> None:
        if not isinstance(op, PtirOp):
            raise error("E4000", f"{op.name} is not an op of ptir", operation=op, given=op.name, expected="an op of ptir")
        op.check()
        if self.exporter.strict and (given := op.extension) is not None:
            message = f"{given} is an extension, refused by strict"
            raise error("E4000", message, operation=op, given=given, expected="an op of the contract")
        row = ROW_OF.get(type(op)) or row_of(type(op))
        if not self.exporter.extended:
            try:
                check_stated_dims(op, row)
            except MindError as e:
                raise e.at(op, op.OPCODE) from None
        values = normalised(op, op.values(), row)
        for name, region in zip(op.REGION_NAMES, op.regions, strict=True):
            values[name] = len(self.exporter.blocks)
            self.exporter.blocks.append(region.block)
        types = [self.exporter.specified(op, v) for v in op.results]
        output = types[0] if len(types) == 1 else TupleType(tuple(types))
        operands = [self._operand(op, i) for i in range(len(op.operands))]
        self.body.append(Instruction(self.next, row, values, operands, output))
        for i, value in enumerate(op.results):
            self.ids[value] = self.next if len(types) == 1 else (self.next, i)
        self.next += 1

    def _operand(self, op: PtirOp, i: int) -> Operand:
        if (found := self.ids.get(op.operands[i])) is None:
            message = f"{op.OPCODE} uses operand {i} before its definition"
            raise error("E4001", message, operation=op, op=op.OPCODE, operand=i)
        return found

    def whole(self, values: Sequence[SSAValue]) -> tuple[int, ValueType]:
        """The id and type of a value of its own, of a whole tuple, or of a copy of an element of one."""
        if (found := self.ids.get(values[0])) is None:
            raise error("E4001", "a result is used before its definition", operand=0)
        specs = [read_type(v.type) for v in values]
        if isinstance(found, int):
            return found, specs[0]
        if _owner(values) is not None and isinstance(found, tuple):
            return found[0], TupleType(tuple(specs))
        return self.copied(values[0])

    def copied(self, value: SSAValue) -> tuple[int, ValueType]:
        """A new value that is equal to `value`: its reshape to its own shape."""
        if (found := self.ids.get(value)) is None:
            raise error("E4001", "a result is used before its definition", operand=0)
        spec = read_type(value.type)
        self.body.append(Instruction(self.next, ROW_OF[ReshapeOp], {"new_shape": spec.shape}, [found], spec))
        self.next += 1
        return self.next - 1, spec
