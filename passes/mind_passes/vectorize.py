"""
Vectorisation of PTIR: `@f` for one example gets a sibling `@f_vmap` for a batch of them.

`@f_vmap` gives, stacked along an axis, what `@f` gives for each example, errors of a run included. What does not depend on the
batch is computed once; `batching` has a rule for every op, and says which of them may come to a loop over the examples. Calls
and fused groups are put in place first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import count

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.declared_dims import keep_declarations
from mind_dialect.dominance import walk
from mind_dialect.errors import MindError, brief, error
from mind_dialect.profiles import PROFILE_ATTRIBUTE
from mind_dialect.program import functions
from mind_dialect.ptir import RandomOp
from mind_dialect.ptir.types import is_dim_name
from mind_dialect.ptir_program import input_specs
from mind_dialect.ptir_shapes import MAX_EXTENT, Dim
from mind_dialect.verify import verify

from .batching import BATCHING, Driver, batched_values
from .batching.functions import BATCHED
from .batching.rules import batched_type, from_front, rank, spread, to_front
from .derivatives.custom import rules_of, stated_on_calls
from .dim_names import names_used
from .selection import derived_name, functions_to_do, is_ptir, own_copy, select_function
from .working_copy import working_copy

VMAP_OF = "mind.vmap_of"
"""On `@f_vmap`: the function that it is for a batch."""
MAX_DEPTH = 80
"""The greatest nesting depth of regions."""
RANDOMNESS = ("same", "different")

Axes = tuple[int | str | None, ...]


@dataclass(frozen=True)
class VectorizeOptions:
    """
    Options of batching: which inputs, and along which dimension.

    `in_axes`: for each input the axis of its batch dimension in `@f_vmap`, from the end if negative, None (or `none`) for an
    input that is one for all; None means 0 for each. `out_axes`: for each output likewise, `none` only for one that does not
    depend on the batch; None means 0 for each. `size`: the extent of the batch, or its name; None means a new name, `N` if it
    is free. `randomness`: `same` draws the same numbers for every example, as runs with one seed do, `different` draws for each.
    `verify`: check the function before, and the batched one after.
    """

    in_axes: Axes | None = None
    out_axes: Axes | None = None
    size: int | str | None = None
    randomness: str = "same"
    verify: bool = True


@dataclass(frozen=True)
class Vectorized:
    """A copy of the module that holds the function and the one for a batch."""

    module: ModuleOp
    primal: FuncOp
    function: FuncOp


def vectorize(module: ModuleOp, function: str | None = None, options: VectorizeOptions | None = None) -> Vectorized:
    """
    Batch one function of a copy of `module`: `@function`, or the only one of PTIR that is not derived from another.

    Raises the verifier's errors for an invalid function, E5001 for a batched op without a rule, E5006 where a dimension would
    need a name, E7001 and E7003 for options that fit nothing.
    """
    module = own_copy(module)
    return add_vectorized(module, select_function(module, function, is_ptir), options or VectorizeOptions())


def add_vectorized(module: ModuleOp, func: FuncOp, options: VectorizeOptions) -> Vectorized:
    """Put the function for a batch behind `func`, in place."""
    name = derived_name(module, func, "vmap")
    if options.verify:
        verify(func)
    _check_depth(func)
    input_specs(func)
    made = _built(module, func, name, options, {})
    return Vectorized(module, func, made)


def _built(module: ModuleOp, func: FuncOp, name: str, options: VectorizeOptions, callees: dict[str, str]) -> FuncOp:
    """The function for a batch behind `func`, and behind those that stay called in it theirs; `callees` has their names."""
    batch = _Vectorization(func, name, options)
    made = batch.run()
    assert func.parent is not None
    func.parent.insert_op_after(made, func)
    inner = VectorizeOptions(size=batch.size, randomness=options.randomness, verify=options.verify)
    for call in [op for op in walk(made) if isinstance(op, CallOp) and op.attributes.pop(BATCHED, None) is not None]:
        call.properties["callee"] = SymbolRefAttr(_callee(module, call.callee.string_value(), inner, callees))
        call.attributes.update(
            {key: SymbolRefAttr(_callee(module, rule.string_value(), inner, callees)) for key, rule in rules_of(call).items()}
        )
    if options.verify:
        try:
            verify(made)
        except MindError as e:
            issue = f"@{name} does not verify: {e.code}: {e.message}"
            raise error("E7004", issue, operation=e.op, stage="mind-vectorize", issue=issue) from e
    return made


def _callee(module: ModuleOp, name: str, options: VectorizeOptions, callees: dict[str, str]) -> str:
    """The name of a function of the module for a batch of all its inputs, with its derivative rules; made if there is none."""
    if (known := callees.get(name)) is not None:
        return known
    taken = {f.sym_name.data for f in functions(module)} | set(callees.values())
    new = next(n for i in count() if (n := f"{name}_vmap{i or ''}") not in taken)
    callees[name] = new
    func = next(f for f in functions(module) if f.sym_name.data == name)
    made = _built(module, func, new, options, callees)
    made.sym_visibility = func.sym_visibility
    made.attributes.update(stated_on_calls(func))
    for key, rule in rules_of(func).items():
        made.attributes[key] = SymbolRefAttr(_callee(module, rule.string_value(), options, callees))
    return new


def _check_depth(func: FuncOp) -> None:
    depths: dict[Operation, int] = {func: 0}
    for op in walk(func):
        outer = op.parent_op()
        if op.regions and op is not func and outer is not None:
            depths[op] = depths[outer] + 1
            if depths[op] > MAX_DEPTH:
                message = f"{op.name}: regions nested deeper than {MAX_DEPTH} are not batched"
                raise error("E6003", message, operation=op, backend="mind-vectorize")


class _Vectorization:
    """The options, read against the function, and the construction of the function for a batch."""

    def __init__(self, func: FuncOp, name: str, options: VectorizeOptions):
        self.func, self.name, self.options = func, name, options
        self.working = working_copy(func)
        self.primal = self.working.body.block
        ending = self.primal.last_op
        if not isinstance(ending, ReturnOp):
            given = "a block without func.return" if ending is None else f"a block that ends in {ending.name}"
            message = f"@{func.sym_name.data} has {given}, expected func.return"
            raise error("E4000", message, operation=func, given=given, expected="func.return")
        self.outputs = list(ending.operands)
        given = options.randomness
        if not isinstance(given, str) or given not in RANDOMNESS:  # pyright: ignore[reportUnnecessaryIsInstance]
            message = f"randomness={brief(given)}, expected same or different"
            raise error("E7001", message, operation=func, option="randomness")
        self.in_axes = self._axes("in-axes", options.in_axes, list(self.primal.args))
        self.out_axes = self._axes("out-axes", options.out_axes, self.outputs)
        self.size = self._size()

    def _axes(self, option: str, given: Axes | None, values: Sequence[SSAValue]) -> list[int | None]:
        """An axis of the batched type for each value, or None; E7001 for another number of axes, or one out of range."""
        what = "inputs" if option == "in-axes" else "outputs"
        if given is None:
            return [0] * len(values)
        if len(given) != len(values):
            message = f"{option} has {len(given)} entries, @{self.func.sym_name.data} has {len(values)} {what}"
            raise error("E7001", message, operation=self.func, option=option)
        found: list[int | None] = []
        for i, (axis, value) in enumerate(zip(given, values, strict=True)):
            n = rank(value) + 1
            if axis is None or axis == "none":
                found.append(None)
            elif isinstance(axis, str) or isinstance(axis, bool) or not -n <= axis < n:
                message = f"{option}: {axis} for {what[:-1]} {i} of type {value.type}, expected -{n} to {n - 1}, or none"
                raise error("E7001", message, operation=self.func, option=option)
            else:
                found.append(axis % n)
        return found

    def _size(self) -> Dim:
        """The extent of the batch; E7001 for what is none, and for a name that no input would give a size."""
        size, stated = self.options.size, any(axis is not None for axis in self.in_axes)
        fits = is_dim_name(size) if isinstance(size, str) else size is None or (0 <= size <= MAX_EXTENT and size is not True)
        if not fits:
            raise error("E7001", f"size={size}, expected a number from 0 up or a name", operation=self.func, option="size")
        if not stated and not isinstance(size, int):
            message = "no input is batched, so the size of the batch must be given as a number"
            raise error("E7001", message, operation=self.func, option="size")
        if size is not None:
            return size
        used, n, name = set(names_used(self.working)), 0, "N"
        while name in used:
            n += 1
            name = f"N{n}"
        return name

    def run(self) -> FuncOp:
        """Build the function."""
        batched = self._batched()
        block = Block(arg_types=[
            a.type if axis is None else batched_type(a.type, self.size, axis)
            for a, axis in zip(self.primal.args, self.in_axes, strict=True)
        ])  # fmt: skip
        driver = Driver(block, self.size, batched, BATCHING, one_draw=self.options.randomness == "same")
        for old, new, axis in zip(self.primal.args, block.args, self.in_axes, strict=True):
            new.name_hint = old.name_hint
            driver.copies[old] = new if axis is None else driver.place(to_front(new, axis))
        driver.run(op for op in self.primal.ops if op is not self.primal.last_op)
        returned = [self._returned(driver, i) for i in range(len(self.outputs))]
        block.add_op(ReturnOp(*returned))
        return self._function(block, returned)

    def _batched(self) -> set[SSAValue]:
        """Return the values that depend on the batch."""
        sources = [a for a, axis in zip(self.primal.args, self.in_axes, strict=True) if axis is not None]
        if self.options.randomness == "different":
            sources += [op.results[0] for op in walk(self.working) if isinstance(op, RandomOp)]
        return batched_values(sources, BATCHING)

    def _returned(self, driver: Driver, i: int) -> SSAValue:
        """Output `i` with its batch dimension where it is wanted."""
        value, axis = self.outputs[i], self.out_axes[i]
        found, flag = driver.copies[value], driver.is_batched(value)
        if axis is None:
            if flag:
                message = f"out-axes: none for output {i}, which depends on the batch; expected an axis"
                raise error("E7001", message, operation=self.func, option="out-axes")
            return found
        return driver.place(from_front(spread(found, flag, self.size), axis))

    def _function(self, block: Block, returned: Sequence[SSAValue]) -> FuncOp:
        made = FuncOp(
            self.name,
            FunctionType.from_lists([a.type for a in block.args], [v.type for v in returned]),
            Region(block),
            arg_attrs=self.func.arg_attrs,
            res_attrs=self.func.res_attrs,
        )
        made.attributes[VMAP_OF] = SymbolRefAttr(self.func.sym_name.data)
        if PROFILE_ATTRIBUTE in self.func.attributes:
            made.attributes[PROFILE_ATTRIBUTE] = self.func.attributes[PROFILE_ATTRIBUTE]
        made.location = self.func.location
        keep_declarations(self.func, made)
        return made


@dataclass(frozen=True)
class MindVectorizePass(ModulePass):
    """
    Add @f_vmap, for a batch of examples, alongside each PTIR function @f, which is for one.

    Without `function`, every function gets one that has none, is not itself derived from another, and is not called by another.
    `in-axes=0,none` says, per input, the axis of its batch dimension, from the end if negative, or that all examples share it;
    `out-axes=-1` likewise per output; 0 for each by default. `size=8` is the extent of the batch, or its name, `N` if that is
    free. `randomness=different` gives each example its own random numbers, instead of the `same`. `verify=false` leaves out
    checks.
    """

    name = "mind-vectorize"

    function: str | None = None
    in_axes: tuple[int | str, ...] | None = None
    out_axes: tuple[int | str, ...] | None = None
    size: int | str | None = None
    randomness: str = "same"
    verify: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        options = VectorizeOptions(**{f.name: getattr(self, f.name) for f in fields(VectorizeOptions)})
        for func in functions_to_do(op, self.function, VMAP_OF, is_ptir):
            add_vectorized(op, func, options)


__all__ = ["VMAP_OF", "MindVectorizePass", "VectorizeOptions", "Vectorized", "add_vectorized", "vectorize"]
