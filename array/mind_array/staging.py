"""
A Python function as a function of PTIR: traced on the leaves of its arguments, transformed, and put into the program around it.

`Staged` holds the trace. Its inputs are the leaves of the arguments that are arrays or numbers, then what it captured. A module
of it goes through a transformation of `mind_passes`; `apply` then appends the ops of the result to the active trace, or, where
none is active, compiles them for the target `numpy` and runs them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, Region, SSAValue

from mind_dialect.declared_dims import declarations_of, names_given, state_declarations
from mind_dialect.errors import MindError
from mind_dialect.extents import parse_declaration
from mind_dialect.program import NAME_ATTRIBUTE, functions
from mind_dialect.ptir.types import TensorSpec, read_type
from mind_dialect.ptir_program import SPEC_VERSION, VERSION_ATTRIBUTE
from mind_passes.derivatives.custom import rename_references

from . import tree
from .array import Array, wrap
from .checks import check_function
from .dtypes import DEFAULTS, check_fits, ptir_dtype
from .emit import constant
from .faults import at_user, fault, is_ours, translated
from .kinds import is_numpy, is_tuple
from .library import reached
from .operands import array_of
from .places import function_place, shown
from .trace import ACTIVE, Trace, TracedArray, recording, traced

Function = Callable[..., Any]


@dataclass
class Staged:
    """A function that was traced: its block, its captures and its results."""

    trace: Trace
    name: str
    outputs: list[Array]
    """The leaves of the result."""
    structure: Any
    """The container of the result."""
    inputs: int
    """Number of the block's arguments that are leaves of the function's arguments."""
    names: list[str] = field(default_factory=list[str])
    """Names of the leaves of the arguments."""
    values: list[SSAValue] = field(default_factory=list[SSAValue])
    """The values of the outputs in the trace."""

    @property
    def captures(self) -> list[Array]:
        """Return the arrays that the function uses other than its arguments, in the order of the block's further arguments."""
        return captures_of(self.trace, self.trace.block.args[self.inputs :])

    def function(self, attributes: Sequence[dict[str, Attribute]] = ()) -> FuncOp:
        """The function of PTIR; the trace is used up."""
        block = self.trace.block
        block.add_op(ReturnOp(*self.values))
        types = ([a.type for a in block.args], [v.type for v in self.values])
        taken: dict[str, int] = {}
        given = [*self.names, *(f"captured_{i}" for i in range(len(block.args) - len(self.names)))]
        stated: list[DictionaryAttr] = []
        for i, name in enumerate(given):
            taken[name] = taken.get(name, 0) + 1
            unique = name if taken[name] == 1 else f"{name}_{taken[name]}"
            stated.append(DictionaryAttr({NAME_ATTRIBUTE: StringAttr(unique), **(attributes[i] if i < len(attributes) else {})}))
        func = FuncOp(self.name, types, Region(block), arg_attrs=ArrayAttr(stated))
        facts = list(self.trace.declared)
        if facts and self.trace.parent is not None:  # those about sizes that only the outer function has are left to it
            known = names_given(types[0])
            facts = [text for text in facts if known.issuperset(parse_declaration(text).names)]
        state_declarations(func, facts)
        return func

    def module(self, attributes: Sequence[dict[str, Attribute]] = ()) -> ModuleOp:
        """The module of the function and of those that it leads to."""
        return self.trace.library.module(self.function(attributes))


def captures_of(trace: Trace, arguments: Sequence[Any]) -> list[Array]:
    """The arrays of the outer traces, or concrete ones, that arguments of a block stand for."""
    outer: dict[Any, Array] = {}
    for value, argument in trace.captured.items():
        assert trace.parent is not None
        outer[argument] = traced(value, trace.parent, read_type(value.type))
    for array, value in trace.hidden.values():
        outer[value] = array
    return [outer[a] for a in arguments]


def symbol(function: object) -> str:
    """A name for a function of PTIR."""
    name = str(getattr(function, "__name__", type(function).__name__))
    word = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name).strip("_")
    return word if word and not word[0].isdigit() else f"f_{word}"


