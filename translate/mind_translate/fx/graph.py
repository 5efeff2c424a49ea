"""
Exported programs of torch as PTIR modules.

    module, weights = read_exported(torch.export.export(model, args))

The graph is walked by what its nodes say of themselves (op, target, args, meta), so nothing here imports torch. Parameters,
buffers and constants become named inputs marked `ptir.parameter`, and are handed out beside the module.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

from xdsl.dialects.builtin import DictionaryAttr as Dictionary
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr, UnitAttr, UnknownLoc
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from mind_dialect.declared_dims import names_given, state_declarations
from mind_dialect.errors import MindError, error
from mind_dialect.extents.dims import are_unequal
from mind_dialect.locations import shown_location
from mind_dialect.program import NAME_ATTRIBUTE, ssa_name, stated_attributes
from mind_dialect.ptir.types import DTYPES, F64, I1, SI64, PtirDType, TensorSpec, tensor_type
from mind_dialect.ptir_program import SPEC_VERSION, VERSION_ATTRIBUTE
from mind_dialect.ptir_shapes import UNKNOWN, Dim

from ..unsupported import Refused, Unsupported
from .control import CONTROL, MissingError
from .converter import AtenConverter, Call, Results
from .locations import location_of
from .sizes import Computed, declared_ranges, dim_of_expression, number_of_expression
from .table import ROWS, SIZES

PARAMETER_ATTRIBUTE = "ptir.parameter"
DTYPE_NAMES = {
    **{f"int{n}": f"si{n}" for n in (8, 16, 32, 64)},
    **{f"uint{n}": f"ui{n}" for n in (8, 16, 32, 64)},
    **{"bool": "i1", "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64"},
    **{"complex64": "cf32", "complex128": "cf64", "float8_e4m3fn": "fp8_e4m3", "float8_e5m2": "fp8_e5m2"},
}
"""PTIR's names of torch's dtypes."""
_READ = "_local_scalar_dense.default"
"""A number that is read from a tensor, such as the index of `x[i]`."""
_SKIPPED = ("_assert", "sym_constrain", "_guards_fn")
"""Nodes that check sizes, which the types state already, begin so."""
_RAISED = "_linalg_check_errors.default"
"""An op with an effect: it raises for a code of failure. Calls of `mind.linalg` raise themselves."""
_TOKEN = "token"
"""Type of the values that order ops with effects in graphs of torch: not an input of ours."""


class Exported(NamedTuple):
    """An imported program: its module, the arrays of torch for its named inputs, and what its other results are."""

    module: ModuleOp
    weights: dict[str, Any]
    """By the names of inputs; the tensors of torch themselves."""
    mutated: tuple[str, ...]
    """Names of the inputs whose new values are the last results, in their order."""


def dtype_of(dtype: Any) -> PtirDType:
    """PTIR's dtype for one of torch. Raises `Refused`."""
    name = str(dtype).removeprefix("torch.")
    if name not in DTYPE_NAMES:
        raise Refused(f"the dtype {name}", "convert it to one of PTIR's")
    return DTYPES[DTYPE_NAMES[name]]


def spec_of(value: Any) -> TensorSpec:
    """The type of a tensor of torch; sizes that are no number and no name are unknown. Raises `Refused`."""
    if str(value.layout) != "torch.strided":
        raise Refused(f"a tensor of layout {str(value.layout).removeprefix('torch.')}", "convert it by .to_dense()")
    return TensorSpec(dtype_of(value.dtype), tuple(map(size_of, value.shape)))


def size_of(n: Any) -> Dim:
    """A size as a number, a name, or an expression of names; unknown where neither says it."""
    if isinstance(n, int):
        return n
    node: Any = getattr(n, "node", None)
    return dim_of_expression(n if node is None else node.expr)


def key_of(target: Any) -> str:
    """The name of an op in the table: for one of ATen that of its overload."""
    schema = getattr(target, "_schema", None)
    if schema is None:
        return getattr(target, "__name__", str(target))
    name = f"{schema.name.replace('::', '.')}.{schema.overload_name or 'default'}"
    return name.removeprefix("aten.")


