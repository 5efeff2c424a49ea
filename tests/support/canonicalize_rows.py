"""
The rewrites of mind-canonicalize by example: a program each applies to and what becomes of it, a program it must leave alone.

`wrong` is what a careless rule would make of the latter: the test shows with special numbers that it is another program.
"""

# ruff: noqa: E501
# fmt: off

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mind_dialect import core
from mind_dialect.core import CoreOp
from mind_passes.rewrites import constants, elementwise, structural


def function(inputs: str, body: str, profile: str | None = None) -> str:
    """A module of one function; the last line of `body` is `return VALUES : TYPES`."""
    *ops, last = body.strip().splitlines()
    returned = last.strip().removeprefix("return ")
    attributes = f' attributes {{mind.profile = "{profile}"}}' if profile else ""
    types = returned.split(" : ", 1)[1]
    lines = "\n".join(f"  {op.strip()}" for op in ops)
    return f"func.func @f({inputs}) -> ({types}){attributes} {{\n{lines}\n  func.return {returned}\n}}"


@dataclass(frozen=True)
class Row:
    """One rule on one op."""

    op: type[CoreOp]
    rule: Callable
    inputs: str
    fires: str
    becomes: str
    stays: str
    wrong: str | None
    """None where the rule could go on but has a limit, or where the wrong program is no program."""
    stays_inputs: str | None = None
    profile: str | None = None
    fold_floats: bool = False
    note: str = ""

    @property
    def name(self) -> str:
        return "-".join(filter(None, (self.op.OPCODE, self.rule.__name__, self.note)))


def binary(name: str, a: str, b: str, type: str, out: str | None = None) -> str:
    """`%2 = mind.NAME %0, %1` of two constants, returned."""
    out = out or type
    return f"%0 = {a}\n%1 = {b}\n%2 = mind.{name} %0, %1 : {type}\nreturn %2 : {out}"


def only(constant: str) -> str:
    """A constant, returned."""
    return f"%0 = {constant}\nreturn %0 : {constant.rsplit(' : ', 1)[1]}"


MIN64, MAX64, MIN32, MAX32 = -(2**63), 2**63 - 1, -(2**31), 2**31 - 1


def i64(value: int) -> str:
    return f"mind.const_i64 {value} : tensor<i64>"


def f32(value: str) -> str:
    return f"mind.const_f32 {value} : tensor<f32>"


FOLDS = [
    Row(core.AddOp, constants.fold_integers, "",
        binary("add", "mind.constant [[1], [2]] : tensor<2x1xi32>", "mind.constant [10, 20] : tensor<2xi32>", "(tensor<2x1xi32>, tensor<2xi32>) -> tensor<2x2xi32>", "tensor<2x2xi32>"),
        only("mind.constant [[11, 21], [12, 22]] : tensor<2x2xi32>"),
        binary("add", "mind.constant [1, 2] : tensor<2xi32>", f"mind.constant [1, {MAX32 - 1}] : tensor<2xi32>", "tensor<2xi32>"),
        only(f"mind.constant [2, {MAX32}] : tensor<2xi32>")),
    Row(core.SubOp, constants.fold_integers, "",
        binary("sub", i64(-3), i64(MAX64 - 2), "tensor<i64>"), only(i64(MIN64)),
        binary("sub", i64(-4), i64(MAX64 - 2), "tensor<i64>"), only(i64(MIN64))),
    Row(core.MulOp, constants.fold_integers, "",
        binary("mul", "mind.constant fill 6 : tensor<3x4xi32>", "mind.constant fill -7 : tensor<4xi32>", "(tensor<3x4xi32>, tensor<4xi32>) -> tensor<3x4xi32>", "tensor<3x4xi32>"),
        only("mind.constant fill -42 : tensor<3x4xi32>"),
        binary("mul", i64(2**32), i64(2**31), "tensor<i64>"), only(i64(MAX64))),
    Row(core.NegOp, constants.fold_integers, "",
        f"%0 = mind.constant [5, {-MAX32}] : tensor<2xi32>\n%1 = mind.neg %0 : tensor<2xi32>\nreturn %1 : tensor<2xi32>",
        only(f"mind.constant [-5, {MAX32}] : tensor<2xi32>"),
        f"%0 = mind.constant [5, {MIN32}] : tensor<2xi32>\n%1 = mind.neg %0 : tensor<2xi32>\nreturn %1 : tensor<2xi32>",
        only(f"mind.constant [-5, {MAX32}] : tensor<2xi32>")),
    Row(core.AddOp, constants.fold_floats, "", fold_floats=True,
        fires=binary("add", f32("1.0e+08"), f32("3.0"), "tensor<f32>"), becomes=only(f32("100000000.0")),
        stays=binary("add", f32("inf"), f32("-inf"), "tensor<f32>"), wrong=only(f32("0.0"))),
    Row(core.SubOp, constants.fold_floats, "", fold_floats=True,
        fires=binary("sub", "mind.constant [0.1, -0.0] : tensor<2xf64>", "mind.constant [0.3, 0.0] : tensor<2xf64>", "tensor<2xf64>"),
        becomes=only("mind.constant [-0.19999999999999998, -0.0] : tensor<2xf64>"),
        stays=binary("sub", "mind.constant [1.0, inf] : tensor<2xf64>", "mind.constant [2.0, inf] : tensor<2xf64>", "tensor<2xf64>"),
        wrong=only("mind.constant [-1.0, 0.0] : tensor<2xf64>")),
    Row(core.MulOp, constants.fold_floats, "", fold_floats=True,
        fires=binary("mul", f32("3.0e+38"), f32("-2.0"), "tensor<f32>"), becomes=only(f32("-inf")),
        stays=binary("mul", f32("inf"), f32("0.0"), "tensor<f32>"), wrong=only(f32("0.0"))),
    Row(core.NegOp, constants.fold_floats, "", fold_floats=True,
        fires=f"%0 = {f32('0.0')}\n%1 = mind.neg %0 : tensor<f32>\nreturn %1 : tensor<f32>", becomes=only(f32("-0.0")),
        stays=f"%0 = {f32('nan')}\n%1 = mind.neg %0 : tensor<f32>\nreturn %1 : tensor<f32>", wrong=only(f32("0.0"))),
]