def named(made: Any, what: str, function: Any) -> Any:
    """Let a function that a transformation made have a name, and the parameters of the function that it was made of."""
    made.__name__ = f"{what}_of_{symbol(function)}"
    made.__wrapped__ = function
    return made


def parameter_names(function: object, count: int, keywords: Sequence[str] = ()) -> list[str]:
    """The names of the first parameters of a function, for messages and inputs."""
    try:
        parameters = list(inspect.signature(function).parameters.values())  # pyright: ignore
    except (TypeError, ValueError):
        parameters = []
    names: list[str] = []
    for p in parameters:
        if p.kind is p.VAR_POSITIONAL:
            break
        if p.kind is not p.KEYWORD_ONLY and p.kind is not p.VAR_KEYWORD and p.name not in keywords:
            names.append(p.name)
    return [names[i] if i < len(names) else f"arg{i}" for i in range(count)]


def leaf_spec(leaf: Any, path: str) -> tuple[TensorSpec, bool]:
    """The type of a leaf of the arguments, and whether it is weak; E1105 for what is neither an array nor a number."""
    if isinstance(leaf, Array):
        return leaf.spec, leaf.weak
    if is_numpy(leaf):
        return TensorSpec(ptir_dtype(leaf.dtype), leaf.shape), False
    if type(leaf) in DEFAULTS:
        check_fits(leaf, DEFAULTS[type(leaf)])
        return TensorSpec(ptir_dtype(DEFAULTS[type(leaf)]), ()), type(leaf) is not bool
    if isinstance(leaf, Spec):
        return leaf.tensor, False
    actual = type(leaf).__name__
    message = f"{path} is a {actual}, expected an array or a number; make the argument static: jit(static=...)"
    raise fault("E1105", message, path=path, actual=actual)


@dataclass(frozen=True)
class Spec:
    """Specification of an array argument: its shape, whose extents may be names, and its dtype. Make one with `spec`."""

    tensor: TensorSpec
    name: str | None = None
    """Name of the input; else that of the argument."""
    parameter: bool = False
    """True if the input is the same in every call: a weight."""

    @property
    def shape(self) -> tuple[Any, ...]:
        """The extents."""
        return self.tensor.shape

    def __repr__(self) -> str:
        return f"spec({self.tensor.shape}, {str(self.tensor.dtype)!r})"


def stage(
    function: Function,
    arguments: tuple[Any, ...],
    keywords: dict[str, Any] | None = None,
    *,
    name: str | None = None,
    specs: Sequence[tuple[TensorSpec, bool]] | None = None,
    literals: bool = False,
    checkpoint: bool = False,
) -> Staged:
    """
    Trace a function on the leaves of its arguments.

    `specs` gives the types of the leaves where they are not those of the leaves themselves, such as one example of a batch.
    """
    check_function(function, "a function to be traced")
    leaves, form = tree.flatten((arguments, keywords or {}))
    labels = leaf_names(function, arguments, keywords or {})
    labels = [leaf.name or label if isinstance(leaf, Spec) else label for leaf, label in zip(leaves, labels, strict=True)]
    types = [leaf_spec(leaf, label) for leaf, label in zip(leaves, labels, strict=True)] if specs is None else list(specs)
    place = function_place(function)
    trace = Trace(place, ACTIVE.get(), literals=literals)
    trace.checkpoint |= checkpoint
    with recording(trace):
        given = [trace.argument(spec, label, weak=weak) for (spec, weak), label in zip(types, labels, strict=True)]
        args, kwargs = tree.unflatten(form, given)
        try:
            result = function(*args, **kwargs)
        except RecursionError:
            issue = f"{symbol(function)} ({place}) calls itself deeper than Python allows while it is traced"
            raise fault("E1106", f"{issue}; use ma.while_loop or ma.scan", place=place, issue=issue) from None
        outputs, structure = tree.flatten(result)
        arrays = [
            result_array(leaf, function, path) for leaf, path in zip(outputs, tree.paths(result, root="result"), strict=True)
        ]
        values = [trace.lift(x) for x in arrays]
    return Staged(trace, name or symbol(function), arrays, structure, len(given), labels, values)


