"""
A function of the `xp` dialect as readable Python over an array namespace `xp`.

    def loss(x, w):
        v2 = xp.matmul(x, w)  # f32[2, 4]
        v3 = k.relu(v2)  # f32[2, 4]
        del v2
        return v3

Value `v3` is `%3` of the lowered function, where that has no loops. Names from programs are turned into plain identifiers; the
originals stand in a comment, escaped. Branches are `if`, loops are `while` and `for`. Equal programs give equal bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from mind_dialect.errors import MindError, error
from mind_dialect.extents.dims import is_expression, names_in
from mind_dialect.extents.solutions import solutions
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.literals import HEX_ABOVE, nested
from mind_dialect.program import input_names
from mind_dialect.ptir import FusionOp
from mind_dialect.ptir.literal import PtirLiteralAttr
from mind_dialect.ptir.types import Kind, read_type

from ..python_names import PythonNames
from . import CallOp, ExpectOp, FreeOp, ReturnOp, can_free, is_constant
from .arguments import (
    ARRAY_NAMES,
    ITERATIONS,
    SEED,
    check_known,
    dim_name,
    dim_text,
    dtype_text,
    number_text,
    solution_text,
    text,
    tuple_text,
)
from .frees import check_frees
from .liveness import home
from .regions import ConditionOp, ForOp, IfOp, LoopOp, WhileOp, YieldOp


@dataclass(frozen=True)
class PythonSource:
    """A lowered function as Python."""

    name: str
    text: str
    constants: tuple[tuple[str, PtirLiteralAttr], ...]
    """The global names that the text uses, with their values."""
    lines: tuple[int, ...]
    """For each line of the text the number of the op it runs, in the order of a walk, or -1."""
    draws: bool
    """True if it generates random numbers, and so takes a seed."""

    def printed_constants(self) -> str:
        """The constants as Python, one line each."""
        return "".join(f"{name} = {constant_text(literal)}\n" for name, literal in self.constants)


KernelName = Callable[[str, FusionOp], str]
"""Given the name of a function and a fusion in it, the global name of the kernel that it is."""


def python_source(func: FuncOp, scope: PythonNames | None = None, kernel: KernelName | None = None) -> PythonSource:
    """
    The Python of a lowered function; `scope` holds the names at module level, `kernel` says how fusions are called.

    E4000 for ops of other dialects, and for fusions where there is no `kernel`.
    """
    return _Writer(func, scope or PythonNames(), kernel).source()


MAX_LOOPS = 18
"""The greatest nesting depth of loops: Python nests no more than 20."""


class _Writer:
    def __init__(self, func: FuncOp, scope: PythonNames, kernel: KernelName | None):
        self.func = func
        self.block = xp_block(func, fusions=kernel is not None)
        self.kernel = kernel
        self.scope = scope
        self.name = scope.identifier(func.sym_name.data)
        self.names: dict[SSAValue, str] = {}
        self.sizes: set[str] = set()
        self.constants: list[tuple[str, PtirLiteralAttr]] = []
        self.lines: list[str] = []
        self.owners: list[int] = []
        self.types: dict[Attribute, str] = {}
        self.order = {op: i for i, op in enumerate(self.block.walk())}
        self.count = 0
        self.indent = 1
        self.current = -1
        self.iterations: list[str] = []
        self.counting: set[Operation] = set()

    def source(self) -> PythonSource:
        draws = False
        for op in self.order:
            taken = op.values().values() if isinstance(op, CallOp) else ()
            draws |= SEED in taken
            loop = op.parent_op() if ITERATIONS in taken else None
            while loop is not None and loop not in self.counting:
                self.counting.add(loop)
                loop = loop.parent_op()
        self._head(draws)
        self._block(self.block, 0)
        text = "\n".join(self.lines) + "\n"
        return PythonSource(self.name, text, tuple(self.constants), tuple(self.owners), draws)

    def _line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)
        self.owners.append(self.current)

    def _number(self) -> int:
        self.count += 1
        return self.count - 1

    def _name(self, values: Iterable[SSAValue]) -> list[str]:
        """New names for values."""
        for value in values:
            self.names[value] = f"v{self._number()}"
        return [self.names[v] for v in values]

    def _of(self, values: Iterable[SSAValue]) -> list[str]:
        return [self.names[v] for v in values]

    def _head(self, draws: bool) -> None:
        locals = PythonNames()
        originals = input_names(self.func)
        for argument, original in zip(self.block.args, originals, strict=True):
            self.names[argument] = locals.identifier(original)
        self.indent = 0
        parameters = [*self.names.values(), *(["*", "seed=0"] if draws else [])]
        self._line(f"def {self.name}({', '.join(parameters)}):")
        self.indent = 1
        if self.name != self.func.sym_name.data:
            self._line(f"# @{self.func.sym_name.data!a}")
        for argument, original in zip(self.block.args, originals, strict=True):
            name = self.names[argument]
            called = "" if name == original else f", given as {original!a}"
            self._line(f"# {name}: {self._type(argument.type)}{called}")
        self.count = len(self.block.args)

    def _type(self, type: Attribute) -> str:
        if (text := self.types.get(type)) is None:
            text = self.types[type] = str(read_type(type))
        return text

    def _block(self, block: Block, loops: int) -> None:
        """The ops of a block; names of dimensions that get their sizes here are forgotten afterwards."""
        if loops > MAX_LOOPS:
            message = f"loops nested deeper than {MAX_LOOPS} are not supported on numpy, as Python nests 20 at most"
            help = "one loop that counts for two would do, or xDSL's interpreter"
            raise error("E6003", f"{message}; {help}", operation=block.parent_op(), backend="numpy")
        known = set(self.sizes)
        for op in block.ops:
            self.current = self.order[op]
            if isinstance(op, CallOp):
                self._call(op)
            elif isinstance(op, FusionOp) and self.kernel is not None:
                self._launch(op, self.kernel(self.name, op))
            elif isinstance(op, FreeOp):
                self._line(f"del {', '.join(self._of(op.operands))}")
            elif isinstance(op, ExpectOp):
                self._expect(op)
            elif isinstance(op, IfOp):
                self._if(op, loops)
            elif isinstance(op, WhileOp):
                self._while(op, loops + 1)
            elif isinstance(op, ForOp):
                self._for(op, loops + 1)
            elif isinstance(op, ReturnOp):
                self._line(f"return {', '.join(self._of(op.operands))}")
        if block is not self.block:
            self.sizes = known

    def _call(self, op: CallOp) -> None:
        if is_constant(op):
            value = op.values()["value"]
            assert isinstance(value, PtirLiteralAttr)
            name = self.names[op.results[0]] = f"{self.name}_c{self._number()}"  # no other name looks like this, see _RESERVED
            self.constants.append((name, value))
            return
        inputs = self._of(op.operands)
        try:
            inputs += [f"{name}={text(value, self.iterations, self.sizes)}" for name, value in op.values().items()]
        except MindError as e:
            raise e.at(op, op.function) from None
        if (target := op.target) is not None:
            inputs.append(f"out={self.names[target]}")
        call = f"{op.function}({', '.join(inputs)})"
        if op.results:
            results = ", ".join(self._name(op.results))
            call = f"{results} = {call}  # {', '.join(self._type(r.type) for r in op.results)}"
        self._line(call)

    def _launch(self, op: FusionOp, kernel: str) -> None:
        inputs = ", ".join([kernel, *self._of(op.operands)])
        results = ", ".join(self._name(op.results))
        self._line(f"{results} = k.launch({inputs})  # {', '.join(self._type(r.type) for r in op.results)}")

    def _expect(self, op: ExpectOp) -> None:
        """Sizes for new names, then a check of what was known."""
        value, dims = self.names[op.input], op.values()
        known = [self._size(d) for d in dims]
        for i, d in enumerate(dims):
            if isinstance(d, str) and d != "?" and not is_expression(d) and d not in self.sizes:
                self.sizes.add(d)
                self._line(f"{dim_name(d)} = {value}.shape[{i}]")
                known = [k if j == i else self._size(e) for j, (e, k) in enumerate(zip(dims, known, strict=True))]
        for found in solutions([dims], tuple(self.sizes)):
            self.sizes.add(found.name)
            self._line(f"{dim_name(found.name)} = {solution_text(found, f'{value}.shape[{found.axis}]')}")
            known = [self._size(d) for d in dims]
        for d in dims:
            if is_expression(d):
                check_known(str(d), self.sizes)
        given = op.input in self.block.args
        if any(k != "None" and not (given and k.isdecimal()) for k in known):
            self._line(f"k.expect({value}, {dims!a}, {tuple_text(known)})")

    def _size(self, dim: int | str) -> str:
        """A dimension of which the size is known, else None."""
        if isinstance(dim, int):
            return str(dim)
        names = names_in(dim)
        return dim_text(dim) if names and self.sizes.issuperset(names) else "None"

    def _assign(self, targets: Sequence[str], values: Sequence[SSAValue], block: Block | None) -> None:
        """`targets = values`; with a `block`, its values are given up then, as they have other names now."""
        sources = self._of(values)
        if targets and list(targets) != sources:
            self._line(f"{', '.join(targets)} = {', '.join(sources)}")
        if block is not None:
            self._give_up(values, targets, block)

    def _give_up(self, values: Sequence[SSAValue], kept: Sequence[str], block: Block) -> None:
        """Delete the names of those values that `block` defines."""
        gone = dict.fromkeys(self.names[v] for v in values if can_free(v) and home(v) is block)
        if rest := [name for name in gone if name not in kept]:
            self._line(f"del {', '.join(rest)}")

    def _if(self, op: IfOp, loops: int) -> None:
        results = self._name(op.results)
        for word, region in ((f"if {self.names[op.condition]}:", op.then_region), ("else:", op.else_region)):
            block = region.block
            self._line(word)
            self.indent += 1
            before = len(self.lines)
            self._block(block, loops)
            self._assign(results, _ending(block, YieldOp).operands, block)
            if len(self.lines) == before:
                self._line("pass")
            self.indent -= 1
            self.current = self.order[op]

    def _begin(self, op: LoopOp, names: Sequence[str]) -> None:
        self._assign(names, op.initial(), None)
        if taken := [self.names[op.operands[i]] for i in op.taken()]:
            self._line(f"del {', '.join(taken)}")

    def _while(self, op: WhileOp, loops: int) -> None:
        cond, body = op.cond_region.block, op.body_region.block
        condition = _ending(cond, ConditionOp)
        assert isinstance(condition, ConditionOp)
        carried = self._name(cond.args)
        same = tuple(condition.inputs) == tuple(cond.args)
        results = carried if same else self._name(op.results)
        for i, name in enumerate(results):
            self.names[op.results[i]] = self.names[body.args[i]] = name
        self._begin(op, carried)
        iteration = f"i{self._number()}" if op in self.counting else None
        self._line("while True:" if iteration is None else f"for {iteration} in k.iterations():")
        self.iterations += [] if iteration is None else [iteration]
        self.indent += 1
        self._block(cond, loops)
        self._assign(results, condition.inputs, cond)
        self._line(f"if not {self.names[condition.go_on]}:")
        self._line("    break")
        self._block(body, loops)
        self._assign(carried, _ending(body, YieldOp).operands, body)
        self.indent -= 1
        self.iterations = self.iterations if iteration is None else self.iterations[:-1]

    def _for(self, op: ForOp, loops: int) -> None:
        body = op.body_region.block
        count = len(op.inits)
        carried = self._name(body.args[:count])
        for result, name in zip(op.results, carried, strict=True):
            self.names[result] = name
        self._begin(op, carried)
        step = f"i{self._number()}"
        self._line(f"for {step} in k.steps({', '.join(self._of(op.scanned))}):")
        self.iterations.append(step)
        self.indent += 1
        slices = self._name(body.args[count:])
        for name, whole in zip(slices, self._of(op.scanned), strict=True):
            self._line(f"{name} = {whole}[{step}]")
        self._block(body, loops)
        yielded = _ending(body, YieldOp).operands
        for stack, value in zip(self._of(op.stacks), self._of(yielded[count:]), strict=True):
            self._line(f"{stack}[{step}] = {value}")
        self._assign(carried, yielded[:count], None)
        self._give_up(yielded, carried, body)
        self.indent -= 1
        self.iterations.pop()


def _ending(block: Block, kind: type[Operation]) -> Operation:
    last = block.last_op
    assert isinstance(last, kind), "verified"
    return last


_OURS = (CallOp, ExpectOp, FreeOp, ReturnOp, IfOp, WhileOp, ForOp, ConditionOp, YieldOp)


def _walk(block: Block) -> Iterator[Operation]:
    """The ops of a block and of those in it, but not what is in fusions."""
    for op in block.ops:
        yield op
        for region in () if isinstance(op, FusionOp) else op.regions:
            for inner in region.blocks:
                yield from _walk(inner)


def xp_block(func: FuncOp, *, fusions: bool = False) -> Block:
    """The one block of a lowered function, perhaps with fusions; E4000 names what else it holds, E4001 a use after a free."""
    blocks = func.body.blocks
    given = f"func.func with {len(blocks)} blocks" if len(blocks) != 1 else None
    if given is None:
        ours = (*_OURS, FusionOp) if fusions else _OURS
        foreign = [op.name for op in _walk(blocks[0]) if not isinstance(op, ours)]
        given = foreign[0] if foreign else None
        if given is None and not isinstance(blocks[0].last_op, ReturnOp):
            given = "no xp.return"
    if given is not None:
        message = f"@{func.sym_name.data} is not a lowered function: found {given}, expected xp ops and a return"
        raise error("E4000", message, operation=func, given=given, expected="xp ops")
    check_frees(blocks[0])
    return blocks[0]


def constant_text(literal: PtirLiteralAttr) -> str:
    """A constant as a call of a kernel: nested lists where they are short, hexadecimal otherwise."""
    dtype, shape = literal.spec
    data = literal.data.data
    if dtype.name not in ARRAY_NAMES or dtype.kind is Kind.COMPLEX or len(data) > HEX_ABOVE * dtype.size:
        return f'k.literal("{dtype}", {shape!r}, "{data.hex()}")'
    numbers = [number_text(v) for v in literal.values()]
    if literal.is_fill:
        return f"k.fill({numbers[0]}, {shape!r}, {dtype_text(dtype)})"
    return f"k.array({nested(numbers, shape) if data else 'xp.empty(' + repr(shape) + ')'}, {dtype_text(dtype)})"
