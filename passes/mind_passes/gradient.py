"""
The gradient function around the reverse walk: what is differentiated, how it is seeded, what is returned.

`Sweep` repeats the function, seeds its loss, walks back, and returns the adjoints of the chosen values: explicit zeros where the
loss does not reach.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DictionaryAttr,
    FunctionType,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from mind_dialect.declared_dims import keep_declarations
from mind_dialect.errors import MindError, error
from mind_dialect.op import DialectOp
from mind_dialect.profiles import PROFILE_ATTRIBUTE, profile_of
from mind_dialect.program import COTANGENT_ATTRIBUTE, NAME_ATTRIBUTE, input_names, stated_attributes, value_ids
from mind_dialect.ptir.types import read_type

from .algebra import CoreAlgebra
from .derivatives.rules import can_vary
from .derivatives.walks import Algebra, Flows, Reverse
from .emit import copy
from .residuals import recompute_marked

GRAD_OF = "mind.grad_of"
"""On `@f_grad`: the function whose gradient it is."""
GRAD_WRT = "mind.grad_wrt"
"""On `@f_grad`: the ValueIds, in `@f`, whose gradients are its last results, in their order."""


@dataclass(frozen=True)
class GradientOptions:
    """
    Options of a gradient: what to differentiate, and how strictly.

    `wrt`: ValueIds in the canonical function, names of inputs, or names of results; None means every floating-point input.
    `output`: which output is the loss, or with cotangents which outputs; None means the only one, or with cotangents all.
    `seed`: `one` for a rank-0 loss, `ones`, or `cotangent` for an extra input per loss; None means `one`. `keep_primal`: return
    the outputs of the function first. `verify`: check the function before and the gradient after. `profile`: overrides the
    function's own. `div_gradient`: differentiate Core IR's `Div`. PTIR only: `checkpoint`: for scans, `every-N` or `sqrt`, save
    the state of every N-th (every sqrt(L)-th) step only and recompute between; `max_iterations`: how often a `while` iterations
    at most, unless it says so itself.
    """

    wrt: tuple[int | str, ...] | None = None
    output: int | tuple[int, ...] | None = None
    seed: str | None = None
    keep_primal: bool = True
    verify: bool = True
    profile: str | None = None
    div_gradient: bool = False
    checkpoint: str | None = None
    max_iterations: int | None = None


class Sweep:
    """One construction of a gradient function: the repeated primal, then its reverse walk."""

    def __init__(
        self, func: FuncOp, name: str, algebra: Algebra, options: GradientOptions, named: Mapping[str, Sequence[SSAValue]]
    ):
        self.func, self.name, self.algebra, self.options = func, name, algebra, options
        self.primal = func.body.block
        self.ids = value_ids(self.primal)
        self.wrt = select_values(func, self.ids, options.wrt, named)
        self.block = Block(arg_types=[a.type for a in self.primal.args])
        self.copies: dict[SSAValue, SSAValue] = dict(zip(self.primal.args, self.block.args, strict=True))
        self.originals: dict[Operation, Operation] = {}
        self.cotangents: list[SSAValue] = []

    def run(self) -> FuncOp:
        """Build the gradient function."""
        losses = self._select_losses()
        end = self._repeat_primal()
        ops = [op for op in self.block.ops if op is not end]
        walk = Reverse(self.block, self.algebra, Flows(self.algebra), verified=self.options.verify)
        walk.vary(ops, [self.copies[x] for x in self.wrt])
        for i in losses:
            seed = self._seed(walk, end.operands[i], i if len(losses) > 1 else None)
            if (
                end.operands[i] in walk.varied
            ):  # a cotangent input belongs to the signature, whether or not anything depends on it
                walk.accumulate(end.operands[i], seed, None)
        try:
            walk.run(ops)
            gradients = [walk.adjoint(self.copies[x]) for x in self.wrt]
        except MindError as e:
            raise self._in_primal(e) from None
        recompute_marked(end)
        primal = list(end.operands) if self.options.keep_primal else []
        end.detach()
        end.erase()
        self.block.add_op(ReturnOp(*primal, *gradients))
        return self._function([*primal, *gradients])

    def _in_primal(self, found: MindError) -> MindError:
        """An error about a copy is one about the op of the function, whose place in definition order may be another."""
        if found.op is None:
            return found.at(self.func, f"@{self.func.sym_name.data}")
        copied = found.op
        if not isinstance(copied, DialectOp) or not isinstance(op := self.originals.get(copied), DialectOp):
            return found
        here, there = copied.place(), op.place()
        context = {k: there if v == here else v for k, v in found.context.items()}
        message = there + found.message[len(here) :] if found.message.startswith(here) else found.message
        return MindError(found.code, message, context, op, found.category)

    def _select_losses(self) -> list[int]:
        """The outputs to differentiate."""
        end = self.primal.last_op
        found, name, wanted = (end.operands if end is not None else ()), self.func.sym_name.data, self.options.output
        if not found:
            raise error("E4003", f"@{name} has no output to differentiate", operation=self.func, index=0, value=None)
        if wanted is None and len(found) > 1:
            if self.options.seed == "cotangent":
                return [i for i, y in enumerate(found) if can_vary(y.type)]
            message = f"@{name} has {len(found)} outputs, choose one with output=0 to output={len(found) - 1}"
            raise error("E7001", message, operation=self.func, option="output")
        chosen = list(wanted) if isinstance(wanted, tuple) else [wanted or 0]
        for i in chosen:
            if not 0 <= i < len(found):
                message = f"output={i} of @{name}, expected 0 to {len(found) - 1}"
                raise error("E7001", message, operation=self.func, option="output")
            if not can_vary(type := found[i].type):
                message = f"cannot differentiate an output of type {type}, expected floating-point numbers"
                raise error("E5005", message, operation=self.func, type=str(type))
        return chosen

    def _repeat_primal(self) -> Operation:
        """Copy the ops of the primal into the gradient function; gives the copy of its terminator."""
        for original, copied in zip(self.primal.args, self.block.args, strict=True):
            copied.name_hint = original.name_hint
        for op in self.primal.ops:
            made = copy(op, self.copies)
            self.originals[made] = op
            self.block.add_op(made)
        last = self.block.last_op
        assert last is not None
        return last

    def _seed(self, walk: Reverse, loss: SSAValue, index: int | None) -> SSAValue:
        """The adjoint of a loss; `index` tells several apart."""
        shape, seed = read_type(loss.type).shape, self.options.seed
        if seed == "cotangent":
            g = self.block.insert_arg(loss.type, len(self.block.args))
            g.name_hint = "cotangent" if index is None else f"cotangent{index}"  # xDSL would strip _0
            self.cotangents.append(g)
            return g
        if seed not in (None, "one", "ones"):
            raise error("E7001", f"seed={seed}, expected one, ones or cotangent", option="seed")
        if seed != "ones" and shape:
            message = f"the loss has shape {list(shape)}, expected rank 0, or seed=ones or seed=cotangent"
            raise error("E5004", message, operation=self.func, shapes=(shape, ()))
        if read_type(loss.type).dtype.name.startswith("cf"):
            message = f"a loss of type {loss.type} has no gradient, expected real numbers; take its real or its absolute value"
            raise error("E5005", f"{message}, or seed=cotangent", operation=self.func, type=str(loss.type))
        return walk.append(self.algebra.filled(1.0, loss))

    def _function(self, results: Sequence[SSAValue]) -> FuncOp:
        """Wrap the block into `@f_grad` with the attributes that say whose gradient it is."""
        func = self.func
        arguments = list(func.arg_attrs.data) if func.arg_attrs is not None else [DictionaryAttr({}) for _ in self.primal.args]
        taken = set(input_names(func))
        for g in self.cotangents:
            name = g.name_hint or "cotangent"
            while name in taken:
                name += "_"
            taken.add(name)
            arguments.append(DictionaryAttr({NAME_ATTRIBUTE: StringAttr(name), COTANGENT_ATTRIBUTE: UnitAttr()}))
            g.name_hint = name
        gradient = FuncOp(
            self.name,
            FunctionType.from_lists([a.type for a in self.block.args], [r.type for r in results]),
            Region(self.block),
            arg_attrs=stated_attributes(arguments),
        )
        attributes: dict[str, Attribute] = {
            GRAD_OF: SymbolRefAttr(func.sym_name.data),
            GRAD_WRT: DenseArrayBase.from_list(i64, [self.ids[x] for x in self.wrt]),
        }
        if isinstance(self.algebra, CoreAlgebra) and self.algebra.profile is not profile_of(func.parent_op()):
            attributes[PROFILE_ATTRIBUTE] = StringAttr(str(self.algebra.profile))
        gradient.attributes.update(attributes)
        keep_declarations(func, gradient)
        gradient.location = func.location
        return gradient


def stated_name(key: str) -> str:
    """A name in `wrt` without the `%` that it may have."""
    return key.removeprefix("%")


def select_values(
    func: FuncOp,
    ids: dict[SSAValue, int],
    wrt: Sequence[int | str] | None,
    named: Mapping[str, Sequence[SSAValue]],
) -> list[SSAValue]:
    """
    The values to differentiate by, in ascending ValueId; None stands for every floating-point input.

    Keys are ValueIds, names of inputs and names of results, in this order of precedence; E7003 for others, E5005 for integer
    values. `named` has results of the block of `func` by name, and may have others, which are no keys.
    """
    if wrt is None:
        return [x for x in func.body.block.args if can_vary(x.type)]
    names = input_names(func)
    known: dict[int | str, list[SSAValue]] = {n: [x] for x, n in ids.items()}
    known |= {name: [x for x in found if x in ids] for name, found in named.items()}
    known |= {name: [x] for name, x in zip(names, func.body.block.args, strict=True)}
    chosen: dict[int, SSAValue] = {}
    for key in wrt:
        found = known.get(stated_name(key) if isinstance(key, str) else key, [])
        if len(found) != 1:
            shown = [*names, *(k for k in known if isinstance(k, str) and k not in names)]
            problem = "names no value" if not found else "names several values"
            message = f"wrt={key} {problem} of @{func.sym_name.data}, expected an id below {len(ids)} or one of {shown}"
            raise error("E7003", message, operation=func, name=key, known=shown)
        x = found[0]
        if not can_vary(x.type):
            message = f"cannot differentiate with respect to {key!r} of type {x.type}, expected floating-point numbers"
            raise error("E5005", message, operation=func, type=str(x.type))
        chosen[ids[x]] = x
    return [chosen[n] for n in sorted(chosen)]
