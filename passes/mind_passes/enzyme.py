"""
Enzyme's derivative calls as ours: `enzyme.autodiff @f` becomes a call of `@f_grad`, `enzyme.fwddiff @f` one of `@f_jvp`.

    %y, %dx = enzyme.autodiff @f(%x, %dy)  activity active, ret_activity active  ->  %y, %dx = func.call @f_grad(%x, %dy)
    %y, %dy = enzyme.fwddiff @f(%x, %dx)   activity dup,    ret_activity dup     ->  %y, %dy = func.call @f_jvp(%x, %dx)

Source of operands, results and their order: `ReverseRetOpt` and `FwdRetOpt` in `MLIR/Dialect/Ops.cpp` of EnzymeAD/Enzyme, and its
tests `MLIR/ReverseMode/multiret.mlir` and `MLIR/ForwardMode/canonicalize.mlir`. Tensors are values, so what Enzyme has for memory
(shadows that reverse mode accumulates into) is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ComplexType, FunctionType, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.dominance import walk
from mind_dialect.enzyme import AutodiffOp, DerivativeCall, FwddiffOp
from mind_dialect.errors import brief, error
from mind_dialect.program import input_names
from mind_dialect.ptir import ConjOp, PtirOp
from mind_dialect.verify import check_parts

from .autodiff import add_gradient
from .callees import symbols_in
from .canonicalize import canonicalize
from .derivatives.rules import can_vary
from .forward import ForwardOptions, add_jvp
from .gradient import GradientOptions
from .ptir.canonicalize import canonicalize as canonicalize_ptir
from .selection import is_ours, is_ptir

T = TypeVar("T")
REVERSE_ARGUMENTS = {"enzyme_active": True, "enzyme_const": False}
"""In reverse mode, the activities of arguments: whether the adjoint is a result."""
FORWARD_ARGUMENTS = {"enzyme_dup": True, "enzyme_dupnoneed": True, "enzyme_const": False}
"""In forward mode, the activities of arguments: whether a tangent follows the argument."""
REVERSE_RESULTS = {
    "enzyme_active": (True, True),
    "enzyme_activenoneed": (False, True),
    "enzyme_const": (True, False),
    "enzyme_constnoneed": (False, False),
}
"""In reverse mode, the activities of results: whether the result itself is returned, whether its adjoint is an operand."""
FORWARD_RESULTS = {
    "enzyme_dup": (True, True),
    "enzyme_dupnoneed": (False, True),
    "enzyme_const": (True, False),
    "enzyme_constnoneed": (False, False),
}
"""In forward mode, the activities of results: whether the result itself is returned, whether its tangent is."""


def lower_enzyme(module: ModuleOp) -> None:
    """
    Replace every derivative call of Enzyme in `module` by a call of a function that our passes derive, in place.

    Calls of functions that hold such calls give higher derivatives. Raises E9010 for a function that is not there, E4000 for
    one that is neither of PTIR nor of Core IR, or whose derivative needs itself, E8002 for activities and options that are
    not supported, E2007 and E2001 for operands and results that the activities do not ask for, and what autodiff raises.
    """
    for op in walk(module):
        if isinstance(op, DerivativeCall):
            check_parts(op)
    for inner in [op for op in walk(module) if isinstance(op, ModuleOp) and op.body.blocks]:
        symbols = symbols_in(inner)
        work = _Lowering(inner, {name: op for name, op in symbols.items() if isinstance(op, FuncOp)}, frozenset(symbols))
        for func in _callees_first(work.functions):
            for op in [op for op in walk(func) if isinstance(op, DerivativeCall)]:
                _replace(op, work)
    for op in walk(module):
        if _full_name(op).startswith("enzyme."):
            message = f"{_full_name(op)} is not supported, expected enzyme.autodiff or enzyme.fwddiff inside of a function"
            raise error("E4000", message, operation=op, given=_full_name(op), expected="enzyme.autodiff or enzyme.fwddiff")


def _full_name(op: Operation) -> str:
    stored = op.attributes.get("op_name__")
    return stored.data if op.name == "builtin.unregistered" and isinstance(stored, StringAttr) else op.name


@dataclass
class _Lowering:
    """The functions of a module, and those derived from them so far, by what was asked for."""

    module: ModuleOp
    functions: dict[str, FuncOp]
    symbols: frozenset[str]
    derived: dict[tuple[str, ...], FuncOp] = field(default_factory=dict[tuple[str, ...], FuncOp])

    def callee(self, op: DerivativeCall) -> FuncOp:
        """The function whose derivative a call asks for. E9010 and E4000 unless there is one with a body."""
        name = op.fn.root_reference.data
        if (found := self.functions.get(name)) is None:
            known = brief([f"@{n}" for n in self.functions])
            raise error("E9010", f"{op.name} of @{name}, expected one of {known}", operation=op, symbol=name)
        if (blocks := len(found.body.blocks)) != 1:
            message = f"@{name} has {blocks} blocks, expected a body of one block"
            raise error("E4000", message, operation=op, given=f"{blocks} blocks", expected="one block")
        return found

    def function(self, op: DerivativeCall, callee: FuncOp, call: _Call) -> FuncOp:
        """The derived function that a call asks for, made once for calls that ask for the same."""
        key = (op.name, callee.sym_name.data, *op.words("activity"), *op.words("ret_activity"))
        if key not in self.derived:
            if not is_ours(callee):
                message = f"@{callee.sym_name.data} is neither of PTIR nor of Core IR; convert it with convert-stablehlo-to-ptir"
                raise error("E4000", message, operation=op, given="a function of another dialect", expected="PTIR or Core IR")
            made = call.derive(self.module, self._fresh(f"{callee.sym_name.data}_{call.suffix}"))
            self.derived[key] = self.functions[made.sym_name.data] = made
        return self.derived[key]

    def _fresh(self, name: str) -> str:
        made, n = name, 0
        while made in self.functions or made in self.symbols:
            n += 1
            made = f"{name}_{n}"
        return made


@dataclass
class _Call:
    """One derivative call: what each argument and result of the function asks for."""

    op: DerivativeCall
    callee: FuncOp
    arguments: list[bool]
    """For each argument, whether the derivative is by it."""
    results: list[tuple[bool, bool]]
    """For each result, whether it is returned, and whether it takes part."""

    @property
    def suffix(self) -> str:
        """Return the suffix of the name of the derived function."""
        return "grad" if isinstance(self.op, AutodiffOp) else "jvp"

    @property
    def wrt(self) -> tuple[int, ...]:
        """The places of the arguments that the derivative is by."""
        return tuple(i for i, chosen in enumerate(self.arguments) if chosen)

    def derive(self, module: ModuleOp, name: str) -> FuncOp:
        """Add the derived function, called `name`, with the results that the call has, in their order."""
        callee, count = self.callee, len(self.results)
        if isinstance(self.op, AutodiffOp):
            losses = tuple(i for i, (_, active) in enumerate(self.results) if active)
            made = add_gradient(module, callee, GradientOptions(self.wrt, losses, "cotangent"), name).function
            chosen = [i for i, (returned, _) in enumerate(self.results) if returned]
            chosen += range(count, count + len(self.wrt))
        else:
            made = add_jvp(module, callee, ForwardOptions(self.wrt), name).function
            varying = [i for i, type in enumerate(callee.function_type.outputs) if can_vary(type)]
            tangents = {i: count + n for n, i in enumerate(varying)}
            chosen = list[int]()
            for i, (returned, active) in enumerate(self.results):
                chosen += ([i] if returned else []) + ([tangents[i]] if active else [])
        _keep_results(made, chosen)
        made.sym_visibility = StringAttr("private")
        return made


def _callees_first(known: Mapping[str, FuncOp]) -> list[FuncOp]:
    """
    The functions with derivative calls, each behind those that it calls or whose derivatives it calls. E4000 for a cycle.
    """
    open_, done = dict[str, None](), dict[str, FuncOp]()
    roots = [name for name, func in known.items() if any(isinstance(op, DerivativeCall) for op in walk(func))]
    stack = [(name, False) for name in reversed(roots)]
    while stack:
        name, is_left = stack.pop()
        if is_left:
            del open_[name]
            done[name] = known[name]
        elif name in open_:
            way = " -> ".join(f"@{n}" for n in [*list(open_)[list(open_).index(name) :], name])
            message = f"@{name} calls itself or needs its own derivative: {brief(way)}"
            raise error("E4000", message, operation=known[name], given="a recursive call", expected="calls that end")
        elif name not in done:
            open_[name] = None
            stack.append((name, True))
            stack += [(called, False) for called in _called(known[name]) if called in known]
    return list(done.values())


def _called(func: FuncOp) -> list[str]:
    """The functions that a function calls, or whose derivatives it calls."""
    calls = [op.callee if isinstance(op, CallOp) else op.fn for op in walk(func) if isinstance(op, CallOp | DerivativeCall)]
    return [ref.root_reference.data for ref in calls]


def _replace(op: DerivativeCall, work: _Lowering) -> None:
    """Put the call of a derived function into the place of a derivative call."""
    callee = work.callee(op)
    call = _read(op, callee)
    operands, expected = _operands(call)
    made = work.function(op, callee, call)
    outputs = list(made.function_type.outputs)
    _check_results(op, outputs)
    conjugated = isinstance(op, AutodiffOp)
    block = op.parent
    assert block is not None
    operands = [
        _conjugated(op, v) if conjugated and i >= len(call.arguments) and _is_complex(expected[i]) else v
        for i, v in enumerate(operands)
    ]
    new = CallOp(made.sym_name.data, operands, [v.type for v in op.outputs])
    new.location = op.location
    block.insert_op_before(new, op)
    first_adjoint = len(outputs) - len(call.wrt)
    for i, (old, value) in enumerate(zip(op.outputs, new.results, strict=True)):
        became = _conjugated(op, value) if conjugated and i >= first_adjoint and _is_complex(value.type) else value
        became.name_hint = old.name_hint
        old.replace_all_uses_with(became)
    block.erase_op(op)


def _read(op: DerivativeCall, callee: FuncOp) -> _Call:
    """Read the request of a call. Raises E8002 and E5005 for what our passes do not have."""
    for name, attribute, plain in (("width", op.width, 1), ("strong_zero", op.strong_zero, 0)):
        if attribute is not None and attribute.value.data != plain:
            advice = "vectorize makes batches of derivatives" if name == "width" else "our rules multiply by zero as numbers do"
            message = f"{op.name} of @{callee.sym_name.data} with {name} is not supported: {advice}"
            raise error("E8002", message, operation=op, attribute=name, value=attribute.value.data)
    reverse = isinstance(op, AutodiffOp)
    inputs, outputs = list(callee.function_type.inputs), list(callee.function_type.outputs)
    labels = [f"argument {i} (%{name})" for i, name in enumerate(input_names(callee))]
    arguments = _looked_up(op, "activity", REVERSE_ARGUMENTS if reverse else FORWARD_ARGUMENTS, labels)
    labels_out = [f"result {i}" for i in range(len(outputs))]
    results = _looked_up(op, "ret_activity", REVERSE_RESULTS if reverse else FORWARD_RESULTS, labels_out)
    taking_part = [*zip(labels, inputs, arguments, strict=True)]
    taking_part += [(label, type, active) for label, type, (_, active) in zip(labels_out, outputs, results, strict=True)]
    for label, type, active in taking_part:
        if active and not can_vary(type):
            message = f"{op.name} of @{callee.sym_name.data}: {label} of type {type} cannot vary, use enzyme_const"
            raise error("E5005", message, operation=op, type=str(type))
    return _Call(op, callee, arguments, results)


def _looked_up(op: DerivativeCall, name: str, known: dict[str, T], labels: list[str]) -> list[T]:
    """Look up each word of a list."""
    words = op.words(name)
    if len(words) != len(labels):
        message = f"{op.name} {op.fn}: {name} has {len(words)} entries, expected {len(labels)}"
        raise error("E8002", message, operation=op, attribute=name, value=brief(words))
    for word, label in zip(words, labels, strict=True):
        if word not in known:
            reason = "which is for memory; tensors are values" if word.startswith("enzyme_dup") else "which has no meaning here"
            message = f"{op.name} {op.fn}: {label} has activity {word}, {reason}; expected one of {', '.join(known)}"
            raise error("E8002", message, operation=op, attribute=name, value=word)
    return [known[word] for word in words]


def _operands(call: _Call) -> tuple[list[SSAValue], list[Attribute]]:
    """The operands of the derived function and their types: first those of the function itself, then tangents or adjoints."""
    op, inputs, outputs = call.op, list(call.callee.function_type.inputs), list(call.callee.function_type.outputs)
    given = list(op.inputs)
    forward = isinstance(op, FwddiffOp)
    follow = [forward and chosen for chosen in call.arguments]
    labels = input_names(call.callee)
    wanted: list[tuple[str, Attribute, bool]] = []
    for label, type, paired in zip(labels, inputs, follow, strict=True):
        wanted.append((f"%{label}", type, False))
        if paired:
            wanted.append((f"the tangent of %{label}", type, True))
    if not forward:
        actives = [i for i, (_, active) in enumerate(call.results) if active]
        wanted += [(f"the adjoint of result {i}", outputs[i], True) for i in actives]
    if len(given) != len(wanted):
        meant = ", ".join(label for label, _, _ in wanted)
        message = f"{op.name} {op.fn} has {len(given)} operands, expected {len(wanted)}: {brief(meant)}"
        raise error("E2007", message, operation=op, expected=len(wanted), actual=len(given))
    for value, (label, type, _) in zip(given, wanted, strict=True):
        if value.type != type:
            message = f"{op.name} {op.fn}: {label} has type {value.type}, expected {type}"
            raise error("E2001", message, operation=op, expected=str(type), actual=str(value.type))
    order = sorted(range(len(given)), key=lambda i: wanted[i][2])
    return [given[i] for i in order], [wanted[i][1] for i in order]


def _check_results(op: DerivativeCall, outputs: Sequence[Attribute]) -> None:
    """Raise E2007 or E2001 unless a call has the results that its activities ask for."""
    if len(op.outputs) != len(outputs):
        message = f"{op.name} {op.fn} has {len(op.outputs)} results, its activities ask for {len(outputs)}"
        raise error("E2007", message, operation=op, expected=len(outputs), actual=len(op.outputs))
    for i, (value, type) in enumerate(zip(op.outputs, outputs, strict=True)):
        if value.type != type:
            message = f"{op.name} {op.fn}: result {i} has type {value.type}, expected {type}"
            raise error("E2001", message, operation=op, expected=str(type), actual=str(value.type))


def _is_complex(type: Attribute) -> bool:
    """Return whether elements are complex: Enzyme's adjoints of such are the conjugates of ours."""
    return isinstance(type, TensorType) and isinstance(cast("TensorType[Any]", type).element_type, ComplexType)


def _conjugated(op: Operation, x: SSAValue) -> SSAValue:
    """The conjugate of `x`, computed before `op`."""
    made: PtirOp = ConjOp(x)
    made.location = op.location
    assert op.parent is not None
    op.parent.insert_op_before(made, op)
    return made.results[0]


def _keep_results(func: FuncOp, chosen: Sequence[int]) -> None:
    """Let a function return some of its results, in the order of `chosen`, and compute no others."""
    end = func.body.block.last_op
    assert end is not None
    results = [end.operands[i] for i in chosen]
    func.body.block.erase_op(end)
    func.body.block.add_op(ReturnOp(*results))
    func.function_type = FunctionType.from_lists(list(func.function_type.inputs), [v.type for v in results])
    if is_ptir(func):
        canonicalize_ptir(func)
    else:
        canonicalize(func, keep_names=True)


@dataclass(frozen=True)
class LowerEnzymePass(ModulePass):
    """
    Replace Enzyme's enzyme.autodiff and enzyme.fwddiff by calls of derived functions of PTIR or Core IR.

    `activity` and `ret_activity` have Enzyme's meaning. Activities of memory, `width` and `strong_zero` are refused.
    """

    name = "mind-lower-enzyme"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        lower_enzyme(op)