def with_constant(op: str, constant: str, *, first: bool = False) -> str:
    """`x OP c` on `%x: tensor<14xT>`, or `c OP x`."""
    type = constant.rsplit(" : ", 1)[1]
    element = type.removesuffix(">").rsplit("<", 1)[1].rsplit("x", 1)[-1]
    out = f"tensor<14x{element}>"
    operands, types = ("%0, %x", f"({type}, {out})") if first else ("%x, %0", f"({out}, {type})")
    if type == out:
        return f"%0 = {constant}\n%1 = mind.{op} {operands} : {out}\nreturn %1 : {out}"
    return f"%0 = {constant}\n%1 = mind.{op} {operands} : {types} -> {out}\nreturn %1 : {out}"


def just_x(element: str) -> str:
    return f"return %x : tensor<14x{element}>"


def unary(op: str, element: str) -> str:
    return f"%0 = mind.{op} %x : tensor<14x{element}>\nreturn %0 : tensor<14x{element}>"


XI, XF, XD = "%x: tensor<14xi32>", "%x: tensor<14xf32>", "%x: tensor<14xf64>"
XI64 = "%x: tensor<14xi64>"
SPREAD = "%0 = mind.constant {c} : tensor<14x1xf32>\n%1 = mind.{op} %x, %0 : (tensor<14xf32>, tensor<14x1xf32>) -> tensor<14x14xf32>\nreturn %1 : tensor<14x14xf32>"