class _GraphImporter:
    """Walks one graph."""

    def __init__(self, promote: Callable[[Any, Any], Any]):
        self.to = AtenConverter()
        self.promote = promote
        self.unsupported = Unsupported()
        self.env: dict[Any, Any] = {}

    def run(self, graph: Any, block: Block) -> None:
        """Emit the ops of all calls; what has no form is counted."""
        self.to.block = block
        self._walk(graph)

    def _walk(self, graph: Any) -> None:
        for node in graph.nodes:
            if node.op == "call_function":
                self.convert(node)
            elif node.op == "get_attr" and hasattr(part := getattr(graph.owning_module, node.target), "graph"):
                self.env[node] = partial(self._inlined, part.graph)
            elif node.op not in ("placeholder", "output"):
                self.refuse(node, f"{node.op} {node.target}", Refused("a node of the graph that is not a call of an op"))

    def _inlined(self, graph: Any, arguments: Sequence[Any]) -> list[SSAValue]:
        """Emit the ops of a graph that another one holds on its arguments, and return its results. Raises `MissingError`."""
        self.env.update(zip((n for n in graph.nodes if n.op == "placeholder"), arguments, strict=True))
        self._walk(graph)
        results = next(n for n in graph.nodes if n.op == "output").args[0]
        found = [self.value(v) for v in (results if isinstance(results, list | tuple) else [results])]  # pyright: ignore
        if not all(isinstance(v, SSAValue) for v in found):
            raise MissingError
        return found

    def _control(self, node: Any, key: str) -> None:
        given = [self.value(v) for v in node.args]
        try:
            if any(map(_holds_missing, given)):
                raise MissingError
            self.env[node] = list(CONTROL[key](self.to, len(node.meta["val"]), *given))
        except MissingError:
            self.env[node] = _MISSING
        except Refused as refused:
            self.refuse(node, key, refused)

    def convert(self, node: Any) -> None:
        """Emit one call, and bind its results."""
        key = key_of(node.target)
        self.to.location = location_of(node)
        if node.target is operator.getitem:
            self.env[node] = self._item(node)
        elif key in CONTROL and getattr(node.target, "_schema", None) is None:
            self._control(node, key)
        elif key == "with_effects" and key_of(node.args[1]) == _RAISED:
            self.env[node] = [_TOKEN]
        elif key == _READ and node.users and all(_selects_by(user, node) for user in node.users):
            self.env[node] = self.value(node.args[0])  # the row of `select` takes a tensor
        elif key in SIZES or not _is_tensor(node.meta.get("val")):
            if not key.startswith(_SKIPPED) and key in ROWS and isinstance(ROWS[key], Refused):
                self.refuse(node, key, ROWS[key])  # pyright: ignore[reportArgumentType]
            self.env[node] = _plain(node.meta.get("val"))
        elif not key.startswith(_SKIPPED):
            self._call(node, key)

    def _item(self, node: Any) -> Any:
        source, i = node.args
        found: Any = self.env.get(source)
        values = cast("list[Any]", found) if isinstance(found, list) else []
        value: Any = values[i] if i < len(values) else None
        if value is None and _is_tensor(node.meta.get("val")) and node.users and not isinstance(found, _Missing):
            self.refuse(node, f"{key_of(source.target)}[{i}]", Refused("a result that the import does not compute"))
        return _MISSING if isinstance(found, _Missing) else value

    def _call(self, node: Any, key: str) -> None:
        try:
            given = [self.value(v) for v in _arguments(node)]
            if any(_holds_missing(v) for v in given):  # what gave it is counted already
                self._refused_row(key)
                self.env[node] = _MISSING
                return
            call = self._call_of(node, key)
            row = self._refused_row(key)
            self.env[node] = self._checked(call, row(self.to, call, *given), node)
        except Refused as refused:
            self.refuse(node, key, refused)
        except MindError as e:
            if e.code not in ("E2005", "E8001"):
                raise e if e.op is not None else error(e.code, f"{key}: {e.message}", **e.context) from None
            self.refuse(node, key, Refused(e.message))

    def _refused_row(self, key: str) -> Callable[..., Results]:
        row = ROWS.get(key, Refused("an op without an import rule", "express it in core ATen ops, or request a rule"))
        if isinstance(row, Refused):
            raise row
        return row

    def refuse(self, node: Any, name: str, refused: Refused) -> None:
        """Count what has no form."""
        shown = name if " " in name or name.count(".") != 1 else f"aten.{name}"
        self.unsupported.add(shown, refused, None, shown_location(location_of(node)))
        self.env[node] = _MISSING

    def _call_of(self, node: Any, key: str) -> Call:
        value = node.meta.get("val")
        stated: list[Any] = list(cast("Sequence[Any]", value)) if isinstance(value, tuple | list) else [value]
        results = tuple(spec_of(v) if hasattr(v, "dtype") else None for v in stated)
        operands: list[Any] = [a.meta.get("val") if hasattr(a, "meta") else a for a in node.args[:2]]
        promoted = dtype_of(self.promote(*operands)) if key.partition(".")[0] in _COMPARED and len(operands) == 2 else None
        first: Any = operands[0] if operands else None
        contiguous = key.startswith("as_strided") and bool(first.is_contiguous() and not first.storage_offset())
        return Call(key, results, promoted, contiguous)

    def _checked(self, call: Call, made: Results, node: Any) -> Any:
        """The results, unless one has another type than torch says, which no program should cause."""
        many = isinstance(node.meta["val"], tuple | list)
        values: list[SSAValue | None] = [made] if isinstance(made, SSAValue) else list(made)
        for i, spec in enumerate(call.results[: len(values)]):
            if (value := values[i]) is not None and spec is not None:
                values[i] = self._stated(call, value, spec)
        return values if many else values[0]

    def _stated(self, call: Call, value: SSAValue, spec: TensorSpec) -> SSAValue:
        """A result as torch states it. Sizes that only torch knows to be equal to those of the row are checked at the call."""
        found = self.to.spec(value)
        pairs = list(zip(found.shape, spec.shape, strict=False))
        if found.dtype is not spec.dtype or len(found.shape) != len(spec.shape) or any(are_unequal(*pair) for pair in pairs):
            declared, inferred = str(tensor_type(*spec)), str(tensor_type(*found))
            message = f"aten.{call.name} states {declared}, its row gives {inferred}"
            raise error("E4015", message, declared=declared, inferred=inferred)
        return value if all(UNKNOWN in pair or pair[0] == pair[1] for pair in pairs) else self.to.shaped(value, spec.shape)

    def value(self, argument: Any) -> Any:
        """Return an argument of a node as rows take it: a value, a number, a size, or a list of them."""
        if hasattr(argument, "op") and hasattr(argument, "target"):
            return self.env.get(argument, _MISSING)
        if isinstance(argument, list | tuple):
            return [self.value(v) for v in argument]  # pyright: ignore[reportUnknownVariableType]
        return _plain(argument)


