"""The writer of a shape function as Python: parameters with the checks of their types, ops, loops and results."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, cast

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.ir import Operation as Op

from mind_dialect.declared_dims import declarations_of
from mind_dialect.errors import error
from mind_dialect.extents import Declaration
from mind_dialect.extents.dims import is_expression
from mind_dialect.extents.solutions import SIZE, solutions
from mind_dialect.program import input_names, shown_name
from mind_dialect.shape import AssumingYieldOp, FuncOp, ReduceOp, ReturnOp, YieldOp
from mind_dialect.shape.evaluate import shape_of_type
from mind_dialect.shape.lattice import UNKNOWN, Ranked
from mind_dialect.shape.types import ShapeType, SizeType, ValueShapeType, is_extents, is_shaped

from .shape_python_text import NAMES, Parts, ShapeTexts, tuple_text
from .xp.arguments import expression_text

_MADE = re.compile(r"v[0-9]+\b")
_TERMINATORS = (ReturnOp, YieldOp, AssumingYieldOp)


@dataclass(frozen=True)
class ShapeSource:
    """A shape function as Python, and what it is called there."""

    name: str
    text: str

    def compiled(self) -> Callable[..., tuple[Any, ...]]:
        """The function, in a namespace that holds what it calls alone."""
        scope: dict[str, Any] = {"__builtins__": {}, "len": len, "max": max, "min": min, "enumerate": enumerate, **NAMES}
        exec(compile(self.text, f"<shape-python {self.name}>", "exec", dont_inherit=True), scope)
        return scope[self.name]


class ShapeWriter(ShapeTexts):
    """
    Writes one shape function; `rows` says what each op is in Python.

    With `checked` callers have compared ranks and the sizes that are numbers: parameters are the inputs that have other
    dimensions, and inputs of equal dimensions are compared with one shape.
    """

    UNROLLED: ClassVar = 32
    """`reduce` over so many extents is written out; a loop beyond."""

    def __init__(self, func: FuncOp, name: str, rows: Mapping[type[Op], Callable[..., None]], *, checked: bool = False):
        super().__init__(func, name)
        self.func = func
        self.checked = checked
        self.rows = rows
        self.name = name
        self._expressions: list[tuple[SSAValue, str, str, Ranked]] = []
        self._alike: dict[Ranked, list[tuple[str, str]]] = {}
        """The inputs that are to be compared with one shape, and what messages call them."""

    def source(self) -> ShapeSource:
        """The Python of the function; E9020 for what cannot succeed whatever the inputs, E6003 for ops that have no row."""
        func = self.func
        entry = func.body.first_block
        if entry is None or entry is not func.body.last_block:
            self.unsupported(func, "it is declared only" if entry is None else "it has several blocks")
        self.flow.run(func.body)
        for fault in self.flow.faults:
            raise error("E9020", fault.reason, reason=fault.reason).at(fault.op, fault.op.name)
        parameters = self._parameters(entry)
        results = self.block(entry)
        self._end(results)
        head = f"def {self.name}({', '.join(parameters)}):"
        return ShapeSource(self.name, "\n".join([head, *self.lines]) + "\n")

    # Inputs and results

    def _parameters(self, entry: Block) -> list[str]:
        """Names of the parameters, and the checks of what their types say."""
        originals = input_names(cast(Any, self.func))
        names = [self._locals.identifier(original) for original in originals]
        if self.name != self.func.sym_name.data:
            self.line(f"# @{self.func.sym_name.data!a}")
        for argument, name, original in zip(entry.args, names, originals, strict=True):
            self._parameter(argument, name, f"input {shown_name(original)}")
        for dims, inputs in self._alike.items():
            self._check_alike(dims, inputs)
        for found in solutions([dims for _, _, _, dims in self._expressions], tuple(self._dims)):
            extent = f"{self._expressions[found.shape][1]}[{found.axis}]"
            text = expression_text(found.size, {**self._dims, SIZE: extent}.__getitem__)
            self._dims[found.name] = self.assign(text, found.name)
        for expressions in self._expressions:
            self._check_expressions(*expressions)
        for declared in declarations_of(self.func):
            self._check_declared(declared)
        return [name for name, open in zip(names, open_inputs(self.func), strict=True) if open or not self.checked]

    def _check_declared(self, declared: Declaration) -> None:
        """Demand of sizes what the function declares; what a quotient by names that may be 0 says is the caller's to check."""
        if declared.divides or not self._dims.keys() >= set(declared.names):
            return
        sides = [expression_text(e, self._dims.__getitem__) for e in declared.sides]
        sizes = ", ".join(f"({name!a}, {self._dims[name]})" for name in declared.names)
        self.line(f"if not {declared.form.format(*sides)}:")
        self.line(f"    raise broken({declared.text!a}, {sizes})")

    def _parameter(self, argument: SSAValue, name: str, what: str) -> None:
        type: Attribute = argument.type
        if isinstance(type, ShapeType | ValueShapeType | SizeType | IndexType) or is_extents(type):
            self._set(argument, name)
            return
        dims = shape_of_type(type)
        if not is_shaped(type) or not isinstance(dims, tuple):
            if not is_shaped(type):
                self.unsupported(self.func, f"{what} is of type {type}")
            self._set(argument, name)
            return
        if self.checked and all(isinstance(dim, int) or dim in self._dims for dim in dims):
            if not all(isinstance(dim, int) for dim in dims):
                self._alike.setdefault(dims, []).append((name, what))
            self._set(argument, tuple([str(dim) if isinstance(dim, int) else self._dims[dim] for dim in dims]))
            return
        if not self.checked:
            expected = f"({', '.join(map(str, dims))}{',' if len(dims) == 1 else ''})"
            sizes = [f"{name}[{i}] != {n}" for i, n in enumerate(dims) if isinstance(n, int)]
            self.line(f"if {' or '.join([f'len({name}) != {len(dims)}', *sizes])}:")
            self.line(f"    raise misfit({what!a}, {name}, {expected!a})")
        self._unpack(argument, name, what, dims)
        self._expressions.append((argument, name, what, dims))

    def _check_alike(self, dims: Ranked, inputs: Sequence[tuple[str, str]]) -> None:
        """Compare inputs of these dimensions, whose names have their sizes, with one shape; then say which differs."""
        several = len(inputs) > 1
        if several:
            expected = self.assign(tuple_text(tuple([self._dims.get(str(dim), str(dim)) for dim in dims])))
            self.line(f"if {' or '.join(f'{name} != {expected}' for name, _ in inputs)}:")
        self._indent += several
        for name, what in inputs:
            for i, dim in enumerate(dims):
                if isinstance(dim, str):
                    self._demand(name, what, i, dim, self._dims[dim])
        self._indent -= several

    def _demand(self, name: str, what: str, i: int, dim: str, expected: str) -> None:
        """Demand a size of a dimension."""
        self.line(f"if {name}[{i}] != {expected}:")
        self.line(f"    raise unequal({what!a}, {i}, {dim!a}, {name}[{i}], {expected})")

    def _unpack(self, argument: SSAValue, name: str, what: str, dims: Ranked) -> None:
        """Names for the extents of an input; equal names of dimensions must have equal sizes."""
        parts: list[str] = []
        for i, dim in enumerate(dims):
            if isinstance(dim, int):
                parts.append(str(dim))
            elif dim == UNKNOWN:
                parts.append(self.assign(f"{name}[{i}]", f"{name}_{i}"))
            elif is_expression(dim):
                parts.append(f"{name}[{i}]")
            elif dim not in self._dims:
                parts.append(self.assign(f"{name}[{i}]", dim))
                self._dims[dim] = parts[-1]
                self._homes[dim] = f"dimension {i} of {what}"
            else:
                bound = self._dims[dim]
                self._demand(name, what, i, dim, bound)
                parts.append(bound)
        self._set(argument, tuple(parts))

    def _check_expressions(self, argument: SSAValue, name: str, what: str, dims: Ranked) -> None:
        """Demand of an input that dimensions are what its type says of the names of all inputs."""
        for i, dim in enumerate(dims):
            if is_expression(dim):
                if (expected := self._atom(dim)) is None:
                    message = f"{what}: dimension {i} is {dim}, expected names that dimensions of inputs have"
                    raise error("E8001", message, name=dim, extents=())
                self._demand(name, what, i, str(dim), expected)

    def _end(self, results: Sequence[SSAValue]) -> None:
        texts: list[str] = []
        made: dict[str, None] = {}
        for value in results:
            if isinstance(value.type, SizeType | IndexType):
                texts.append(self.size(value) or "None")
                continue
            found = self.shape(value)
            texts.append(self.tuple(value))
            if isinstance(found, tuple):
                made.update({n: None for n in found if n is not None and _MADE.match(n)})
        if made:
            self.line(f"bounded({', '.join(made)})")
        if self.checked:  # equal shapes are made once
            texts = [self.assign(text) if text[0] == "(" and texts.count(text) > 1 else text for text in texts]
        self.line(f"return ({', '.join(texts)}{',' if len(texts) == 1 else ''})")

    # Ops

    def block(self, block: Block) -> Sequence[SSAValue]:
        """Write the ops of a block; the operands of its last."""
        for op in block.ops:
            if isinstance(op, _TERMINATORS):
                return op.operands
            row = self.rows.get(type(op))
            if row is None:
                self.unsupported(op, "it has no form in Python")
            row(self, op)
        return ()

    def unsupported(self, op: Op, why: str) -> NoReturn:
        """E6003: an op that cannot be written."""
        raise error("E6003", f"{op.name} is not supported in Python: {why}", operation=op, backend="shape-python")

    # Loops

    @contextmanager
    def _scope(self) -> Generator[None]:
        """Forget at the end what is written inside."""
        self._known.append({})
        yield
        self._known.pop()

    def step(self, block: Block, arguments: Sequence[Any]) -> list[Any]:
        """One step of a region that is written out."""
        with self._scope():
            for argument, text in zip(block.args, arguments, strict=True):
                self._set(argument, text)
            return [self.value(v) for v in self.block(block)]

    def loop(self, op: ReduceOp) -> None:
        """A loop over the extents of a shape of unknown rank."""
        block = op.body.block
        names = [self._locals.identifier(f"carried{i}") for i, _ in enumerate(op.results)]
        for name, value in zip(names, op.operands[1:], strict=True):
            self.line(f"{name} = {_whole(self.value(value))}")
        i, extent = self._locals.identifier("i"), self._locals.identifier("extent")
        self.line(f"for {i}, {extent} in enumerate({self.tuple(op.operands[0])}):")
        self._indent += 1
        found = self.step(block, [i, extent, *names])
        self.line(f"{', '.join(names)} = {', '.join(map(_whole, found))}" if names else "pass")
        self._indent -= 1
        for result, name in zip(op.results, names, strict=True):
            self._set(result, name)


def open_inputs(func: FuncOp) -> list[bool]:
    """Return for each input of a shape function whether its type leaves anything open: a rank, or a size that is no number."""
    entry = func.body.first_block
    shapes = [shape_of_type(a.type) if is_shaped(a.type) else None for a in entry.args] if entry is not None else []
    return [not isinstance(dims, tuple) or not all(isinstance(dim, int) for dim in dims) for dims in shapes]


def _whole(text: Any) -> str:
    return tuple_text(cast(Parts, text)) if isinstance(text, tuple) else str(text)
