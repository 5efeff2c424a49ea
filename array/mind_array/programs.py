"""
Functions as modules and files: `spec`, `trace`, `save`, `load`.

A saved program is the text of its module, with the containers of its arguments and result in attributes of the module.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr

import mind_runtime
from mind_dialect.errors import MindError, brief
from mind_dialect.program import functions, input_names
from mind_dialect.ptir.types import TensorSpec, is_dim_name, read_type, tensor_type
from mind_passes.inline import inlined
from mind_passes.ptir.split_parameters import PARAMETER_ATTRIBUTE
from mind_passes.shape.specialize import take_types
from mind_runtime.compilation import find_function

from . import tree
from .array import Array
from .dtypes import as_dtype, float64, ptir_dtype
from .faults import fault, translated
from .kinds import is_numpy
from .library import Library
from .operands import array_of, shape_of
from .staging import Function, Spec, apply, at_op, stage, symbol
from .trace import ACTIVE
from .transforms.jit import Jitted, as_arrays, to_numpy
from .transforms.lowered import Lowered, Passes, inline_all, run_passes

ARGUMENTS, RESULT = "mind_array.arguments", "mind_array.result"
"""Attributes of a saved module: the containers, as JSON."""


def spec(shape: Any, dtype: Any = float64, *, name: str | None = None, parameter: bool = False) -> Spec:
    """
    Return what an array argument will be; extents may be names, for dimensions whose size each call gives.

    `name` is what the input is called in the module. A `parameter` is a weight: what depends on such inputs alone can be computed
    once, by `mind_runtime.bind`.
    """
    extents = shape_of(shape, "spec")
    for n in extents:
        if isinstance(n, str) and not is_dim_name(n):
            message = f"spec: {n!r} is not a name of a dimension, expected letters, digits and underscores"
            raise fault("E1110", message, argument="shape", value=n)
    tensor = TensorSpec(ptir_dtype(as_dtype(dtype)), tuple([str(n) if isinstance(n, str) else n for n in extents]))
    return Spec(tensor, name, parameter)


def trace(function: Function, /, *specs: Any, name: str | None = None, passes: Passes | None = "", **keywords: Any) -> ModuleOp:
    """
    Return the module of a function for arguments, or specs of them. The sum of a diagonal is `ma.linalg.trace`.

    Concrete arrays that it uses become constants. `passes` as for `jit`; by default none run.
    """
    if isinstance(function, Array) or is_numpy(function):
        message = "trace records a function, found an array; the sum of a diagonal is ma.linalg.trace"
        raise fault("E1105", message, path="trace", actual=type(function).__name__)
    if name is not None and not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise fault("E1110", f"trace: name is {brief(name)}, expected a string", argument="name", value=brief(name))
    staged = stage(_plain(function), specs, keywords, name=name or symbol(function), literals=True)
    leaves = tree.leaves((specs, keywords))
    parameters = [isinstance(x, Spec) and x.parameter for x in leaves]
    module = staged.module([{PARAMETER_ATTRIBUTE: UnitAttr()} if p else {} for p in parameters] if any(parameters) else ())
    return module if isinstance(passes, str) and not passes else run_passes(module, passes)


def from_module(module: ModuleOp, function: str | None = None) -> Callable[..., Any]:
    """
    Return a function of a module of PTIR as a Python function: it takes its inputs by position or by name.

    It returns one array, or a tuple of several. While traced its ops are put in place, so it can be differentiated, by the
    derivative rules that its functions name, batched, and compiled with what is around it. Its dimensions become those of its
    operands, E3003 for operands that do not fit, and what it declares of sizes (`mind.dims`) is declared of the traced
    function. E7003 and E7001 as for `mind_runtime.compile`.
    """
    try:
        found = inlined(find_function(module, function), keep_rules=True).func
        program = Library({f.sym_name.data: f for f in functions(module)}).module(found)
    except MindError as e:
        raise at_op(e) from None
    names = input_names(found)

    def call(*arrays: Any, **named: Any) -> Any:
        arguments = dict(zip(names, arrays, strict=False)) | named
        if len(arrays) > len(names) or arguments.keys() != set(names):
            message = f"@{found.sym_name.data} takes {names}, found {len(arrays)} arguments and {list(named)}"
            raise fault("E2007", message, expected=len(names), actual=len(arrays) + len(named))
        operands = [array_of(arguments[n], found.sym_name.data, n) for n in names]
        for n, x, argument in zip(names, operands, found.body.block.args, strict=True):
            wanted = read_type(argument.type)
            if x.spec.dtype is not wanted.dtype or len(x.shape) != len(wanted.shape):
                actual = f"{x.dtype}{list(x.shape)}"
                raise fault(
                    "E2001", f"{n} of @{found.sym_name.data} is {actual}, expected {wanted}", expected=str(wanted), actual=actual
                )
        (func, *_) = functions(program.clone())
        if ACTIVE.get() is not None:
            try:
                take_types(func, [tensor_type(*x.spec) for x in operands])
            except MindError as e:
                raise translated(e) from None
        results = apply(func, operands)
        return results[0] if len(results) == 1 else tuple(results)

    call.__name__ = symbol(SimpleNamespace(__name__=found.sym_name.data))
    return call


def _plain(function: Function) -> Function:
    return function.__wrapped__ if isinstance(function, Jitted) else function


# Files


def _described(structure: Any) -> Any:
    """A structure of tuples, lists, dicts with string keys and None as JSON; E1110 for other containers."""
    kind = structure.type
    if kind is None:
        return "*"
    children = [_described(child) for child in structure.children()]
    if kind is type(None):
        return None
    if kind is tuple or kind is list:
        return {kind.__name__: children}
    if kind is dict and all(isinstance(k, str) for k in structure.entries()):
        return {"dict": [[k, child] for k, child in zip(structure.entries(), children, strict=True)]}
    message = f"save: a container {kind.__name__}, expected tuples, lists, dicts with names as keys, and None"
    raise fault("E1110", message, argument="arguments", value=kind.__name__)


def _example(described: Any) -> Any:
    """A container with 0 as leaves; ValueError for what describes none."""
    if described == "*":
        return 0
    if described is None:
        return None
    if isinstance(described, dict) and len(described) == 1:  # pyright: ignore[reportUnknownArgumentType]
        ((kind, children),) = described.items()  # pyright: ignore
        if kind == "tuple":
            return tuple(_example(c) for c in children)  # pyright: ignore
        if kind == "list":
            return [_example(c) for c in children]  # pyright: ignore
        if kind == "dict":
            return {str(k): _example(c) for k, c in children}  # pyright: ignore
    raise ValueError(str(described)[:80])  # pyright: ignore


def save(path: str | Path, lowered: Lowered) -> None:
    """Write the module of a lowered function; captured arrays cannot be saved, pass them as arguments."""
    if not isinstance(lowered, Lowered) or not isinstance(path, str | Path):  # pyright: ignore[reportUnnecessaryIsInstance]
        actual = f"{type(path).__name__} and {type(lowered).__name__}"
        message = f"save: found {actual}, expected a path and what the method lower of a jitted function returns"
        raise fault("E1105", message, path="save", actual=actual)
    arguments, result = lowered.structures
    module = lowered.ptir.clone()
    inline_all(module)
    (func, *_) = (op for op in module.body.block.ops)
    count = len(func.body.block.args)  # pyright: ignore
    if count != arguments.num_leaves:
        captured = f"{lowered.name} captures {count - arguments.num_leaves} arrays"
        message = f"save: {captured}, which a file does not hold; pass them as arguments"
        raise fault("E1110", message, argument="lowered", value=lowered.name)
    module.attributes[ARGUMENTS] = StringAttr(json.dumps(_described(arguments)))
    module.attributes[RESULT] = StringAttr(json.dumps(_described(result)))
    try:
        Path(path).write_text(f"{module!s}\n", encoding="utf-8")
    except OSError as e:
        raise fault("E7002", f"save: {path}: {e.strerror}", path=str(path)) from None


class Loaded:
    """A program from a file: call it with the containers that the saved function took."""

    def __init__(self, module: ModuleOp, arguments: Any, result: Any, program: mind_runtime.Program):
        self.module, self._arguments, self._result, self.program = module, arguments, result, program

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run on arrays; E1104 for other containers, and the errors of a program's call."""
        leaves, structure = tree.flatten((args, kwargs))
        if structure != self._arguments:
            expected, actual = tree.shown(self._arguments), tree.shown(structure)
            raise fault("E1104", f"arguments {actual}, expected {expected}", path="arguments", expected=expected, actual=actual)
        try:
            found = self.program(*(to_numpy(x) for x in leaves))
        except MindError as e:
            raise at_op(e) from None
        return tree.unflatten(self._result, as_arrays(found))