class _Missing:
    """Stands for what could not be computed."""


_MISSING = _Missing()
_COMPARED = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "bucketize", "searchsorted"})


def _selects_by(user: Any, node: Any) -> bool:
    """Return whether a node is nothing but the place that a `select` takes, or checked to be one."""
    key = key_of(user.target) if user.op == "call_function" else ""
    return key.startswith(_SKIPPED) or (key in ("select.int", "select_copy.int") and user.args[1:3].count(node) == 1)


def _holds_missing(value: Any) -> bool:
    return isinstance(value, _Missing) or (isinstance(value, list) and any(map(_holds_missing, value)))  # pyright: ignore


def _is_tensor(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_is_tensor, value))  # pyright: ignore[reportUnknownArgumentType]
    return hasattr(value, "dtype") and hasattr(value, "shape")


def _plain(value: Any) -> Any:
    """A number of torch's own as Python's, or a size."""
    if value is None or isinstance(value, bool | int | float | complex | str):
        return value
    if hasattr(value, "node") and not hasattr(value, "op"):
        return number_of_expression(value.node.expr)
    return value


def _arguments(node: Any) -> list[Any]:
    """The arguments of a call in the order of the op's schema, with its defaults."""
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        raise Refused("a function of Python", "only ops of ATen are converted")
    given = list(node.args)
    for argument in schema.arguments[len(given) :]:
        given.append(node.kwargs[argument.name] if argument.name in node.kwargs else argument.default_value)
    return given


_WEIGHTS = ("PARAMETER", "BUFFER", "CONSTANT_TENSOR")
_MUTATIONS = ("BUFFER_MUTATION", "USER_INPUT_MUTATION", "PARAMETER_MUTATION")


def _kind(spec: Any) -> str:
    return spec.kind.name


def _unique(name: str, taken: Mapping[str, Any]) -> str:
    base, n = name, 1
    while name in taken:
        name, n = f"{base}_{n}", n + 1
    return name


