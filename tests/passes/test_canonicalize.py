"""Every rewrite of mind-canonicalize, where it applies and where it must not: tables closed over the rule tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.transforms.dead_code_elimination import DeadCodeElimination

import mind_passes.canonicalize as module_under_test
from canonicalize_rows import ROWS, Row, function
from evaluator import evaluate, only_function, same_bits, special_inputs
from mind_dialect.core import AddOp, CoreOp, TransposeOp
from mind_dialect.errors import MindError
from mind_dialect.types import F32, tensor_type
from mind_dialect.verify import verify
from mind_passes.canonicalize import MindCanonicalizePass, canonicalize
from mind_passes.rewrites import FLOAT_RULES, RULES
from mind_passes.rewrites.constants import FOLD_LIMIT
from mind_passes.rewrites.normal_forms import NORMAL_FORMS
from programs import context, parse

OFFSETS = range(14)


def canonical(text: str, *, fold_floats: bool = False) -> str:
    module = parse(text)
    verify(module)
    MindCanonicalizePass(fold_floats=fold_floats).apply(context(), module)
    verify(module)
    return str(module)


def agree(before: ModuleOp, after: ModuleOp) -> bool:
    """Whether two functions give the same bits for every combination of special numbers."""
    for offset in OFFSETS:
        results = []
        for module in (before, after):
            try:
                results.append(evaluate(module, special_inputs(module, offset)))
            except IndexError:
                results.append(None)
        a, b = results
        if (a is None) != (b is None):
            return False
        if a is not None and not all(map(same_bits, a, b)):
            return False
    return True


@pytest.fixture
def fired(monkeypatch: pytest.MonkeyPatch) -> set[tuple[type[CoreOp], str]]:
    """The pairs of op class and rule that apply while the test runs."""
    seen: set[tuple[type[CoreOp], str]] = set()

    def watch(cls: type[CoreOp], rule: Callable) -> Callable:
        def watched(op: CoreOp):
            found = rule(op)
            if found is not None:
                seen.add((cls, rule.__name__))
            return found

        return watched

    for table in ("RULES", "FLOAT_RULES"):
        rules = {cls: tuple(watch(cls, rule) for rule in found) for cls, found in getattr(module_under_test, table).items()}
        monkeypatch.setattr(module_under_test, table, rules)
    return seen


ids = [row.name for row in ROWS]


@pytest.mark.parametrize("row", ROWS, ids=ids)
def test_rule_applies(row: Row, fired: set[tuple[type[CoreOp], str]]) -> None:
    text = function(row.inputs, row.fires, row.profile)
    expected = parse(function(row.inputs, row.becomes, row.profile))
    assert canonical(text, fold_floats=row.fold_floats) == str(expected)
    assert (row.op, row.rule.__name__) in fired
    assert agree(parse(text), expected)


@pytest.mark.parametrize("row", ROWS, ids=ids)
def test_rule_must_not_apply(row: Row, fired: set[tuple[type[CoreOp], str]]) -> None:
    text = function(row.stays_inputs or row.inputs, row.stays, row.profile)
    assert canonical(text, fold_floats=row.fold_floats) == str(parse(text))
    assert (row.op, row.rule.__name__) not in fired
    if row.wrong is not None:
        careless = parse(function(row.stays_inputs or row.inputs, row.wrong, row.profile))
        assert not agree(parse(text), careless), "the side condition guards against nothing"


UNSORTED = "xDSL's driver numbers no ops, so that it cannot sort the operands of Add and Mul"
STOCK_DIFFERS = {("Sub-sub_neg", "fires"): UNSORTED}
"""Where xDSL's `canonicalize` gives another program than ours, and why; our pass makes it the same."""


@pytest.mark.parametrize("which", ["fires", "stays"])
@pytest.mark.parametrize("row", ROWS, ids=ids)
def test_the_stock_pass_gives_the_same(row: Row, which: str) -> None:
    body, inputs = (row.fires, row.inputs) if which == "fires" else (row.stays, row.stays_inputs or row.inputs)
    stock, ours = (parse(function(inputs, body, row.profile)) for _ in range(2))
    verify(ours)
    CanonicalizePass().apply(context(), stock)
    verify(stock)
    canonicalize(only_function(ours))
    assert stock.is_structurally_equivalent(ours) == ((row.name, which) not in STOCK_DIFFERS)
    canonicalize(only_function(stock))
    assert str(stock) == str(ours)