def load(path: str | Path, *, target: str = "numpy", passes: Passes = None, threads: int | None = None) -> Loaded:
    """Return the program in a file that `save` wrote, compiled; E7002 for a file that is none."""
    from xdsl.context import Context
    from xdsl.dialects.builtin import Builtin
    from xdsl.dialects.func import Func
    from xdsl.parser import Parser
    from xdsl.utils.exceptions import ParseError, VerifyException

    import mind_dialect
    from mind_dialect.verify import verify

    ctx = Context()
    ctx.load_dialect(Builtin)
    ctx.load_dialect(Func)
    mind_dialect.register(ctx)
    try:
        module = Parser(ctx, Path(path).read_text(encoding="utf-8")).parse_module()
        verify(module)
        described = [json.loads(_text(module, name)) for name in (ARGUMENTS, RESULT)]
        structures = [tree.structure(_example(d)) for d in described]
    except (OSError, UnicodeDecodeError, ParseError, VerifyException, ValueError, TypeError, RecursionError) as e:
        issue = str(e).splitlines()[0][:160] if str(e) else type(e).__name__
        raise fault("E7002", f"load: {path} is not a saved program: {issue}", path=str(path)) from None
    for name in (ARGUMENTS, RESULT):
        del module.attributes[name]
    try:
        program = mind_runtime.compile(run_passes(module, passes), None, target, threads=threads)
    except MindError as e:
        raise at_op(e) from None
    return Loaded(module, structures[0], structures[1], program)


def _text(module: ModuleOp, name: str) -> str:
    found = module.attributes.get(name)
    if not isinstance(found, StringAttr):
        raise ValueError(f"the module has no attribute {name}")
    return found.data