def _inputs(importer: _GraphImporter, program: Any, block: Block) -> tuple[dict[str, Any], list[str], list[Dictionary]]:
    """Make the block's arguments; the weights by name, the names of all, and their attributes."""
    nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    weights: dict[str, Any] = {}
    tied: dict[Any, SSAValue] = {}
    names: dict[str, str] = {}
    attributes: list[Dictionary] = []
    for spec in program.graph_signature.input_specs:
        node = nodes[spec.arg.name]
        value = node.meta.get("val")
        if not _is_tensor(value) or _kind(spec) == "TOKEN":
            importer.env[node] = _TOKEN if _kind(spec) == "TOKEN" else _plain(value)
            continue
        is_weight = _kind(spec) in _WEIGHTS
        weight = _weight(program, spec) if is_weight else None
        memory = _memory(weight) if _kind(spec) == "PARAMETER" else None
        if memory in tied:
            importer.env[node] = tied[memory]
            continue
        name = _unique(spec.target if is_weight else node.name, names)
        names[name] = node.name
        try:
            type = tensor_type(*spec_of(value))
        except Refused as refused:
            importer.refuse(node, f"input {name}", refused)
            continue
        argument = block.insert_arg(type, len(block.args))
        argument.name_hint = ssa_name(name)
        importer.env[node] = argument
        if is_weight:
            weights[name] = weight
        if memory is not None:
            tied[memory] = argument
        stated: dict[str, Attribute] = {NAME_ATTRIBUTE: StringAttr(name)}
        attributes.append(Dictionary(stated | ({PARAMETER_ATTRIBUTE: UnitAttr()} if is_weight else {})))
    return weights, list(names), attributes


def _weight(program: Any, spec: Any) -> Any:
    if spec.target in program.state_dict:
        return program.state_dict[spec.target]
    return program.constants[spec.target]


def _memory(weight: Any) -> Any:
    """Return where the elements of a weight are, which tied weights share; None where it has no elements, or only a type."""
    place = 0 if hasattr(weight, "fake_mode") else weight.data_ptr()
    return (place, str(weight.dtype), tuple(weight.shape), tuple(weight.stride())) if place else None


def _result(to: AtenConverter, found: Any, *, is_literal: bool) -> SSAValue:
    """A result as a value: a number of Python, or one that follows from sizes, as a scalar. Raises `Refused` for others."""
    if isinstance(found, SSAValue):
        return cast("SSAValue", found)
    if isinstance(found, bool | int | float):
        return to.fill(found, I1 if isinstance(found, bool) else SI64 if isinstance(found, int) else F64)
    if is_literal or not isinstance(found, str | Computed):
        raise Refused("a result that is not a tensor", "return tensors and numbers only")
    return to.computed(found) if isinstance(found, Computed) else to.size(found)


def _outputs(importer: _GraphImporter, program: Any) -> tuple[list[SSAValue], list[str]]:
    """The results: those of the user, then the new values of what the program writes to, and whose they are."""
    output = next(node for node in program.graph.nodes if node.op == "output")
    users: list[SSAValue] = []
    written: list[tuple[SSAValue, str]] = []
    for argument, spec in zip(output.args[0], program.graph_signature.output_specs, strict=True):
        found = importer.value(argument)
        if isinstance(found, _Missing) or found is None or _kind(spec) == "TOKEN":
            continue
        try:
            value = _result(importer.to, found, is_literal=not hasattr(argument, "op"))
        except Refused as refused:
            importer.refuse(output, "output", refused)
            continue
        if _kind(spec) in _MUTATIONS:
            written.append((value, spec.target))
        else:
            users.append(value)
    return [*users, *(v for v, _ in written)], [name for _, name in written]


def read_exported(program: Any, promote: Callable[[Any, Any], Any], name: str = "main") -> Exported:
    """
    The PTIR module of a decomposed `torch.export.ExportedProgram`; `promote` is `torch.result_type`.

    The entry has an input for each parameter, buffer and constant, under its name in the model, and for each tensor that the user
    gives. Tied weights are one input, under the first of their names. Its results are the user's, then the new values of buffers
    and inputs that the program writes to. The ranges of sizes that the program is exported for are declared (`mind.dims`).
    Raises one E8008 with all that has no form in PTIR.
    """
    importer, block = _GraphImporter(promote), Block()
    weights, names, attributes = _inputs(importer, program, block)
    importer.run(program.graph, block)
    results, mutated = _outputs(importer, program)
    importer.unsupported.raise_if_any()
    importer.to.location = UnknownLoc()
    importer.to.add(ReturnOp(*results))
    types = FunctionType.from_lists([a.type for a in block.args], [v.type for v in results])
    func = FuncOp(name, types, Region(block), arg_attrs=stated_attributes(attributes))
    state_declarations(func, declared_ranges(program.range_constraints, names_given(types.inputs)))
    module = ModuleOp([func], {VERSION_ATTRIBUTE: StringAttr(SPEC_VERSION)})
    return Exported(module, {n: weights[n] for n in names if n in weights}, tuple(mutated))