def test_stock_dce_erases_what_ours_does() -> None:
    text = """func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> {
      %a = mind.exp %x : tensor<3xf32>
      %b = mind.index %x indices = [7] : tensor<3xf32> -> tensor<f32>
      %c = mind.add %a, %b : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
      %d = mind.neg %x : tensor<3xf32>
      func.return %d : tensor<3xf32> }"""
    stock, ours = parse(text), parse(text)
    DeadCodeElimination().apply(context(), stock)
    canonicalize(only_function(ours))
    assert stock.is_structurally_equivalent(ours)


@pytest.mark.quick
def test_every_rule_has_a_row() -> None:
    rules = {(cls, rule.__name__) for cls, found in FLOAT_RULES.items() for rule in found}
    assert {(row.op, row.rule.__name__) for row in ROWS} == rules


def test_rules_state_equation_and_condition() -> None:
    for cls, rules in RULES.items():
        for rule in rules:
            assert rule.__doc__ is not None, rule.__name__
            assert rule.__doc__.strip().startswith("`"), f"{rule.__name__} of {cls.__name__} has no equation"
            assert "=" in rule.__doc__ or "is x" in rule.__doc__, rule.__name__


@dataclass(frozen=True)
class Form:
    """One spelling and the normal one: `{op}` stands for the op's name where a form serves several."""

    op: str
    inputs: str
    before: str
    after: str


