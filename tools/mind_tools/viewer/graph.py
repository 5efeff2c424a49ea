"""The ops of a program as columns of a table: what the viewer draws as a graph, and shows of an op that is clicked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue

from mind_dialect.locations import locations_in, shown_location

ARGUMENTS = "arguments"
"""The name of the row of a block's arguments, which defines values as an op does."""
REGION = "region "
"""The name of the row of a region, before its number; names of ops have no spaces."""
KERNELS = ("launch.kernel", "ptir.fusion")
"""The ops that become one kernel, the most telling first."""


@dataclass
class Ops:
    """
    A row for each op in program order, and one for the arguments of each block and for each region of an op of several.

    Rows refer to others by number; `parent` is -1 for a row of the module.
    """

    name: list[str] = field(default_factory=list[str])
    parent: list[int] = field(default_factory=list[int])
    line: list[int] = field(default_factory=list[int])
    uses: list[list[tuple[int, int]]] = field(default_factory=list[list[tuple[int, int]]])
    """Of each operand, the row that defines it, and which of its values it is."""
    values: list[list[str]] = field(default_factory=list[list[str]])
    types: list[list[str]] = field(default_factory=list[list[str]])
    location: list[str] = field(default_factory=list[str])
    origins: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    """Of what comes from several ops, such as a kernel without a body, all locations; `location` is the first."""
    kernel: list[str] = field(default_factory=list[str])
    """The kernel that an op is in, by the IR of this step; empty where it is in none."""
    function: list[int] = field(default_factory=list[int])
    """The row of the function that an op is in, -1 outside of all."""
    symbol: list[str] = field(default_factory=list[str])
    """The name that a function or kernel has, empty for other rows."""
    gradient: dict[int, str] = field(default_factory=dict[int, str])
    """Of functions that are derivatives, of what and with respect to which inputs."""
    primal: dict[int, int] = field(default_factory=dict[int, int])
    """Of ops of such functions, the op of the primal function that they come from, by its location."""

    def __len__(self) -> int:
        return len(self.name)

    @property
    def count(self) -> int:
        """The number of ops."""
        return sum(name != ARGUMENTS and not name.startswith(REGION) for name in self.name)


def table(module: ModuleOp, first: Mapping[Operation, int], names: Mapping[SSAValue, str]) -> Ops:
    """Return the ops of a module; `first` has the first line of each that is printed, `names` those of values."""
    builder = _Builder(Ops(), first, names)
    builder.regions(module, -1)
    builder.connect()
    _add_primals(builder.ops, builder.derivatives)
    return builder.ops