IDENTITIES = [
    Row(core.AddOp, elementwise.add_zero, XF, with_constant("add", f32("-0.0"), first=True), just_x("f32"),
        with_constant("add", f32("0.0")), just_x("f32")),
    Row(core.AddOp, elementwise.add_zero, XI64, with_constant("add", i64(0)), just_x("i64"),
        with_constant("add", i64(1)), just_x("i64"), note="integers"),
    Row(core.AddOp, elementwise.add_zero, XF, with_constant("add", "mind.constant fill -0.0 : tensor<14xf32>"), just_x("f32"),
        SPREAD.format(op="add", c="fill -0.0"), just_x("f32"), note="the type is kept"),
    Row(core.SubOp, elementwise.sub_zero, XF, with_constant("sub", f32("0.0")), just_x("f32"),
        with_constant("sub", f32("-0.0")), just_x("f32")),
    Row(core.SubOp, elementwise.sub_zero, XF, with_constant("sub", "mind.constant [0.0] : tensor<1xf32>"), just_x("f32"),
        with_constant("sub", "mind.constant [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.0] : tensor<14xf32>"), just_x("f32"), note="zeros of both signs"),
    Row(core.SubOp, elementwise.sub_zero, XI, with_constant("sub", "mind.constant 0 : tensor<i32>"), just_x("i32"),
        with_constant("sub", "mind.constant [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1] : tensor<14xi32>"), just_x("i32"), note="integers"),
    Row(core.SubOp, elementwise.sub_from_zero, XF, with_constant("sub", f32("-0.0"), first=True), unary("neg", "f32"),
        with_constant("sub", f32("0.0"), first=True), unary("neg", "f32")),
    Row(core.SubOp, elementwise.sub_from_zero, XI64, with_constant("sub", i64(0), first=True), unary("neg", "i64"),
        with_constant("sub", i64(-1), first=True), unary("neg", "i64"), note="integers"),
    Row(core.MulOp, elementwise.mul_one, XF, with_constant("mul", f32("1.0"), first=True), just_x("f32"),
        with_constant("mul", "mind.constant [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, nan] : tensor<14xf32>"), just_x("f32")),
    Row(core.MulOp, elementwise.mul_one, XF, with_constant("mul", "mind.constant [1.0] : tensor<1xf32>"), just_x("f32"),
        SPREAD.format(op="mul", c="fill 1.0"), just_x("f32"), note="the type is kept"),
    Row(core.MulOp, elementwise.mul_minus_one, XI64, with_constant("mul", i64(-1)), unary("neg", "i64"),
        with_constant("mul", i64(1 - 2**63)), unary("neg", "i64")),
    Row(core.MulOp, elementwise.mul_minus_one, XF, with_constant("mul", f32("-1.0")), unary("neg", "f32"),
        SPREAD.format(op="mul", c="fill -1.0"), unary("neg", "f32"), note="floats"),
    Row(core.MulOp, elementwise.mul_zero, XI64, with_constant("mul", i64(0)), only("mind.constant [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] : tensor<14xi64>"),
        with_constant("mul", f32("0.0")), only("mind.constant [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0] : tensor<14xf32>"), XF),
    Row(core.MulOp, elementwise.mul_zero, "%x: tensor<i64>, %y: tensor<i64>",
        f"%0 = {i64(0)}\n%1 = mind.mul %x, %0 : tensor<i64>\n%2 = mind.sub %1, %y : tensor<i64>\nreturn %2 : tensor<i64>",
        "%0 = mind.neg %y : tensor<i64>\nreturn %0 : tensor<i64>",
        "%0 = mind.constant 0 : tensor<i32>\n%1 = mind.slice %x starts = [0] ends = [0] steps = [1] : tensor<3xi32> -> tensor<0xi32>\n"
        "%2 = mind.mul %0, %1 : (tensor<i32>, tensor<0xi32>) -> tensor<0xi32>\nreturn %2 : tensor<0xi32>", None, "%x: tensor<3xi32>", note="no constant is empty"),
    Row(core.DivOp, elementwise.div_one, XF, with_constant("div", f32("1.0")), just_x("f32"),
        with_constant("div", f32("1.0"), first=True), just_x("f32"), profile="core-v1.1"),
]

