"""A model as a PTIR module: inputs, initialisers, outputs, and what must hold of their names and types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from mind_dialect import ptir
from mind_dialect.declared_dims import state_declarations
from mind_dialect.errors import brief, error
from mind_dialect.extents.dims import is_expression, names_in, substituted, under
from mind_dialect.extents.solutions import solutions
from mind_dialect.program import NAME_ATTRIBUTE
from mind_dialect.ptir.types import PtirDType, read_type, tensor_type
from mind_dialect.ptir_program import SPEC_VERSION, VERSION_ATTRIBUTE
from mind_dialect.ptir_shapes import UNKNOWN, Dim

from ..unsupported import Refused
from .converter import FOLLOWS, OnnxConverter, Scope
from .fold import FOLDS
from .model import DOMAINS, Array, Tensors, array_dtype, dtype_of_array, dtype_of_number, opsets
from .names import dim_expression, dim_name, hint_of, shown_name
from .node import no_dtype
from .table import ROWS
from .values import Unusable, Value

MOST_LISTED = 20


@dataclass
class Options:
    """Decisions of a caller: sizes of dimensions, values of inputs, whether initialisers are inputs."""

    dims: dict[str, int]
    static: dict[str, Array]
    parameters: bool = False
    used: set[str] = field(default_factory=set[str])
    equal: dict[str, Dim] = field(default_factory=dict[str, Dim])
    """Names of dimensions that the model needs to be equal to others."""


def convert_model(model: Any, name: str, folder: Path | None, options: Options) -> tuple[ModuleOp, dict[str, Array]]:
    """
    The module of a model with the entry `@main`, and the values of the initialisers that are inputs.

    Where shapes fit only if two sizes are equal, such as those of a mask and of keys, the model is converted again with one name
    for both: a call with sizes that differ is then an error.
    """
    while True:
        graph, results = _converted(model, name, folder, options)
        found = graph.equal_size()
        if found is None:
            break
        options.equal = {n: substituted(dim, found) for n, dim in options.equal.items()} | found
    graph.to.unsupported.raise_if_any()
    with graph.to.inside(graph.block):
        graph.to.add(ReturnOp(*results))
    _sweep(graph.block)
    return graph.module(results)


def _converted(model: Any, name: str, folder: Path | None, options: Options) -> tuple[_Graph, list[SSAValue]]:
    """The nodes of a model as ops, and its results; what is refused is counted."""
    versions = opsets(model, name)
    check_names(model.graph, frozenset())
    functions = {("" if f.domain in DOMAINS else f.domain, f.name, getattr(f, "overload", "")): f for f in model.functions}
    if len(functions) != len(model.functions):
        raise error("E4002", f"{name}: a function of the model is defined twice", value="function")
    to = OnnxConverter(ROWS, FOLDS, functions, Tensors(folder))
    to.scope = Scope({}, versions)
    graph = _Graph(to, model.graph, options)
    with to.inside(graph.block), under(lambda: to.facts):
        graph.bind()
        to.convert_nodes(model.graph.node)
        results = graph.results()
    return graph, results


def check_names(graph: Any, outer: frozenset[str]) -> None:
    """E4002 for names defined twice, E4001 for cycles and uses before the definition, E2002 for names without one; all listed."""
    given = [*(i.name for i in graph.input), *(n for p in graph.node for n in p.output if n)]
    given += [t.name for t in graph.initializer if t.name not in {i.name for i in graph.input}]
    given += [t.values.name for t in graph.sparse_initializer]
    twice = sorted({n for n in given if given.count(n) > 1}) if len(set(given)) != len(given) else []
    tensors = [t.name for t in graph.initializer]
    twice += sorted({n for n in tensors if tensors.count(n) > 1}) if len(set(tensors)) != len(tensors) else []
    if twice:
        raise error("E4002", f"names defined twice: {_listed(twice)}", value=brief(twice[0]))
    known, later = (
        {*outer, *(i.name for i in graph.input), *tensors, *(t.values.name for t in graph.sparse_initializer)},
        set(given),
    )
    early: dict[str, str] = {}
    absent: dict[str, str] = {}
    for p in graph.node:
        for n in p.input:
            if n and n not in known:
                (early if n in later else absent).setdefault(n, p.name or p.op_type)
        for a in p.attribute:
            for inner in [a.g] if a.HasField("g") else a.graphs:
                check_names(inner, frozenset(known))
        known.update(p.output)
    absent.update({o.name: "the outputs" for o in graph.output if o.name not in known})
    if absent:
        n = next(iter(absent))
        raise error("E2002", f"no initializer, input or node defines {_uses(absent)}", name=brief(n))
    if early:
        n = next(iter(early))
        raise error("E4001", f"used before their definition, or in a cycle: {_uses(early)}", operand=brief(n))


def _listed(names: list[str]) -> str:
    shown = [repr(shown_name(n)) for n in names[:MOST_LISTED]]
    return ", ".join(shown) + (f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else "")


def _uses(places: Mapping[str, str]) -> str:
    shown = [f"{shown_name(n)!r} (of {shown_name(p)})" for n, p in list(places.items())[:MOST_LISTED]]
    return ", ".join(shown) + (f" and {len(places) - MOST_LISTED} more" if len(places) > MOST_LISTED else "")


class _Graph:
    """The main graph: its block, and what each argument is."""

    def __init__(self, to: OnnxConverter, proto: Any, options: Options):
        self.to, self.proto, self.options = to, proto, options
        self.block = Block()
        self.names: dict[SSAValue, str] = {}
        self.parameters: dict[str, BlockArgument] = {}
        self._solvable = _solvable(proto)

    def bind(self) -> None:
        """Bind inputs and initialisers. One error lists all initialisers that do not fit the declared inputs."""
        values = self.to.scope.values
        arrays: dict[str, Value] = {}
        for tensor in self.proto.initializer:
            array = self.to.tensors.array(tensor)
            arrays[tensor.name] = Unusable(no_dtype(tensor.data_type)) if array is None else array
        arrays |= {t.values.name: Unusable(Refused("a sparse tensor", "store it dense")) for t in self.proto.sparse_initializer}
        faults: list[str] = []
        for i in self.proto.input:
            if i.name in arrays:
                faults += self._misfits(i, arrays[i.name])
            else:
                values[i.name] = self._input(i)
        if unknown := [n for n in self.options.static if n not in values]:
            names = [i.name for i in self.proto.input]
            raise error("E7003", f"static: no input {brief(unknown[0])!r}, expected one of {names}", name=unknown[0], known=names)
        if unused := [n for n in self.options.dims if n not in self.options.used]:
            raise error("E7003", f"dims: no input has a dimension {brief(unused[0])!r}", name=unused[0], known=None)
        if faults:
            some = faults[:MOST_LISTED] + ([f"and {len(faults) - MOST_LISTED} more"] if len(faults) > MOST_LISTED else [])
            message = f"{len(faults)} initializers do not fit their inputs:" + "".join(f"\n  {line}" for line in some)
            raise error("E3010", message, declared=len(faults), inferred=None)
        for name, value in arrays.items():
            values[name] = self._parameter(name, value) if isinstance(value, np.ndarray) else value

    def _parameter(self, name: str, array: Array) -> Value:
        dtype = dtype_of_array(array.dtype)
        if not self.options.parameters or array.size <= 1 or dtype is None:
            return array
        argument = self._argument(name, dtype, array.shape)
        self.parameters[name] = argument
        self.to.parameters[argument] = array
        return argument

    def _argument(self, name: str, dtype: PtirDType, shape: tuple[Dim, ...]) -> BlockArgument:
        argument = self.block.insert_arg(tensor_type(dtype, shape), len(self.block.args))
        argument.name_hint = hint_of(name)
        self.names[argument] = name
        return argument

    def _input(self, proto: Any) -> Value:
        try:
            dtype, shape = self._spec(proto)
        except Refused as refused:
            self.to.unsupported.add(f"input {shown_name(proto.name)}", refused)
            return Unusable(FOLLOWS)
        if proto.name in self.options.static:
            return self._static(proto.name, dtype, shape)
        return self._argument(proto.name, dtype, shape)

    def _static(self, name: str, dtype: PtirDType, shape: tuple[Dim, ...]) -> Value:
        array = np.asarray(self.options.static[name])
        fits = len(array.shape) == len(shape) and all(
            isinstance(n, str) or n == m for n, m in zip(shape, array.shape, strict=True)
        )
        if array.dtype != array_dtype(dtype) or not fits:
            given = f"{array.dtype} of shape {list(array.shape)}"
            message = f"static: {brief(name)!r} is {given}, the model declares {dtype} of shape {list(shape)}"
            raise error("E2001", message, expected=str(dtype), actual=given)
        return array

    def _spec(self, proto: Any) -> tuple[PtirDType, tuple[Dim, ...]]:
        """The dtype and shape that an input declares. Raises `Refused` for what is no tensor of PTIR, E3006."""
        kind = proto.type.WhichOneof("value")
        if kind != "tensor_type":
            raise Refused(f"an input that is a {(kind or 'value without type').removesuffix('_type')}", "pass tensors")
        stated = proto.type.tensor_type
        dtype = dtype_of_number(stated.elem_type)
        if dtype is None:
            raise no_dtype(stated.elem_type)
        if not stated.HasField("shape"):
            raise Refused("an input without a shape", "state its rank in the model")
        base = dim_name(proto.name, f"arg{len(self.block.args)}")
        shape: list[Dim] = []
        for i, d in enumerate(stated.shape.dim):
            if d.WhichOneof("value") == "dim_value":
                if d.dim_value < 0:
                    message = f"input {brief(proto.name)!r} has extent {d.dim_value} at {i}"
                    raise error("E3006", message, shape=None, index=i, value=d.dim_value)
                shape.append(int(d.dim_value))
                continue
            shape.append(self._dim(d.dim_param, f"{base}_{i}"))
        return dtype, tuple(shape)

    def _dim(self, given: str, fallback: str) -> Dim:
        """The dimension that a `dim_param` is: its size where one is given, an expression of names of inputs, or a name."""
        dims = self.options.dims
        expression = None if given in dims else dim_expression(given)
        if expression is not None and self._solvable.issuperset(names_in(expression)):
            self.options.used.update(names_in(expression) & dims.keys())
            return substituted(substituted(expression, dims), self.options.equal)
        name = given if given in dims else fallback if expression is not None else dim_name(given, fallback)
        if name in dims:
            self.options.used.add(name)
        return dims.get(name, self.options.equal.get(name, name))

    def equal_size(self) -> dict[str, Dim] | None:
        """
        Return the name of a dimension of inputs and the other one that it must equal; None where there is none to replace.

        Of two names, the one that inputs have later is replaced.
        """
        sizes = [n for a in self.block.args for n in read_type(a.type).shape]
        plain = [n for n in sizes if isinstance(n, str) and n != UNKNOWN and not is_expression(n)]
        for refused in self.to.unequal:
            pairs = [(n, m) for n, m in permutations(refused.sizes) if isinstance(n, str) and n in plain and names_in(m)]
            for name, other in sorted(pairs, key=lambda pair: plain.index(pair[0]), reverse=True):
                if set(names_in(other)) <= {*plain} - {name}:
                    return {name: other}
        return None

    def _misfits(self, proto: Any, value: Value) -> Iterator[str]:
        """Yield each difference of an initialiser from the input of its name."""
        if not isinstance(value, np.ndarray) or proto.type.WhichOneof("value") != "tensor_type":
            return
        stated = proto.type.tensor_type
        dtype = dtype_of_array(value.dtype)
        declared = dtype_of_number(stated.elem_type)
        if declared is not dtype:
            yield f"{shown_name(proto.name)}: {dtype}, declared {declared}"
        elif stated.HasField("shape"):
            sizes = [d.dim_value if d.WhichOneof("value") == "dim_value" else d.dim_param or "?" for d in stated.shape.dim]
            if len(sizes) != value.ndim or any(n not in (m, str(n)) for n, m in zip(sizes, value.shape, strict=True)):
                yield f"{shown_name(proto.name)}: shape {list(value.shape)}, declared {sizes}"

    def results(self) -> list[SSAValue]:
        """The outputs as values; what cannot be one is counted."""
        found: list[SSAValue] = []
        for o in self.proto.output:
            value = self.to.scope.find(o.name)
            assert value is not None, "check_names has looked at it"
            try:
                found.append(self.to.value(value))
            except Refused as refused:
                if refused is not FOLLOWS:
                    self.to.unsupported.add(f"output {shown_name(o.name)}", refused)
        return found

    def module(self, results: list[SSAValue]) -> tuple[ModuleOp, dict[str, Array]]:
        """The module; parameters that no op reads are dropped."""
        for name, argument in list(self.parameters.items()):
            if not argument.uses:
                self.block.erase_arg(argument)
                del self.parameters[name], self.names[argument]
        names = [self.names[a] for a in self.block.args]
        stated: list[DictionaryAttr] = [DictionaryAttr(self._attributes(n)) for n in names]
        made = FuncOp(
            "main",
            (self.block.arg_types, [v.type for v in results]),
            Region(self.block),
            arg_attrs=ArrayAttr(stated) if stated else None,
        )
        state_declarations(made, self.to.demands)
        module = ModuleOp([made], {VERSION_ATTRIBUTE: StringAttr(SPEC_VERSION)})
        return module, {n: self.to.parameters[a] for n, a in self.parameters.items()}

    def _attributes(self, name: str) -> dict[str, Attribute]:
        """The name of an input, where it is no name that text can have."""
        return {} if hint_of(name) == name else {NAME_ATTRIBUTE: StringAttr(name)}


def _solvable(proto: Any) -> set[str]:
    """The names that inputs have as dimensions, or in expressions that are solved for them."""
    shapes: list[list[Dim]] = []
    for i in proto.input:
        if i.type.WhichOneof("value") == "tensor_type":
            params = [d.dim_param for d in i.type.tensor_type.shape.dim if d.dim_param]
            shapes.append([found for p in params if (found := dim_expression(p) or dim_name(p, ""))])
    plain = {d for dims in shapes for d in dims if isinstance(d, str) and not is_expression(d)}
    return {*plain, *(found.name for found in solutions(shapes))}


def _sweep(block: Block) -> None:
    """Erase unused ops: those that shapes were computed from."""
    for op in reversed(list(block.ops)):
        for region in op.regions:
            for inner in region.blocks:
                _sweep(inner)
        if isinstance(op, ptir.PtirOp) and op.results and not any(r.uses for r in op.results):
            _erase(op)


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()
