"""
The reverse sweep: one construction of a gradient function, by a backwards walk with a dict from value to adjoint.

It knows no op. It repeats the primal, seeds the loss, asks the rule of each op for the adjoints of the operands that need one,
accumulates in reverse instruction order, sums broadcast axes away, and writes explicit zeros for what the loss does not reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FunctionType,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from mind_dialect.core import AddOp, BroadcastToOp, CoreOp, SumOp
from mind_dialect.core.base import value_of
from mind_dialect.errors import MindError, error
from mind_dialect.profiles import PROFILE_ATTRIBUTE, Profile, profile_of
from mind_dialect.program import COTANGENT_ATTRIBUTE, NAME_ATTRIBUTE, core_block, input_names, outputs, value_ids
from mind_dialect.shapes import broadcast_axes
from mind_dialect.types import read_type

from .derivatives.core import OPTIONAL, REFUSED_UNDER, RULES, Rule, Value, scalar

GRAD_OF = "mind.grad_of"
"""On `@f_grad`: the function whose gradient it is."""
GRAD_WRT = "mind.grad_wrt"
"""On `@f_grad`: the ValueIds, in `@f`, whose gradients are its last results, in their order."""


@dataclass(frozen=True)
class GradientOptions:
    """
    What to differentiate, and how strictly.

    `wrt`: ValueIds in the canonical function, names of inputs, or SSA names of results that canonicalisation keeps; None
    means every floating-point input. `output`: which output is the loss; None means the only one. `seed`: `one` for a rank-0
    loss, `ones`, or `cotangent` for an extra input; None means `one`. `keep_primal`: return the outputs of the function first.
    `verify`: check the function before and the gradient after. `profile`: overrides the function's own. `div_gradient`:
    differentiate `Div`.
    """

    wrt: tuple[int | str, ...] | None = None
    output: int | None = None
    seed: str | None = None
    keep_primal: bool = True
    verify: bool = True
    profile: str | None = None
    div_gradient: bool = False


class Sweep:
    """One construction of a gradient function: the repeated primal, then its reverse walk."""

    def __init__(self, func: FuncOp, name: str, profile: Profile, options: GradientOptions, ssa_names: dict[SSAValue, str]):
        self.func, self.name, self.profile, self.options = func, name, profile, options
        self.ssa_names = ssa_names
        self.primal = core_block(func)
        self.names = input_names(func)
        self.wrt = self._select_wrt()
        self.block = Block(arg_types=[a.type for a in self.primal.args])
        self.copies: dict[SSAValue, SSAValue] = dict(zip(self.primal.args, self.block.args, strict=True))
        self.adjoints: dict[SSAValue, SSAValue] = {}
        self.cotangent: SSAValue | None = None

    def run(self) -> FuncOp:
        """Build the gradient function."""
        loss = self._select_loss()
        ops = self._repeat_primal()
        varied = self._varied(ops)
        if (copy := self.copies[loss]) in varied:
            self.adjoints[copy] = self._seed(copy)
            for op in reversed(ops):
                self._propagate(op, varied)
        else:
            self._seed(copy)  # a cotangent input belongs to the signature, whether or not anything depends on it
        gradients = [self._gradient(self.copies[x]) for x in self.wrt]
        primal = [self.copies[y] for y in outputs(self.func)] if self.options.keep_primal else []
        self.block.add_op(ReturnOp(*primal, *gradients))
        return self._function([*primal, *gradients])

    def _select_wrt(self) -> list[SSAValue]:
        """The values to differentiate, in ascending ValueId."""
        if self.options.wrt is None:
            return [x for x in self.primal.args if read_type(x.type)[0].is_float]
        ids = value_ids(self.primal)
        known = self._known_values(ids)
        chosen: dict[int, SSAValue] = {}
        for key in self.options.wrt:
            found = known.get(key.removeprefix("%") if isinstance(key, str) else key, [])
            if len(found) != 1:
                names = [k for k in known if isinstance(k, str)]
                problem = "names no value" if not found else "names several values"
                message = f"wrt={key} {problem} of @{self.func.sym_name.data}, expected an id below {len(ids)} or one of {names}"
                raise error("E7003", message, operation=self.func, name=key, known=names)
            x = found[0]
            if not read_type(x.type)[0].is_float:
                message = f"cannot differentiate with respect to {key!r} of type {x.type}, expected f32 or f64"
                raise error("E5005", message, operation=self.func, type=str(x.type))
            chosen[ids[x]] = x
        return [chosen[n] for n in sorted(chosen)]

    def _known_values(self, ids: dict[SSAValue, int]) -> dict[int | str, list[SSAValue]]:
        """The values of the primal by ValueId, by input name, and by SSA name, in this order of precedence."""
        known: dict[int | str, list[SSAValue]] = {n: [x] for x, n in ids.items()}
        known |= {name: [x] for name, x in zip(self.names, self.primal.args, strict=True)}
        for x, name in self.ssa_names.items():
            if x in ids and name not in self.names:
                known.setdefault(name, []).append(x)
        return known

    def _select_loss(self) -> SSAValue:
        """The output to differentiate."""
        found, name, wanted = outputs(self.func), self.func.sym_name.data, self.options.output
        if not found:
            raise error("E4003", f"@{name} has no output to differentiate", operation=self.func, index=0, value=None)
        if wanted is None and len(found) > 1:
            message = f"@{name} has {len(found)} outputs, choose one with output=0 to output={len(found) - 1}"
            raise error("E7001", message, operation=self.func, option="output")
        if not 0 <= (wanted or 0) < len(found):
            message = f"output={wanted} of @{name}, expected 0 to {len(found) - 1}"
            raise error("E7001", message, operation=self.func, option="output")
        loss = found[wanted or 0]
        if not read_type(loss.type)[0].is_float:
            message = f"cannot differentiate an output of type {loss.type}, expected f32 or f64"
            raise error("E5005", message, operation=self.func, type=str(loss.type))
        return loss

    def _repeat_primal(self) -> list[CoreOp]:
        """Copy the instructions of the primal into the gradient function."""
        for original, copy in zip(self.primal.args, self.block.args, strict=True):
            copy.name_hint = original.name_hint
        ops: list[CoreOp] = []
        for op in self.primal.ops:
            if not isinstance(op, CoreOp):
                continue
            copy = type(op).create(
                operands=[self.copies[x] for x in op.operands],
                result_types=[op.result.type],
                properties=op.properties,
                attributes=op.attributes,
                location=op.location,
            )
            copy.result.name_hint = op.result.name_hint
            self.copies[op.result] = copy.result
            self.block.add_op(copy)
            ops.append(copy)
        return ops

    def _varied(self, ops: Sequence[CoreOp]) -> set[SSAValue]:
        """The floating-point values that depend on a differentiated one; adjoints flow only through these."""
        varied = {self.copies[x] for x in self.wrt}
        for op in ops:
            if op.dtype.is_float and any(x in varied for x in op.operands):
                varied.add(op.result)
        return varied

    def _seed(self, loss: SSAValue) -> SSAValue:
        """The adjoint of the loss."""
        (_, shape), seed = read_type(loss.type), self.options.seed
        if seed == "cotangent":
            self.cotangent = self.block.insert_arg(loss.type, len(self.block.args))
            return self.cotangent
        if seed not in (None, "one", "ones"):
            raise error("E7001", f"seed={seed}, expected one, ones or cotangent", option="seed")
        if seed != "ones" and shape:
            message = f"the loss has shape {list(shape)}, expected rank 0, or seed=ones or seed=cotangent"
            raise error("E5004", message, operation=self.func, shapes=(shape, ()))
        return self._filled(1.0, loss)

    def _filled(self, value: float, like: SSAValue) -> SSAValue:
        dtype, shape = read_type(like.type)
        number = scalar(value, dtype)
        return self._insert(BroadcastToOp(number, shape=shape) if shape else number, None)

    def _propagate(self, op: CoreOp, varied: set[SSAValue]) -> None:
        """Add to the adjoints of the operands what `op` passes on of the adjoint of its result."""
        g = self.adjoints.get(op.result)
        if g is None:
            return
        for x, rule in zip(op.operands, self._rules(op), strict=True):
            if x not in varied or rule is None:
                continue
            x_adj = self._insert(unbroadcast(self._insert(rule(op, g), op), x), op)
            if x_adj.type != x.type:
                raise self._misfit(op, x_adj, x)
            old = self.adjoints.get(x)
            self.adjoints[x] = x_adj if old is None else self._insert(self._sum(old, x_adj), op)

    def _misfit(self, op: CoreOp, x_adj: SSAValue, x: SSAValue) -> MindError:
        """An adjoint of another type than its operand: a wrong rule for a verified op, else a wrong op."""
        message = f"{op.place()}: the adjoint of an operand of type {x.type} has type {x_adj.type}"
        if self.options.verify:
            return error("E5002", message, operation=op, inner="E4015")
        return error("E5004", message, operation=op, shapes=(str(x_adj.type), str(x.type)))

    @staticmethod
    def _sum(old: SSAValue, new: SSAValue) -> AddOp:
        return AddOp.create(operands=[old, new], result_types=[old.type])  # of one type: nothing to infer

    def _rules(self, op: CoreOp) -> tuple[Rule | None, ...]:
        """The rules of `op`; E5001 if it has none that may be used."""
        kind, reason = type(op), None
        if kind not in RULES:
            reason = "it has no derivative rule"
        elif kind in OPTIONAL and not self.options.div_gradient:
            reason = OPTIONAL[kind]
        elif kind in REFUSED_UNDER and REFUSED_UNDER[kind][0] is self.profile:
            reason = REFUSED_UNDER[kind][1]
        if reason is not None:
            place = op.place()
            raise MindError("E5001", f"{place}: cannot be differentiated: {reason}", {"op": op.OPCODE, "id": place}, op)
        return RULES[kind]

    def _insert(self, value: Value, source: Operation | None) -> SSAValue:
        """Append the unattached ops that `value` is made of, operands first, at the place in the text of `source`."""
        value = value_of(value)
        if isinstance(value, OpResult) and (op := value.op).parent is None:
            for x in op.operands:
                self._insert(x, source)
            if source is not None:
                op.location = source.location
            self.block.add_op(op)
        return value

    def _gradient(self, x: SSAValue) -> SSAValue:
        """The adjoint of `x`, or explicit zeros where the loss does not reach it."""
        return self.adjoints[x] if x in self.adjoints else self._filled(0.0, x)

    def _function(self, results: Sequence[SSAValue]) -> FuncOp:
        """Wrap the block into `@f_grad` with the attributes that say whose gradient it is."""
        func, ids = self.func, value_ids(self.primal)
        arguments = list(func.arg_attrs.data) if func.arg_attrs is not None else [DictionaryAttr({}) for _ in self.primal.args]
        if self.cotangent is not None:
            taken, name = set(self.names), "cotangent"
            while name in taken:
                name += "_"
            arguments.append(DictionaryAttr({NAME_ATTRIBUTE: StringAttr(name), COTANGENT_ATTRIBUTE: UnitAttr()}))
            self.cotangent.name_hint = name
        stated = any(a.data for a in arguments)
        gradient = FuncOp(
            self.name,
            FunctionType.from_lists([a.type for a in self.block.args], [r.type for r in results]),
            Region(self.block),
            arg_attrs=ArrayAttr(arguments) if stated else None,
        )
        attributes: dict[str, Attribute] = {
            GRAD_OF: SymbolRefAttr(func.sym_name.data),
            GRAD_WRT: DenseArrayBase.from_list(i64, [ids[x] for x in self.wrt]),
        }
        if self.profile is not profile_of(func.parent_op()):
            attributes[PROFILE_ATTRIBUTE] = StringAttr(str(self.profile))
        gradient.attributes.update(attributes)
        gradient.location = func.location
        return gradient


def unbroadcast(g: SSAValue, x: SSAValue) -> Value:
    """Sum the adjoint `g` over the axes along which `x` was repeated: first those prepended, then those stretched."""
    if g.type == x.type:
        return g
    source, target = read_type(x.type)[1], read_type(g.type)[1]
    if len(source) > len(target):
        return g
    prepended, stretched = broadcast_axes(source, target)
    result: Value = g
    if prepended:
        result = SumOp(result, axes=prepended, keepdims=False)
    if stretched:
        result = SumOp(result, axes=[a - len(prepended) for a in stretched], keepdims=True)
    return result