FORMS = [
    *(
        form
        for op in ("sum", "mean")
        for form in (
            Form(op, "%x: tensor<2x3x4xf32>", "%x axes = [-1, 0] keepdims = true : tensor<2x3x4xf32> -> tensor<1x3x1xf32>",
                 "%x axes = [0, 2] keepdims = true : tensor<2x3x4xf32> -> tensor<1x3x1xf32>"),
            Form(op, "%x: tensor<2x3xf32>", "%x axes = [1, 0] keepdims = false : tensor<2x3xf32> -> tensor<f32>",
                 "%x axes = [] keepdims = false : tensor<2x3xf32> -> tensor<f32>"),
            Form(op, "%x: tensor<2x3xf32>", "%x axes = [] keepdims = true : tensor<2x3xf32> -> tensor<f32>",
                 "%x axes = [] keepdims = false : tensor<2x3xf32> -> tensor<f32>"),
        )
    ),
    Form("reshape", "%x: tensor<2x6xf32>", "%x new_shape = [-1, 3] : tensor<2x6xf32> -> tensor<4x3xf32>",
         "%x new_shape = [4, 3] : tensor<2x6xf32> -> tensor<4x3xf32>"),
    Form("expand_dims", "%x: tensor<3xf32>", "%x axes = [-1, 0] : tensor<3xf32> -> tensor<1x3x1xf32>",
         "%x axes = [0, 2] : tensor<3xf32> -> tensor<1x3x1xf32>"),
    Form("squeeze", "%x: tensor<1x3x1xf32>", "%x axes = [-1, 0] : tensor<1x3x1xf32> -> tensor<3xf32>",
         "%x axes = [0, 2] : tensor<1x3x1xf32> -> tensor<3xf32>"),
    Form("slice", "%x: tensor<9x5x4xf32>",
         "%x starts = [-3, 2, 3] ends = [8, 4, 1] steps = [3, 7, 2] : tensor<9x5x4xf32> -> tensor<3x1x0xf32>",
         "%x starts = [0, 2, 0] ends = [7, 3, 0] steps = [3, 1, 1] : tensor<9x5x4xf32> -> tensor<3x1x0xf32>"),
    Form("slice_scatter", "%x: tensor<2x1xf32>",
         "%x shape = [5, 4] starts = [1, 2] steps = [2, 9] : tensor<2x1xf32> -> tensor<5x4xf32>",
         "%x shape = [5, 4] starts = [1, 2] steps = [2, 1] : tensor<2x1xf32> -> tensor<5x4xf32>"),
    Form("conv2d", "%x: tensor<1x3x3x1xf32>, %w: tensor<2x2x1x1xf32>",
         "%x, %w strides = [1, 1] padding = [[0, 0], [0, 0]] : "
         "(tensor<1x3x3x1xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x2x1xf32>",
         "%x, %w strides = [1, 1] padding = Valid : (tensor<1x3x3x1xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x2x1xf32>"),
    *(
        Form(f"conv2d_backward_{which}", "%x: tensor<1x2x2x1xf32>, %w: tensor<2x2x1x1xf32>",
             f"{operands} shape = [{shape}] strides = [1, 1] padding = [[0, 0], [0, 0]] : {types}",
             f"{operands} shape = [{shape}] strides = [1, 1] padding = Valid : {types}")
        for which, operands, shape, types in (
            ("input", "%x, %w", "1, 3, 3, 1", "(tensor<1x2x2x1xf32>, tensor<2x2x1x1xf32>) -> tensor<1x3x3x1xf32>"),
            ("filter", "%x, %x", "1, 1, 1, 1", "(tensor<1x2x2x1xf32>, tensor<1x2x2x1xf32>) -> tensor<1x1x1x1xf32>"),
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.op)
def test_normal_form(form: Form) -> None:
    result = form.after.rsplit(" ", 1)[1]
    before, after = (
        function(form.inputs, f"%0 = mind.{form.op} {line}\nreturn %0 : {result}", "core-v1.1")
        for line in (form.before, form.after)
    )
    assert canonical(before) == str(parse(after)) != str(parse(before))
    stock = parse(before)
    CanonicalizePass().apply(context(), stock)
    assert stock.is_structurally_equivalent(parse(after))
    if "conv2d_backward" not in form.op:
        assert agree(parse(before), parse(after))


@pytest.mark.quick
def test_every_normal_form_has_a_row() -> None:
    assert {f"mind.{form.op}" for form in FORMS} == {cls.name for cls in NORMAL_FORMS}


def test_properties_come_in_the_order_of_the_class() -> None:
    text = """func.func @f(%x: tensor<2x3xf32>) -> tensor<2x1xf32> {
      %0 = "mind.sum"(%x) <{keepdims = true, axes = array<i64: 1>}> : (tensor<2x3xf32>) -> tensor<2x1xf32>
      func.return %0 : tensor<2x1xf32> }"""
    module = parse(text)
    canonicalize(only_function(module))
    (op, _) = only_function(module).body.block.ops
    assert list(op.properties) == ["axes", "keepdims"]


def test_operands_of_add_and_mul_ascend_and_of_sub_do_not() -> None:
    text = """func.func @f(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
      %a = mind.add %y, %x : tensor<3xf32>
      %b = mind.sub %a, %x : tensor<3xf32>
      %c = mind.mul %b, %a : tensor<3xf32>
      %d = mind.sub %c, %y : tensor<3xf32>
      func.return %d : tensor<3xf32> }"""
    lines = [line.strip() for line in canonical(text).splitlines()[2:6]]
    assert lines == [
        "%0 = mind.add %x, %y : tensor<3xf32>",
        "%1 = mind.sub %0, %x : tensor<3xf32>",
        "%2 = mind.mul %0, %1 : tensor<3xf32>",
        "%3 = mind.sub %2, %y : tensor<3xf32>",
    ]


def test_dead_code_goes_and_interface_stays() -> None:
    text = """func.func @f(%unused: tensor<3xf32>, %x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
      %dead = mind.exp %unused : tensor<3xf32>
      %dead_too = mind.add %dead, %x : tensor<3xf32>
      %y = mind.exp %x : tensor<3xf32>
      func.return %y, %y : tensor<3xf32>, tensor<3xf32> }"""
    expected = """func.func @f(%unused: tensor<3xf32>, %x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
      %0 = mind.exp %x : tensor<3xf32>
      func.return %0, %0 : tensor<3xf32>, tensor<3xf32> }"""
    assert canonical(text) == str(parse(expected))


def test_equal_ops_stay_apart() -> None:
    text = function("%x: tensor<3xf32>", """
      %0 = mind.exp %x : tensor<3xf32>
      %1 = mind.exp %x : tensor<3xf32>
      %2 = mind.add %0, %1 : tensor<3xf32>
      return %2 : tensor<3xf32>""")  # fmt: skip
    assert canonical(text) == str(parse(text))


def test_inputs_keep_their_names_and_take_their_stated_ones() -> None:
    text = """func.func @f(%a: tensor<3xf32> {mind.name = "x"}, %b: tensor<3xf32>, %c: tensor<3xf32> {mind.name = "a b"})
        -> tensor<3xf32> {
      %named = mind.sub %b, %a : tensor<3xf32>
      %also = mind.sub %named, %c : tensor<3xf32>
      func.return %also : tensor<3xf32> }"""
    module = parse(text)
    func = only_function(module)
    canonicalize(func)
    assert [argument.name_hint for argument in func.body.block.args] == ["x", "b", None]
    assert [op.results[0].name_hint for op in func.body.block.ops if op.results] == [None, None]


def test_a_replaced_result_does_not_name_an_input() -> None:
    t = tensor_type(F32, (2, 3))
    block = Block(arg_types=[t])
    first = TransposeOp(block.args[0], permutation=[1, 0])
    second = TransposeOp(first.result, permutation=[1, 0])
    second.result.name_hint = "result"
    block.add_ops([first, second, ReturnOp(second.result)])
    canonicalize(FuncOp("f", ((t,), (t,)), Region(block)))
    assert block.args[0].name_hint is None
    assert [op.name for op in block.ops] == ["func.return"]


def test_new_ops_stand_where_the_old_ones_stood() -> None:
    module = parse(function("%x: tensor<2x3x4xf32>", """
      %0 = mind.transpose %x permutation = [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
      %1 = mind.transpose %0 permutation = [1, 0, 2] : tensor<3x4x2xf32> -> tensor<4x3x2xf32>
      return %1 : tensor<4x3x2xf32>"""))  # fmt: skip
    block = only_function(module).body.block
    place = FileLineColLoc(StringAttr("model.mlir"), IntAttr(7), IntAttr(3))
    list(block.ops)[1].location = place
    canonicalize(only_function(module))
    assert [op.location for op in block.ops][:1] == [place]


def test_notes_of_others_stay_on_ops_that_stay() -> None:
    text = """func.func @f(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<f32> {
      %0 = mind.add %y, %x {tool.note = "a"} : tensor<2x3xf32>
      %1 = mind.sum %0 axes = [1, 0] keepdims = false {tool.note = "b"} : tensor<2x3xf32> -> tensor<f32>
      func.return %1 : tensor<f32> }"""
    printed = canonical(text)
    assert 'mind.add %x, %y {tool.note = "a"}' in printed
    assert 'axes = [] keepdims = false {tool.note = "b"}' in printed


def test_profile_stays() -> None:
    text = function("%x: tensor<3xf32>", "%0 = mind.exp %x : tensor<3xf32>\nreturn %0 : tensor<3xf32>", "core-v1.1")
    assert 'mind.profile = "core-v1.1"' in canonical(text)


MIXED = """func.func @mixed(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = mind.neg %x : tensor<3xf32>
  %1 = mind.neg %0 : tensor<3xf32>
  %2 = "test.op"(%1) : (tensor<3xf32>) -> tensor<3xf32>
  func.return %2 : tensor<3xf32>
}
"""
FOREIGN = """func.func @foreign(%x: i32) -> i32 {
  %dead = arith.addi %x, %x : i32
  func.return %x : i32
}
func.func private @declared(i32) -> i32
"""


def test_functions_without_our_ops_are_left_alone() -> None:
    assert canonical(FOREIGN) == str(parse(FOREIGN))


def test_a_mixed_function_is_refused() -> None:
    with pytest.raises(MindError, match=r"E4000: @mixed .* found test\.op"):
        canonical(MIXED)


def test_a_mixed_function_is_left_alone_on_request() -> None:
    pure = MIXED.replace("@mixed", "@pure").replace('"test.op"(%1) : (tensor<3xf32>) ->', "mind.exp %1 :")
    module = parse(MIXED + pure)
    MindCanonicalizePass(skip_mixed=True).apply(context(), module)
    mixed, other = module.body.block.ops
    assert str(mixed) == str(parse(MIXED).body.block.first_op)
    assert len(list(other.regions[0].block.ops)) == 2


def test_use_before_definition_is_refused() -> None:
    t = tensor_type(F32, (3,))
    block = Block(arg_types=[t])
    later = AddOp(block.args[0], block.args[0])
    sooner = AddOp(later.result, block.args[0])
    block.add_ops([sooner, later, ReturnOp(sooner.result)])
    with pytest.raises(MindError, match="E4001"):
        canonicalize(FuncOp("f", ((t,), (t,)), Region(block)))


def filled(shape: str, number: str) -> str:
    return f"mind.constant fill {number} : tensor<{shape}xi64>"


def test_what_is_materialised_has_a_limit() -> None:
    """`x * 0` writes zeros out up to the limit, keeps a fill a fill beyond it, and else stays."""

    def times_zero(shape: str, zero: str) -> str:
        type = zero.rsplit(": ", 1)[1]
        return canonical(function(f"%x: tensor<{shape}xi64>", f"""
          %0 = {zero}
          %1 = mind.mul %x, %0 : (tensor<{shape}xi64>, {type}) -> tensor<{shape}xi64>
          return %1 : tensor<{shape}xi64>"""))  # fmt: skip

    scalar = "mind.const_i64 0 : tensor<i64>"
    assert "mind.mul" not in times_zero(f"{FOLD_LIMIT}", scalar)
    assert "mind.mul" in times_zero(f"{FOLD_LIMIT + 1}", scalar)
    assert filled("99999999x3", "0") in times_zero("99999999x3", filled("3", "0"))


@pytest.mark.parametrize(("count", "folds"), [(FOLD_LIMIT, True), (FOLD_LIMIT + 1, False)])
def test_what_is_folded_has_a_limit(count: int, folds: bool) -> None:
    row = ", ".join(["1"] * count)
    text = function("", f"""
      %0 = mind.constant [{row}] : tensor<{count}xi64>
      %1 = mind.add %0, %0 : tensor<{count}xi64>
      return %1 : tensor<{count}xi64>""")  # fmt: skip
    assert ("mind.add" not in canonical(text)) is folds


def test_a_fill_of_any_size_folds_as_a_fill() -> None:
    text = function("", f"""
      %0 = {filled("99999999x1", "7")}
      %1 = {filled("99999999", "-5")}
      %2 = mind.mul %0, %1 : (tensor<99999999x1xi64>, tensor<99999999xi64>) -> tensor<99999999x99999999xi64>
      return %2 : tensor<99999999x99999999xi64>""")  # fmt: skip
    assert filled("99999999x99999999", "-35") in canonical(text)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("op", ["add", "sub", "mul"])
def test_folded_floats_are_what_numpy_computes(dtype: str, op: str) -> None:
    kernel = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[op]
    numpy_dtype = np.dtype(dtype.replace("f", "float"))
    rng = np.random.default_rng(7)
    limits = {"f32": (-149, 128), "f64": (-1074, 1023)}[dtype]
    with np.errstate(all="ignore"):
        a, b = (np.ldexp(rng.uniform(-2, 2, 200), rng.integers(*limits, 200)).astype(numpy_dtype) for _ in "ab")
        expected = kernel(a, b)
    keep = ~np.isnan(expected)
    a, b, expected = a[keep], b[keep], expected[keep]
    texts = [_mlir_list(v) for v in (a, b)]
    n = len(a)
    module = parse(function("", f"""
      %0 = mind.constant {texts[0]} : tensor<{n}x{dtype}>
      %1 = mind.constant {texts[1]} : tensor<{n}x{dtype}>
      %2 = mind.{op} %0, %1 : tensor<{n}x{dtype}>
      return %2 : tensor<{n}x{dtype}>"""))  # fmt: skip
    canonicalize(only_function(module), fold_floats=True)
    (constant, _) = only_function(module).body.block.ops
    assert constant.name == "mind.constant"
    assert same_bits(evaluate(module, [])[0], expected)


def _mlir_list(values: np.ndarray) -> str:
    def text(v: float) -> str:
        mantissa, e, exponent = repr(v).partition("e")
        return mantissa + (".0" if e and "." not in mantissa else "") + e + exponent

    return "[" + ", ".join(text(float(v)) for v in values) + "]"


def test_names_are_kept_on_request():
    text = """func.func @f(%x: tensor<2xf64>, %y: tensor<2xf64>) -> tensor<2xf64> {
  %n = mind.neg %y : tensor<2xf64>
  %h = mind.add %x, %n : tensor<2xf64>
  %nn = mind.neg %n : tensor<2xf64>
  %s = mind.add %h, %nn : tensor<2xf64>
  func.return %s : tensor<2xf64>
}"""
    module = parse(text)
    MindCanonicalizePass(keep_names=True).apply(context(), module)
    assert [op.results[0].name_hint for op in only_function(module).body.block.ops if op.results] == ["h", "s"]
    assert [x.name_hint for x in only_function(module).body.block.args] == ["x", "y"]
    assert "%h" not in canonical(text)


def test_a_kept_value_is_neither_replaced_nor_erased_nor_looked_through():
    text = """func.func @f(%x: tensor<2xf64>, %y: tensor<2xf64>) -> tensor<2xf64> {
  %n = mind.neg %y : tensor<2xf64>
  %h = mind.add %n, %x : tensor<2xf64>
  %nn = mind.neg %n : tensor<2xf64>
  %s = mind.add %nn, %h : tensor<2xf64>
  %dead = mind.exp %s : tensor<2xf64>
  func.return %s : tensor<2xf64>
}"""
    everything = only_function(parse(text))
    ops = list(everything.body.block.ops)[:-1]
    canonicalize(everything, keep=[op.results[0] for op in ops])
    left = list(everything.body.block.ops)[:-1]
    assert [id(op) for op in left] == [id(op) for op in ops]
    n, h, nn, s, _ = (op.results[0] for op in left)
    x, y = everything.body.block.args
    assert [tuple(op.operands) for op in left] == [(y,), (x, n), (n,), (h, nn), (s,)], "operands are sorted all the same"
    some = only_function(parse(text))
    _, h_op, *_ = some.body.block.ops
    canonicalize(some, keep=[h_op.results[0]])
    assert [op.name for op in some.body.block.ops] == ["mind.neg", "mind.add", "mind.add", "func.return"]