@dataclass
class _Builder:
    """Fills a table."""

    ops: Ops
    first: Mapping[Operation, int]
    names: Mapping[SSAValue, str]
    rows: list[Operation | None] = field(default_factory=list[Operation | None])
    defined: dict[SSAValue, tuple[int, int]] = field(default_factory=dict[SSAValue, tuple[int, int]])
    derivatives: dict[int, str] = field(default_factory=dict[int, str])
    """The row of a derivative, and the symbol of what it is the derivative of."""

    def regions(self, op: Operation, row: int) -> None:
        """Add what is in an op. Iterative, because programs may nest deeper than Python's stack."""
        waiting: list[Iterator[tuple[Operation | Block | Region, int]]] = [iter(self._parts(op, row))]
        while waiting:
            if (part := next(waiting[-1], None)) is None:
                waiting.pop()
                continue
            held, parent = part
            if isinstance(held, Block):
                self._row(ARGUMENTS, parent, None, held.args)
            elif isinstance(held, Region):
                region = self._row(self._region_name(held), parent, None, ())
                waiting.append(iter(self._blocks(held, region)))
            else:
                waiting.append(iter(self._parts(held, self._op(held, parent))))

    def _parts(self, op: Operation, row: int) -> list[tuple[Operation | Block | Region, int]]:
        filled = [region for region in op.regions if region.blocks]
        return self._blocks(filled[0], row) if len(filled) == 1 else [(region, row) for region in filled]

    def _blocks(self, region: Region, row: int) -> list[tuple[Operation | Block | Region, int]]:
        parts: list[tuple[Operation | Block | Region, int]] = []
        for block in region.blocks:
            parts += [(block, row)] if block.args else []
            parts += [(op, row) for op in block.ops]
        return parts

    def _region_name(self, region: Region) -> str:
        filled = [r for r in region.parent.regions if r.blocks] if region.parent is not None else [region]
        place = next(i for i, r in enumerate(filled) if r is region)
        return f"{REGION}{place + 1} of {len(filled)}"

    def _row(self, name: str, parent: int, op: Operation | None, values: Sequence[SSAValue]) -> int:
        ops, row = self.ops, len(self.ops)
        ops.name.append(name)
        ops.parent.append(parent)
        around = ops.line[parent] if parent >= 0 else 0
        ops.line.append(around if op is None else self.first.get(op, around))
        ops.uses.append([])
        ops.values.append([f"%{self.names[value]}" if value in self.names else "" for value in values])
        ops.types.append([str(value.type) for value in values])
        places = [shown_location(part) for part in locations_in(op.location)] if op is not None else [""]
        ops.location.append(places[0])
        if len(places) > 1:
            ops.origins[row] = places
        ops.kernel.append(ops.kernel[parent] if parent >= 0 else "")
        ops.symbol.append("")
        is_function = isinstance(op, FuncOp)
        ops.function.append(row if is_function else ops.function[parent] if parent >= 0 else -1)
        self.defined.update({value: (row, i) for i, value in enumerate(values)})
        self.rows.append(op)
        return row

    def _op(self, op: Operation, parent: int) -> int:
        row = self._row(op.name, parent, op, op.results)
        symbol = op.properties.get("sym_name", op.attributes.get("sym_name"))
        if isinstance(symbol, StringAttr):
            self.ops.symbol[row] = f"@{symbol.data}"
        if op.name in KERNELS:
            self.ops.kernel[row] = f"{op.name} {self.ops.symbol[row] or ', '.join(self.ops.values[row])}".strip()
        if isinstance(op, FuncOp):
            self._derivative(op, row)
        return row

    def _derivative(self, func: FuncOp, row: int) -> None:
        """Note of what a function is the gradient, where it is one."""
        primal, wrt = func.attributes.get("mind.grad_of"), func.attributes.get("mind.grad_wrt")
        if not isinstance(primal, SymbolRefAttr):
            return
        self.derivatives[row] = of = f"@{primal.string_value()}"
        ids = [int(cast(Any, i)) for i in wrt.get_values()] if isinstance(wrt, DenseArrayBase) else []
        inputs = func.body.blocks[0].args if func.body.blocks else ()
        shown = [inputs[i].name_hint or f"input {i}" if i < len(inputs) else f"value {i}" for i in ids]
        self.ops.gradient[row] = f"gradient of {of}" + (f" with respect to {', '.join(shown)}" if shown else "")

    def connect(self) -> None:
        """Add the operands, when all that defines values is known."""
        for row, op in enumerate(self.rows):
            if op is not None:
                self.ops.uses[row] = [self.defined[value] for value in op.operands if value in self.defined]


def _add_primals(ops: Ops, derivatives: Mapping[int, str]) -> None:
    """Note for each op of a derivative the first op of the primal function with the same location."""
    primal_rows = {of: next((row for row, s in enumerate(ops.symbol) if s == of), -1) for of in set(derivatives.values())}
    wanted = set(primal_rows.values()) - {-1}
    found: dict[tuple[int, str], int] = {}
    for row, function in enumerate(ops.function):
        if function in wanted and row != function and ops.location[row]:
            found.setdefault((function, ops.location[row]), row)
    for row, function in enumerate(ops.function):
        if function in derivatives and row != function:
            primal = found.get((primal_rows[derivatives[function]], ops.location[row]))
            if primal is not None:
                ops.primal[row] = primal


def kernels_by_origin(tables: Sequence[Ops]) -> tuple[int, dict[tuple[str, str], str]]:
    """
    Return the step that says which op becomes which kernel, -1 if none does, and the kernels by function and location.

    It is the last step with launches, else the last with fusions.
    """
    for kind in KERNELS:
        for step in reversed(range(len(tables))):
            if any(name == kind for name in tables[step].name):
                return step, _kernels(tables[step])
    return -1, {}


def _kernels(ops: Ops) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], dict[str, None]] = {}
    with_body = set(ops.parent)
    for row, kernel in enumerate(ops.kernel):
        if kernel and ops.function[row] >= 0 and (ops.name[row] not in KERNELS or row not in with_body):
            for place in filter(None, ops.origins.get(row, [ops.location[row]])):
                found.setdefault((ops.symbol[ops.function[row]], place), {})[kernel] = None
    return {key: ", ".join(kernels) for key, kernels in found.items()}