def leaf_names(function: Function, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> list[str]:
    """Return the name of each leaf of the arguments: `params['w'][0]`."""
    names = parameter_names(function, len(arguments), list(keywords))
    return [*tree.paths(arguments, names), *(path[2:].replace("']", "", 1) for path in tree.paths(keywords))]


def result_array(leaf: Any, function: object, path: str) -> Array:
    """A leaf of a result as an array; E1105 for what is none."""
    if isinstance(leaf, Array):
        return leaf
    if type(leaf) in DEFAULTS:
        check_fits(leaf, DEFAULTS[type(leaf)])
        made = constant(leaf, DEFAULTS[type(leaf)])
        if type(made) is TracedArray:
            made.weak = type(leaf) is not bool
        return made
    if is_numpy(leaf):
        return array_of(leaf, "result")
    actual = type(leaf).__name__
    message = f"{path} of {symbol(function)} ({function_place(function)}) is a {actual}, expected arrays or numbers"
    raise fault("E1105", message, path=path, actual=actual)


# Putting functions into programs


def apply(func: FuncOp, operands: Sequence[Array], weak: Sequence[bool] = ()) -> list[Array]:
    """
    Return the results of a function of PTIR on arrays; the function is used up, and what it calls is added to the library.

    What it declares of sizes, in the names of the arrays, is declared of the function that is traced.
    """
    trace = ACTIVE.get()
    if trace is None:
        return run(func, operands)
    trace.declared.update(dict.fromkeys(found.text for found in declarations_of(func)))
    module = func.parent_op()
    if isinstance(module, ModuleOp):
        called = reached(func, {f.sym_name.data: f for f in functions(module)})
        rename_references(func, trace.library.include(called))
    values = [trace.lift(x) for x in operands]
    block = func.body.block
    for argument, value in zip(block.args, values, strict=True):
        argument.replace_all_uses_with(value)
    last = block.last_op
    assert last is not None
    results = list(last.operands)
    last.detach()
    last.erase()
    for op in tuple(block.ops):
        op.detach()
        _take(trace, op)
    return [traced(v, trace, read_type(v.type)) for v in results]


def _take(trace: Trace, op: Operation) -> None:
    """Append an op that has a location already."""
    from xdsl.dialects.builtin import UnitAttr

    from mind_passes.loop_options import CHECKPOINT

    if trace.checkpoint and not op.regions:
        op.attributes[CHECKPOINT] = UnitAttr()
    trace.block.add_op(op)


def run(func: FuncOp, operands: Sequence[Array]) -> list[Array]:
    """Compile a function for the target `numpy` and return its results on concrete arrays."""
    if not func.function_type.outputs.data:
        return []
    import mind_runtime

    module = func.parent_op()
    if not isinstance(module, ModuleOp):
        module = ModuleOp([func], {VERSION_ATTRIBUTE: StringAttr(SPEC_VERSION)})
    try:
        program = mind_runtime.compile(module, func.sym_name.data)
        found = program(*(x.concrete("a call", "call it inside of the function") for x in operands))
    except MindError as e:
        raise at_op(e) from None
    return [wrap(x) for x in (found if is_tuple(found) else (found,))]


def at_op(e: MindError) -> MindError:
    """An error of a pass or a run, with the line of the user's code that its op came from."""
    if e.op is not None and not is_ours(e):
        where = shown(e.op.location)
        if where != "an unknown line":
            return at_user(e, None, where)
    return translated(e)


def concretely(function: Function) -> Any:
    """Return the result of a function of no arguments that records ops: traced, compiled and run, as no trace is active."""
    staged = stage(function, ())
    operands = staged.captures
    (func, *_) = functions(staged.module())
    return tree.unflatten(staged.structure, apply(func, operands))


def outputs_of(staged: Staged, arrays: Sequence[Array]) -> Any:
    """The container of a result."""
    return tree.unflatten(staged.structure, arrays)