TWO_F = "%x: tensor<14xf32>, %y: tensor<14xf32>"
SIGNS = [
    Row(core.NegOp, elementwise.neg_neg, XF,
        "%0 = mind.neg %x : tensor<14xf32>\n%1 = mind.neg %0 : tensor<14xf32>\nreturn %1 : tensor<14xf32>", just_x("f32"),
        "%0 = mind.relu %x : tensor<14xf32>\n%1 = mind.neg %0 : tensor<14xf32>\nreturn %1 : tensor<14xf32>", just_x("f32")),
    Row(core.NegOp, elementwise.neg_neg, XI,
        "%0 = mind.neg %x : tensor<14xi32>\n%1 = mind.neg %0 : tensor<14xi32>\nreturn %1 : tensor<14xi32>", just_x("i32"),
        unary("neg", "i32"), just_x("i32"), note="integers"),
    Row(core.AddOp, elementwise.add_neg, TWO_F,
        "%0 = mind.neg %x : tensor<14xf32>\n%1 = mind.add %0, %y : tensor<14xf32>\nreturn %1 : tensor<14xf32>",
        "%0 = mind.sub %y, %x : tensor<14xf32>\nreturn %0 : tensor<14xf32>",
        "%0 = mind.neg %x : tensor<14xf32>\n%1 = mind.mul %y, %0 : tensor<14xf32>\nreturn %1 : tensor<14xf32>",
        "%0 = mind.sub %y, %x : tensor<14xf32>\nreturn %0 : tensor<14xf32>"),
    Row(core.AddOp, elementwise.add_neg, "%x: tensor<2x1xi32>, %y: tensor<7xi32>",
        "%0 = mind.neg %y : tensor<7xi32>\n%1 = mind.add %x, %0 : (tensor<2x1xi32>, tensor<7xi32>) -> tensor<2x7xi32>\nreturn %1 : tensor<2x7xi32>",
        "%0 = mind.sub %x, %y : (tensor<2x1xi32>, tensor<7xi32>) -> tensor<2x7xi32>\nreturn %0 : tensor<2x7xi32>",
        "%0 = mind.add %x, %y : (tensor<2x1xi32>, tensor<7xi32>) -> tensor<2x7xi32>\n%1 = mind.neg %0 : tensor<2x7xi32>\nreturn %1 : tensor<2x7xi32>",
        "%0 = mind.sub %x, %y : (tensor<2x1xi32>, tensor<7xi32>) -> tensor<2x7xi32>\nreturn %0 : tensor<2x7xi32>", note="integers"),
    Row(core.AddOp, elementwise.add_neg, TWO_F, note="on the left",
        fires="%0 = mind.neg %x : tensor<14xf32>\n%1 = mind.relu %y : tensor<14xf32>\n%2 = mind.add %0, %1 : tensor<14xf32>\nreturn %2 : tensor<14xf32>",
        becomes="%0 = mind.relu %y : tensor<14xf32>\n%1 = mind.sub %0, %x : tensor<14xf32>\nreturn %1 : tensor<14xf32>",
        stays="%0 = mind.neg %x : tensor<14xf32>\n%1 = mind.relu %0 : tensor<14xf32>\n%2 = mind.add %y, %1 : tensor<14xf32>\nreturn %2 : tensor<14xf32>",
        wrong="%0 = mind.relu %x : tensor<14xf32>\n%1 = mind.sub %y, %0 : tensor<14xf32>\nreturn %1 : tensor<14xf32>"),
    Row(core.SubOp, elementwise.sub_neg, TWO_F,
        "%0 = mind.neg %x : tensor<14xf32>\n%1 = mind.sub %y, %0 : tensor<14xf32>\nreturn %1 : tensor<14xf32>",
        "%0 = mind.add %x, %y : tensor<14xf32>\nreturn %0 : tensor<14xf32>",
        "%0 = mind.neg %x : tensor<14xf32>\n%1 = mind.sub %0, %y : tensor<14xf32>\nreturn %1 : tensor<14xf32>",
        "%0 = mind.add %x, %y : tensor<14xf32>\nreturn %0 : tensor<14xf32>"),
    Row(core.ReluOp, elementwise.relu_relu, XF,
        "%0 = mind.relu %x : tensor<14xf32>\n%1 = mind.relu %0 : tensor<14xf32>\nreturn %1 : tensor<14xf32>", unary("relu", "f32"),
        "%0 = mind.exp %x : tensor<14xf32>\n%1 = mind.relu %0 : tensor<14xf32>\nreturn %1 : tensor<14xf32>", unary("exp", "f32")),
    Row(core.ReluGradOp, elementwise.relu_grad_of_relu, TWO_F,
        "%0 = mind.relu %x : tensor<14xf32>\n%1 = mind.relu_grad %y, %0 : tensor<14xf32>\nreturn %1 : tensor<14xf32>",
        "%0 = mind.relu_grad %y, %x : tensor<14xf32>\nreturn %0 : tensor<14xf32>",
        "%0 = mind.neg %x : tensor<14xf32>\n%1 = mind.relu_grad %y, %0 : tensor<14xf32>\nreturn %1 : tensor<14xf32>",
        "%0 = mind.relu_grad %y, %x : tensor<14xf32>\nreturn %0 : tensor<14xf32>"),
    Row(core.ReluGradOp, elementwise.relu_grad_twice, TWO_F,
        "%0 = mind.relu_grad %y, %x : tensor<14xf32>\n%1 = mind.relu_grad %0, %x : tensor<14xf32>\nreturn %1 : tensor<14xf32>",
        "%0 = mind.relu_grad %y, %x : tensor<14xf32>\nreturn %0 : tensor<14xf32>",
        "%0 = mind.relu_grad %y, %x : tensor<14xf32>\n%1 = mind.relu_grad %0, %y : tensor<14xf32>\nreturn %1 : tensor<14xf32>",
        "%0 = mind.relu_grad %y, %x : tensor<14xf32>\nreturn %0 : tensor<14xf32>"),
]


