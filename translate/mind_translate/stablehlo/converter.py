"""
The walk over a StableHLO program: functions, blocks, ops by the tables of rows, and all that is refused in one error.

Regions of StableHLO see the values around them, those of PTIR their arguments only, so what a region captures becomes an operand.
Bodies of reductions are functions of scalars; `vectorized` runs one on whole arrays, element by element.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Protocol

from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from mind_dialect.errors import MindError, brief, error
from mind_dialect.ptir.types import TensorSpec, tensor_type
from mind_dialect.ptir_shapes import UNKNOWN, Dims

from ..landing import Lander
from ..unsupported import Refused, Unsupported
from .foreign import ForeignOp, landed_spec, name_of
from .sizes import Sizes
from .torch_symbols import TORCH_SYMBOLS

Values = Sequence[SSAValue]
Env = dict[SSAValue, SSAValue]


class StablehloRow(Protocol):
    """Emits the ops of one foreign op; its results are those of the op, in order."""

    def __call__(self, to: StablehloConverter, op: ForeignOp, /) -> SSAValue | Values: ...


Table = Mapping[str, StablehloRow | Refused]
Counts = Mapping[str, tuple[int, int | None]]
"""Numbers of operands that ops take: least and most."""
RETURNS = ("stablehlo.return", "func.return", "sdy.return")
MAY_HAVE_NO_RESULT = frozenset(
    {
        *("func.call", "stablehlo.case", "stablehlo.composite", "stablehlo.custom_call", "stablehlo.if", "stablehlo.while"),
        *("stablehlo.optimization_barrier", "sdy.named_computation", "sdy.sharding_group"),
        *("enzyme.autodiff", "enzyme.fwddiff"),
    }
)
MAX_CALL_DEPTH = 100
"""Bodies of reductions may call functions this deep."""


class StablehloConverter(Lander):
    """
    Converts functions.

    `table` has a row or a reason for every op, `counts` how many operands it takes, `pointwise` names the ops that work element
    by element.
    """

    def __init__(self, table: Table, counts: Counts, pointwise: frozenset[str], functions: Mapping[str, FuncOp]):
        super().__init__()
        self.table, self.counts, self.pointwise, self.functions = table, counts, pointwise, functions
        self.env: Env = {}
        self.unsupported = Unsupported()
        self.op: Operation | None = None
        self.sizes = Sizes()
        self.quotients: dict[str, str] = {}
        """The functions by which the module computes quotients of sizes."""
        self._calls = 0

    # Types

    def spec_of(self, value: SSAValue) -> TensorSpec:
        """The type that a foreign value has in PTIR. Raises `Refused`."""
        return landed_spec(value.type)

    def stand_in(self, value: SSAValue) -> None:
        """Bind a value that could not be computed, so that the walk can go on; without a type of PTIR it stays unbound."""
        try:
            dtype, shape = self.spec_of(value)
        except Refused:
            return
        self.env[value] = Block(arg_types=[tensor_type(dtype, shape)]).args[0]

    # Blocks and ops

    def run_block(self, block: Block) -> list[SSAValue]:
        """Convert the ops of a block; the results are the operands of its terminator."""
        for op in block.ops:
            if name_of(op) in RETURNS:
                self.op, self.location = op, op.location
                return [self.env.get(v) or self._missing(v) for v in op.operands]
            self.convert(op)
        raise error("E4016", "a block without stablehlo.return", issue="a block without a terminator", operation=self.op)

    def run_ops(self, block: Block, skipped: Container[Operation]) -> None:
        """Convert the ops of a block, but for some and for its terminator."""
        for op in block.ops:
            if op not in skipped and name_of(op) not in RETURNS:
                self.convert(op)

    def _missing(self, value: SSAValue) -> SSAValue:
        raise Refused(f"a value of type {brief(value.type)}", "PTIR has tensors only")

    def convert(self, op: Operation) -> None:
        """Convert one op and bind its results; what has no form is counted and stood in for."""
        if name_of(op) in TORCH_SYMBOLS:
            return
        self.op, self.location, self.sizes.op = op, op.location, op
        try:
            made = self._made(op)
        except Refused as refused:
            self.unsupported.add(name_of(op), refused, op)
            made = self._stood_in(op)
        except MindError as e:
            if not self.unsupported.kinds:
                raise e if e.op is not None else e.at(op, name_of(op)) from None
            made = self._stood_in(op)  # it may follow from a stand-in, which knows less
        except VerifyException as e:  # an attribute of xDSL's own that does not fit
            raise error("E4016", brief(str(e)), issue=str(e)).at(op, name_of(op)) from None
        for result, value in zip(op.results, made, strict=False):  # fewer where a type is refused
            self.env[result] = value
            if value.name_hint is None and result.name_hint is not None:
                value.name_hint = result.name_hint

    def _stood_in(self, op: Operation) -> Values:
        """Stand-ins for the results of an op, as many as have types of PTIR."""
        for result in op.results:
            self.stand_in(result)
        return [self.env[v] for v in op.results if v in self.env]

    def _made(self, op: Operation) -> Values:
        name = name_of(op)
        row = self.table.get(name)
        if row is None:
            raise Refused(f"an op of the dialect {brief(name.partition('.')[0])}", "only StableHLO, CHLO and func are converted")
        if isinstance(row, Refused):
            raise row
        if any(v not in self.env for v in op.operands):  # what gave it is counted already
            return self._stood_in(op)
        self.check_count(name, op)
        operands = [self.env[v] for v in op.operands]
        if name in self.pointwise:
            self.sizes.same_shapes([shape for shape in map(self.shape, operands) if shape])
        foreign = ForeignOp(op, operands, [self.spec_of(v) for v in op.results])
        try:
            return self.checked(foreign, row(self, foreign))
        except MindError as e:
            if e.code == "E2005":  # PTIR has the op, but not for this dtype
                raise Refused(e.message) from None
            raise

    def check_count(self, name: str, op: Operation) -> None:
        """Raise E2007 unless an op has as many operands as it takes, and a result if it computes one."""
        least, most = self.counts[name]
        given = len(op.operands)
        if given < least or (most is not None and given > most):
            expected = str(least) if most == least else f"at least {least}"
            raise error("E2007", f"has {given} operands, expected {expected}", expected=expected, actual=given)
        if not op.results and name not in MAY_HAVE_NO_RESULT:
            raise error("E2007", "has no result, expected at least 1", expected=1, actual=0)

    def checked(self, op: ForeignOp, made: SSAValue | Values) -> Values:
        """The results of a row; E4015 unless they have the types that the program states."""
        values = [made] if isinstance(made, SSAValue) else list(made)
        if len(values) != len(op.results):
            message = f"has {len(op.results)} results, computed {len(values)}"
            raise error("E2007", message, expected=len(values), actual=len(op.results))
        for value, stated in zip(values, op.results, strict=True):
            if (found := self.spec(value)) != stated and not _fits(found, stated):
                declared, inferred = str(tensor_type(*stated)), str(tensor_type(*found))
                raise error("E4015", f"states {declared}, gives {inferred}", declared=declared, inferred=inferred)
        return values

    def apply(self, name: str, operands: Values, results: Sequence[TensorSpec], op: ForeignOp) -> Values:
        """The row of another op, with the attributes of `op`."""
        row = self.table[name]
        if isinstance(row, Refused):
            raise row
        other = ForeignOp(op.op, operands, results)
        other.name = name
        made = row(self, other)
        return [made] if isinstance(made, SSAValue) else made

    # Regions

    def captures(self, regions: Iterable[Region]) -> list[SSAValue]:
        """The values from outside that the ops of regions use, in the order of their first use."""
        inside: set[SSAValue] = set()
        found: dict[SSAValue, None] = {}
        stack: list[Operation] = []
        for region in reversed(list(regions)):
            stack.extend(_ops_backwards(region, inside))
        while stack:
            op = stack.pop()
            for value in op.operands:
                if value not in inside:
                    found[value] = None
            inside.update(op.results)
            for region in reversed(op.regions):
                stack.extend(_ops_backwards(region, inside))
        return [value for value in found if value not in inside]

    def landed_region(
        self, block: Block, arguments: Values, bound: Sequence[SSAValue], after: Callable[[Values, Values], Values]
    ) -> Region:
        """
        The region of a foreign block: its arguments and the `bound` values are the new block's arguments.

        The former have the types of `arguments`. `after` gives what is yielded, from the block's results and all arguments.
        """
        outer = self.env
        names = [*block.args, *bound]

        def body(landed: Sequence[SSAValue]) -> Sequence[SSAValue]:
            self.env = {**outer, **dict(zip(names, landed, strict=True))}
            for value in bound:
                self.sizes.captured(outer[value], self.env[value])
            return after(self.run_block(block), landed)

        _check_count(block, arguments)
        types = [v.type for v in arguments] + [outer[v].type for v in bound]
        try:
            return self.region(types, body)
        finally:
            self.env = outer

    # Bodies on whole arrays

    def vectorized(self, block: Block, arguments: Values, shape: Dims, count: int) -> list[SSAValue]:
        """
        Run a body of scalar ops on arrays of `shape`, one for each argument, and return its `count` results.

        Raises `Refused` for what is not pointwise.
        """
        _check_count(block, arguments)
        outer = self.env
        self.env = {**outer, **dict(zip(block.args, arguments, strict=True))}
        try:
            for op in block.ops:
                if name_of(op) in RETURNS:
                    if len(op.operands) != count:
                        message = f"a region returns {len(op.operands)} values, expected {count}"
                        raise error("E8005", message, region=0, expected=count, actual=len(op.operands))
                    return [self.broadcast(self.env[v], shape) for v in op.operands]
                operands = [self.broadcast(self.env[v], shape) for v in op.operands]
                self.env.update(zip(op.results, self._pointwise(op, operands, shape), strict=True))
        finally:
            self.env = outer
        raise error("E8005", "a body without stablehlo.return", region=0, expected="stablehlo.return", actual="no terminator")

    def computed(self, block: Block, arguments: Values, shape: Dims, wanted: Values) -> list[SSAValue]:
        """As `vectorized`, but return values of the body, which it computes by its first ops."""
        _check_count(block, arguments)
        outer = self.env
        self.env = {**outer, **dict(zip(block.args, arguments, strict=True))}
        try:
            for op in block.ops:
                if all(v in self.env for v in wanted):
                    break
                operands = [self.broadcast(self.env[v], shape) for v in op.operands]
                self.env.update(zip(op.results, self._pointwise(op, operands, shape), strict=True))
            return [self.env[v] for v in wanted]
        finally:
            self.env = outer

    def _pointwise(self, op: Operation, operands: Values, shape: Dims) -> Values:
        name = name_of(op)
        if isinstance(op, CallOp):
            return self._called(op, operands, shape)
        if name not in self.table or isinstance(self.table[name], Refused):
            self._row(name)
        specs = [self.spec_of(v) for v in op.results]
        if any(spec.shape != () for spec in specs):
            raise Refused(f"a body that computes arrays, in {name}")
        if name == "stablehlo.constant":
            made = self.checked(foreign := ForeignOp(op, [], specs), self._row(name)(self, foreign))
            return [self.broadcast(v, shape) for v in made]
        self.check_count(name, op)
        if name in ("stablehlo.reshape", "stablehlo.broadcast_in_dim", "stablehlo.transpose"):
            return operands
        if name not in self.pointwise:
            raise Refused(f"a body with {name}", "bodies of reductions, sorts and scatters must be elementwise ops")
        foreign = ForeignOp(op, operands, [TensorSpec(spec.dtype, shape) for spec in specs])
        return self.checked(foreign, self._row(name)(self, foreign))

    def _row(self, name: str) -> StablehloRow:
        row = self.table.get(name, Refused(f"a body with {brief(name)}"))
        if isinstance(row, Refused):
            raise row
        return row

    def inlined(self, name: str, operands: Values) -> Values:
        """The ops of a function in the place of its call. Raises `Refused` for calls nested too deeply."""
        block = self.callee(name).body.block
        outer = self.env
        self._calls += 1
        try:
            if self._calls > MAX_CALL_DEPTH or len(block.args) != len(operands):
                raise Refused(f"calls nested deeper than {MAX_CALL_DEPTH}")
            self.env = dict(zip(block.args, operands, strict=True))
            return self.run_block(block)
        finally:
            self.env = outer
            self._calls -= 1

    def _called(self, op: CallOp, operands: Values, shape: Dims) -> Values:
        self._calls += 1
        try:
            if self._calls > MAX_CALL_DEPTH:
                raise Refused(f"calls nested deeper than {MAX_CALL_DEPTH}")
            return self.vectorized(self.callee(op.callee.root_reference.data).body.block, operands, shape, len(op.results))
        finally:
            self._calls -= 1

    def callee(self, name: str) -> FuncOp:
        """A function of the module; E2002 for a name that none has."""
        func = self.functions.get(name)
        if func is None or len(func.body.blocks) != 1:
            raise error("E2002", f"@{brief(name)} is not a function with a body of one block", name=name)
        return func


def _check_count(block: Block, arguments: Values) -> None:
    """Raise E8005 unless a block takes as many values as it is given."""
    if len(block.args) != len(arguments):
        message = f"a region takes {len(block.args)} values, expected {len(arguments)}"
        raise error("E8005", message, region=0, expected=len(arguments), actual=len(block.args))


def _fits(found: TensorSpec, stated: TensorSpec) -> bool:
    """Return whether a result has the stated type but for dimensions that one of the two does not know."""
    same_kind = found.dtype is stated.dtype and len(found.shape) == len(stated.shape)
    return same_kind and all(UNKNOWN in (m, n) or m == n for m, n in zip(found.shape, stated.shape, strict=True))


def _ops_backwards(region: Region, inside: set[SSAValue]) -> list[Operation]:
    """The ops of a region, last first; the arguments of its blocks are inside."""
    ops: list[Operation] = []
    for block in region.blocks:
        inside.update(block.args)
        ops.extend(block.ops)
    return ops[::-1]
