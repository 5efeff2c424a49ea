"""
Transposes of filters, moved from `@f_prepare` back to the convolutions of `@f`.

A target that packs the filters of convolutions for all calls reads a transpose as a view of the weight, so each filter is copied
once, from the weight to where kernels read it. A transpose in `@f_prepare` is one more copy, and one more program.

The pass moves transposes of filters alone: kernels of convolutions pack each filter whose columns are not contiguous, while other
ops may read a transposed weight where it is, in each call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.lazy_dataclass import dataclass
from mind_dialect.program import functions, input_names, stated_attributes
from mind_dialect.ptir import ConvolutionOp, TransposeOp
from mind_dialect.ptir.types import read_type

from .dead_ops import erase_dead
from .split_parameters import PREPARE_ATTRIBUTE, inputs_of


def _is_given(name: str) -> bool:
    return True


def prepared_filters(func: FuncOp, prepare: FuncOp, is_given: Callable[[str], bool] = _is_given) -> list[int]:
    """
    Return the numbers of the results of `prepare` that transpose given weights, and that convolutions of `func` read as filters.

    There are none where an extent of an input is open: the code for each size would pack the weights again.
    """
    arguments, values = func.body.block.args, _results(prepare)
    found: list[int] = []
    for number, (value, argument) in enumerate(zip(values, arguments[len(arguments) - len(values) :], strict=False)):
        owner = value.owner
        if not isinstance(owner, TransposeOp) or not isinstance(weight := owner.operands[0], BlockArgument):
            continue
        is_filter = all(isinstance(use.operation, ConvolutionOp) and use.index == 1 for use in argument.uses)
        if is_filter and is_given(input_names(prepare)[weight.index]):
            found.append(number)
    return found if all(read_type(argument.type).is_static for argument in (arguments if found else ())) else []


def sink_filters(func: FuncOp, prepare: FuncOp, numbers: Sequence[int]) -> None:
    """Move the results of these numbers, which `prepared_filters` found, to `func`; erase `prepare` if nothing is left of it."""
    block, values = func.body.block, _results(prepare)
    inputs, weights = inputs_of(func), inputs_of(prepare)
    known = dict(zip(input_names(func), block.args, strict=True))
    first = len(block.args) - len(values)
    gone = [block.args[first + number] for number in numbers]
    for number, argument in zip(numbers, gone, strict=True):
        transpose = values[number].owner
        assert isinstance(transpose, TransposeOp), "found before"
        (weight,) = transpose.operands
        name = input_names(prepare)[weight.index] if isinstance(weight, BlockArgument) else ""
        if name not in known:
            known[name] = block.insert_arg(weight.type, len(block.args) - len(values))
            known[name].name_hint = weight.name_hint
            inputs[known[name]] = weights[weight]
        made = transpose.clone({weight: known[name]})
        if block.first_op is None:
            block.add_op(made)
        else:
            block.insert_op_before(made, block.first_op)
        argument.replace_all_uses_with(made.result)
    for argument in gone:
        block.erase_arg(argument)
    func.update_function_type()
    func.arg_attrs = stated_attributes(inputs[argument] for argument in block.args)
    _shorten(func, prepare, [value for number, value in enumerate(values) if number not in numbers])


def _shorten(func: FuncOp, prepare: FuncOp, values: Sequence[SSAValue]) -> None:
    """Let `prepare` compute these values alone; erase it if there are none."""
    module = prepare.parent
    assert module is not None, "in a module"
    if not values:
        del func.attributes[PREPARE_ATTRIBUTE]
        module.erase_op(prepare)
        return
    block, inputs = prepare.body.block, inputs_of(prepare)
    assert block.last_op is not None
    block.erase_op(block.last_op)
    block.add_op(ReturnOp(*values))
    erase_dead(prepare)
    for argument in reversed(block.args):
        if not argument.first_use:
            block.erase_arg(argument)
    prepare.update_function_type()
    prepare.arg_attrs = stated_attributes(inputs[argument] for argument in block.args)


def _results(prepare: FuncOp) -> Sequence[SSAValue]:
    """Return what a function of one block returns; nothing where it ends otherwise."""
    ending = prepare.body.block.last_op
    return ending.operands if isinstance(ending, ReturnOp) else ()


@dataclass(frozen=True)
class PtirSinkFiltersPass(ModulePass):
    """Move transposes of filters from `@f_prepare` to `@f`, where the target packs them."""

    name = "mind-ptir-sink-filters"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        known = {func.sym_name.data: func for func in functions(op)}
        for func in known.values():
            symbol = func.attributes.get(PREPARE_ATTRIBUTE)
            prepare = known.get(symbol.string_value()) if isinstance(symbol, SymbolRefAttr) else None
            if prepare is not None and (numbers := prepared_filters(func, prepare)):
                sink_filters(func, prepare, numbers)