def implicit(op: str) -> Row:
    """x is spread over rows; y has them already, or has not."""
    swap = {"add": core.AddOp, "sub": core.SubOp, "mul": core.MulOp, "div": core.DivOp}
    spread = "%0 = mind.broadcast_to %y shape = [3, 14] : tensor<14xf32> -> tensor<3x14xf32>"
    return Row(swap[op], elementwise.implicit_broadcast, "%x: tensor<3x1xf32>, %y: tensor<14xf32>", profile="core-v1.1",
        fires=f"{spread}\n%1 = mind.{op} %x, %0 : (tensor<3x1xf32>, tensor<3x14xf32>) -> tensor<3x14xf32>\nreturn %1 : tensor<3x14xf32>",
        becomes=f"%0 = mind.{op} %x, %y : (tensor<3x1xf32>, tensor<14xf32>) -> tensor<3x14xf32>\nreturn %0 : tensor<3x14xf32>",
        stays_inputs="%x: tensor<14xf32>, %y: tensor<14xf32>",
        stays=f"{spread}\n%1 = mind.{op} %x, %0 : (tensor<14xf32>, tensor<3x14xf32>) -> tensor<3x14xf32>\nreturn %1 : tensor<3x14xf32>",
        wrong=f"%0 = mind.{op} %x, %y : tensor<14xf32>\nreturn %0 : tensor<14xf32>")


def one(name: str, op: type[CoreOp]) -> list[Row]:
    stays = f"%0 = mind.{name} %x axes = [1] keepdims = true : tensor<14x1xf32> -> tensor<14x1xf32>\nreturn %0 : tensor<14x1xf32>"
    return [
        Row(op, structural.reduction_of_one, "%x: tensor<14x1xi32>",
            f"%0 = mind.{name} %x axes = [1] keepdims = true : tensor<14x1xi32> -> tensor<14x1xi32>\nreturn %0 : tensor<14x1xi32>",
            "return %x : tensor<14x1xi32>", stays, "return %x : tensor<14x1xf32>", "%x: tensor<14x1xf32>"),
        Row(op, structural.reduction_of_one, "%x: tensor<1x1xi32>",
            f"%0 = mind.{name} %x axes = [] keepdims = true : tensor<1x1xi32> -> tensor<i32>\nreturn %0 : tensor<i32>",
            "%0 = mind.squeeze %x axes = [0, 1] : tensor<1x1xi32> -> tensor<i32>\nreturn %0 : tensor<i32>",
            f"%0 = mind.{name} %x axes = [0] keepdims = false : tensor<2x1xi32> -> tensor<1xi32>\nreturn %0 : tensor<1xi32>", None, "%x: tensor<2x1xi32>", note="all axes"),
    ]


X6 = "%x: tensor<2x7xi32>"
MOVES = [
    *(implicit(op) for op in ("add", "sub", "mul", "div")),
    *one("sum", core.SumOp),
    *one("mean", core.MeanOp),
    Row(core.ReshapeOp, structural.unchanged, X6,
        "%0 = mind.reshape %x new_shape = [-1, 7] : tensor<2x7xi32> -> tensor<2x7xi32>\nreturn %0 : tensor<2x7xi32>", "return %x : tensor<2x7xi32>",
        "%0 = mind.reshape %x new_shape = [7, 2] : tensor<2x7xi32> -> tensor<7x2xi32>\nreturn %0 : tensor<7x2xi32>", "return %x : tensor<2x7xi32>"),
    Row(core.ExpandDimsOp, structural.unchanged, X6,
        "%0 = mind.expand_dims %x axes = [] : tensor<2x7xi32> -> tensor<2x7xi32>\nreturn %0 : tensor<2x7xi32>", "return %x : tensor<2x7xi32>",
        "%0 = mind.expand_dims %x axes = [0] : tensor<2x7xi32> -> tensor<1x2x7xi32>\nreturn %0 : tensor<1x2x7xi32>", "return %x : tensor<2x7xi32>"),
    Row(core.SqueezeOp, structural.unchanged, "%x: tensor<1x7xi32>",
        "%0 = mind.squeeze %x axes = [] : tensor<1x7xi32> -> tensor<1x7xi32>\nreturn %0 : tensor<1x7xi32>", "return %x : tensor<1x7xi32>",
        "%0 = mind.squeeze %x axes = [0] : tensor<1x7xi32> -> tensor<7xi32>\nreturn %0 : tensor<7xi32>", "return %x : tensor<1x7xi32>"),
    Row(core.SliceOp, structural.unchanged, X6,
        "%0 = mind.slice %x starts = [0, 0] ends = [2, 7] steps = [1, 1] : tensor<2x7xi32> -> tensor<2x7xi32>\nreturn %0 : tensor<2x7xi32>", "return %x : tensor<2x7xi32>",
        "%0 = mind.slice %x starts = [0, 0] ends = [2, 7] steps = [1, 2] : tensor<2x7xi32> -> tensor<2x4xi32>\nreturn %0 : tensor<2x4xi32>", "return %x : tensor<2x7xi32>"),
    Row(core.BroadcastToOp, structural.unchanged, X6,
        "%0 = mind.broadcast_to %x shape = [2, 7] : tensor<2x7xi32> -> tensor<2x7xi32>\nreturn %0 : tensor<2x7xi32>", "return %x : tensor<2x7xi32>",
        "%0 = mind.broadcast_to %x shape = [1, 2, 7] : tensor<2x7xi32> -> tensor<1x2x7xi32>\nreturn %0 : tensor<1x2x7xi32>", "return %x : tensor<2x7xi32>"),
    Row(core.SliceScatterOp, structural.unchanged, "%x: tensor<14xf32>",
        "%0 = mind.slice_scatter %x shape = [14] starts = [0] steps = [1] : tensor<14xf32> -> tensor<14xf32>\nreturn %0 : tensor<14xf32>", just_x("f32"),
        "%0 = mind.slice_scatter %x shape = [15] starts = [1] steps = [1] : tensor<14xf32> -> tensor<15xf32>\nreturn %0 : tensor<15xf32>", just_x("f32")),
    Row(core.ReshapeOp, structural.view_of_view, X6,
        "%0 = mind.reshape %x new_shape = [14] : tensor<2x7xi32> -> tensor<14xi32>\n%1 = mind.reshape %0 new_shape = [7, 2] : tensor<14xi32> -> tensor<7x2xi32>\nreturn %1 : tensor<7x2xi32>",
        "%0 = mind.reshape %x new_shape = [7, 2] : tensor<2x7xi32> -> tensor<7x2xi32>\nreturn %0 : tensor<7x2xi32>",
        "%0 = mind.transpose %x permutation = [1, 0] : tensor<2x7xi32> -> tensor<7x2xi32>\n%1 = mind.reshape %0 new_shape = [2, 7] : tensor<7x2xi32> -> tensor<2x7xi32>\nreturn %1 : tensor<2x7xi32>",
        "return %x : tensor<2x7xi32>"),
    Row(core.ExpandDimsOp, structural.view_of_view, X6,
        "%0 = mind.expand_dims %x axes = [1] : tensor<2x7xi32> -> tensor<2x1x7xi32>\n%1 = mind.expand_dims %0 axes = [0, 2] : tensor<2x1x7xi32> -> tensor<1x2x1x1x7xi32>\nreturn %1 : tensor<1x2x1x1x7xi32>",
        "%0 = mind.expand_dims %x axes = [0, 2, 3] : tensor<2x7xi32> -> tensor<1x2x1x1x7xi32>\nreturn %0 : tensor<1x2x1x1x7xi32>",
        "%0 = mind.slice %x starts = [0, 0, 0] ends = [0, 1, 3] steps = [1, 1, 1] : tensor<2x1x3xi32> -> tensor<0x1x3xi32>\n%1 = mind.squeeze %0 axes = [1] : tensor<0x1x3xi32> -> tensor<0x3xi32>\n"
        "%2 = mind.expand_dims %1 axes = [0] : tensor<0x3xi32> -> tensor<1x0x3xi32>\nreturn %2 : tensor<1x0x3xi32>", None, "%x: tensor<2x1x3xi32>"),
    Row(core.SqueezeOp, structural.view_of_view, "%x: tensor<1x2x1x7xi32>",
        "%0 = mind.expand_dims %x axes = [0, 4] : tensor<1x2x1x7xi32> -> tensor<1x1x2x1x1x7xi32>\n%1 = mind.squeeze %0 axes = [0, 3, 4] : tensor<1x1x2x1x1x7xi32> -> tensor<1x2x7xi32>\nreturn %1 : tensor<1x2x7xi32>",
        "%0 = mind.squeeze %x axes = [2] : tensor<1x2x1x7xi32> -> tensor<1x2x7xi32>\nreturn %0 : tensor<1x2x7xi32>",
        "%0 = mind.transpose %x permutation = [2, 0, 1] : tensor<2x7x1xi32> -> tensor<1x2x7xi32>\n%1 = mind.squeeze %0 axes = [0] : tensor<1x2x7xi32> -> tensor<2x7xi32>\nreturn %1 : tensor<2x7xi32>",
        "return %x : tensor<2x7x1xi32>", "%x: tensor<2x7x1xi32>"),
    Row(core.SqueezeOp, structural.view_of_view, X6, note="what is left of an expand_dims",
        fires="%0 = mind.expand_dims %x axes = [0, 2, 4] : tensor<2x7xi32> -> tensor<1x2x1x7x1xi32>\n%1 = mind.squeeze %0 axes = [0, 4] : tensor<1x2x1x7x1xi32> -> tensor<2x1x7xi32>\nreturn %1 : tensor<2x1x7xi32>",
        becomes="%0 = mind.expand_dims %x axes = [1] : tensor<2x7xi32> -> tensor<2x1x7xi32>\nreturn %0 : tensor<2x1x7xi32>",
        stays_inputs="%x: tensor<2x1xi32>",
        stays="%0 = mind.neg %x : tensor<2x1xi32>\n%1 = mind.squeeze %0 axes = [1] : tensor<2x1xi32> -> tensor<2xi32>\nreturn %1 : tensor<2xi32>",
        wrong="%0 = mind.squeeze %x axes = [1] : tensor<2x1xi32> -> tensor<2xi32>\nreturn %0 : tensor<2xi32>"),
    Row(core.SqueezeOp, structural.view_of_view, "%x: tensor<2x1x1x7xi32>", note="nested",
        fires="%0 = mind.squeeze %x axes = [1] : tensor<2x1x1x7xi32> -> tensor<2x1x7xi32>\n%1 = mind.squeeze %0 axes = [1] : tensor<2x1x7xi32> -> tensor<2x7xi32>\nreturn %1 : tensor<2x7xi32>",
        becomes="%0 = mind.squeeze %x axes = [1, 2] : tensor<2x1x1x7xi32> -> tensor<2x7xi32>\nreturn %0 : tensor<2x7xi32>",
        stays="%0 = mind.sum %x axes = [3] keepdims = false : tensor<2x1x1x7xi32> -> tensor<2x1x1xi32>\n%1 = mind.squeeze %0 axes = [1] : tensor<2x1x1xi32> -> tensor<2x1xi32>\nreturn %1 : tensor<2x1xi32>",
        wrong=None),
    Row(core.ExpandDimsOp, structural.view_of_view, "%x: tensor<1x2x7xi32>", note="of a squeeze",
        fires="%0 = mind.squeeze %x axes = [0] : tensor<1x2x7xi32> -> tensor<2x7xi32>\n%1 = mind.expand_dims %0 axes = [2] : tensor<2x7xi32> -> tensor<2x7x1xi32>\nreturn %1 : tensor<2x7x1xi32>",
        becomes="%0 = mind.reshape %x new_shape = [2, 7, 1] : tensor<1x2x7xi32> -> tensor<2x7x1xi32>\nreturn %0 : tensor<2x7x1xi32>",
        stays="%0 = mind.sum %x axes = [0] keepdims = false : tensor<1x2x7xf32> -> tensor<2x7xf32>\n%1 = mind.expand_dims %0 axes = [2] : tensor<2x7xf32> -> tensor<2x7x1xf32>\nreturn %1 : tensor<2x7x1xf32>",
        wrong="%0 = mind.reshape %x new_shape = [2, 7, 1] : tensor<1x2x7xf32> -> tensor<2x7x1xf32>\nreturn %0 : tensor<2x7x1xf32>", stays_inputs="%x: tensor<1x2x7xf32>"),
    Row(core.TransposeOp, structural.transpose_identity, "%x: tensor<3x3xi32>",
        "%0 = mind.transpose %x permutation = [0, 1] : tensor<3x3xi32>\nreturn %0 : tensor<3x3xi32>", "return %x : tensor<3x3xi32>",
        "%0 = mind.transpose %x permutation = [1, 0] : tensor<3x3xi32>\nreturn %0 : tensor<3x3xi32>", "return %x : tensor<3x3xi32>"),
    Row(core.TransposeOp, structural.transpose_of_transpose, "%x: tensor<2x3x4xi32>",
        "%0 = mind.transpose %x permutation = [1, 2, 0] : tensor<2x3x4xi32> -> tensor<3x4x2xi32>\n%1 = mind.transpose %0 permutation = [1, 0, 2] : tensor<3x4x2xi32> -> tensor<4x3x2xi32>\nreturn %1 : tensor<4x3x2xi32>",
        "%0 = mind.transpose %x permutation = [2, 1, 0] : tensor<2x3x4xi32> -> tensor<4x3x2xi32>\nreturn %0 : tensor<4x3x2xi32>",
        "%0 = mind.transpose %x permutation = [1, 0] : tensor<2x7xi32> -> tensor<7x2xi32>\n%1 = mind.reshape %0 new_shape = [2, 7] : tensor<7x2xi32> -> tensor<2x7xi32>\n"
        "%2 = mind.transpose %1 permutation = [1, 0] : tensor<2x7xi32> -> tensor<7x2xi32>\nreturn %2 : tensor<7x2xi32>",
        "%0 = mind.reshape %x new_shape = [7, 2] : tensor<2x7xi32> -> tensor<7x2xi32>\nreturn %0 : tensor<7x2xi32>", X6),
    Row(core.TransposeOp, structural.transpose_of_transpose, "%x: tensor<2x3x4xi32>", note="undone",
        fires="%0 = mind.transpose %x permutation = [1, 2, 0] : tensor<2x3x4xi32> -> tensor<3x4x2xi32>\n%1 = mind.transpose %0 permutation = [2, 0, 1] : tensor<3x4x2xi32> -> tensor<2x3x4xi32>\nreturn %1 : tensor<2x3x4xi32>",
        becomes="return %x : tensor<2x3x4xi32>",
        stays="%0 = mind.transpose %x permutation = [1, 2, 0] : tensor<3x3x3xi32>\n%1 = mind.neg %0 : tensor<3x3x3xi32>\n%2 = mind.transpose %1 permutation = [1, 2, 0] : tensor<3x3x3xi32>\nreturn %2 : tensor<3x3x3xi32>",
        wrong="%0 = mind.neg %x : tensor<3x3x3xi32>\nreturn %0 : tensor<3x3x3xi32>", stays_inputs="%x: tensor<3x3x3xi32>"),
    Row(core.BroadcastToOp, structural.broadcast_of_broadcast, "%x: tensor<3x1xi32>",
        "%0 = mind.broadcast_to %x shape = [2, 3, 1] : tensor<3x1xi32> -> tensor<2x3x1xi32>\n%1 = mind.broadcast_to %0 shape = [2, 3, 4] : tensor<2x3x1xi32> -> tensor<2x3x4xi32>\nreturn %1 : tensor<2x3x4xi32>",
        "%0 = mind.broadcast_to %x shape = [2, 3, 4] : tensor<3x1xi32> -> tensor<2x3x4xi32>\nreturn %0 : tensor<2x3x4xi32>",
        "%0 = mind.broadcast_to %x shape = [3, 3] : tensor<3x1xi32> -> tensor<3x3xi32>\n%1 = mind.transpose %0 permutation = [1, 0] : tensor<3x3xi32>\n%2 = mind.broadcast_to %1 shape = [2, 3, 3] : tensor<3x3xi32> -> tensor<2x3x3xi32>\nreturn %2 : tensor<2x3x3xi32>",
        "%0 = mind.broadcast_to %x shape = [2, 3, 3] : tensor<3x1xi32> -> tensor<2x3x3xi32>\nreturn %0 : tensor<2x3x3xi32>"),
    Row(core.SliceOp, structural.slice_of_slice, "%x: tensor<14x3xi32>",
        "%0 = mind.slice %x starts = [1, 1] ends = [14, 3] steps = [2, 1] : tensor<14x3xi32> -> tensor<7x2xi32>\n%1 = mind.slice %0 starts = [1, 1] ends = [7, 2] steps = [3, 1] : tensor<7x2xi32> -> tensor<2x1xi32>\nreturn %1 : tensor<2x1xi32>",
        "%0 = mind.slice %x starts = [3, 2] ends = [10, 3] steps = [6, 1] : tensor<14x3xi32> -> tensor<2x1xi32>\nreturn %0 : tensor<2x1xi32>",
        "%0 = mind.slice %x starts = [1] ends = [5] steps = [1] : tensor<6xi32> -> tensor<4xi32>\n%1 = mind.neg %0 : tensor<4xi32>\n"
        "%2 = mind.slice %1 starts = [2] ends = [4] steps = [1] : tensor<4xi32> -> tensor<2xi32>\nreturn %2 : tensor<2xi32>",
        "%0 = mind.slice %x starts = [3] ends = [5] steps = [1] : tensor<6xi32> -> tensor<2xi32>\nreturn %0 : tensor<2xi32>", "%x: tensor<6xi32>"),
    Row(core.IndexOp, structural.index_of_slice, "%x: tensor<14xi32>",
        "%0 = mind.slice %x starts = [1] ends = [6] steps = [2] : tensor<14xi32> -> tensor<3xi32>\n%1 = mind.index %0 indices = [2] : tensor<3xi32> -> tensor<i32>\nreturn %1 : tensor<i32>",
        "%0 = mind.index %x indices = [5] : tensor<14xi32> -> tensor<i32>\nreturn %0 : tensor<i32>",
        "%0 = mind.slice %x starts = [1] ends = [6] steps = [2] : tensor<14xi32> -> tensor<3xi32>\n%1 = mind.index %0 indices = [3] : tensor<3xi32> -> tensor<i32>\nreturn %1 : tensor<i32>",
        "%0 = mind.index %x indices = [7] : tensor<14xi32> -> tensor<i32>\nreturn %0 : tensor<i32>"),
]

ROWS = [*FOLDS, *IDENTITIES, *SIGNS, *MOVES]
