"""Every rewrite of ptir-canonicalize, where it applies and where it must not: a table closed over the rule tables."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.transforms.canonicalize import CanonicalizePass

import mind_passes.ptir.canonicalize as module_under_test
from mind_dialect.dominance import walk
from mind_dialect.errors import MindError
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import ALL, Kind
from mind_dialect.verify import verify
from mind_passes.ptir.canonicalize import canonicalize
from mind_passes.ptir.cse import eliminate_common
from mind_passes.ptir.rewrites import ALL_RULES, FAST_RULES, RULES
from mind_passes.ptir.rewrites.casts import lossless
from programs import context, parse
from ptir_evaluator import evaluate, function_of, same_bits, special_inputs
from ptir_oracle import cast, elements, same, samples
from ptir_rewrite_rows import ROWS as REST
from ptir_rewrite_rows import Row, function
from ptir_slice_rows import SLICE_ROWS

ROWS = (*REST, *SLICE_ROWS)
Fired = set[tuple[type[PtirOp], str]]


@pytest.fixture
def fired(monkeypatch: pytest.MonkeyPatch) -> Fired:
    """The pairs of op class and rule that apply while the test runs."""
    seen: Fired = set()

    def watch(cls: type[PtirOp], rule: Callable) -> Callable:
        def watched(op: PtirOp):
            found = rule(op)
            if found is not None:
                seen.add((cls, rule.__name__))
            return found

        return watched

    for table in ("RULES", "ALL_RULES"):
        rules = {cls: tuple(watch(cls, rule) for rule in found) for cls, found in getattr(module_under_test, table).items()}
        monkeypatch.setattr(module_under_test, table, rules)
    return seen


def module_of(arguments: str, body: str) -> ModuleOp:
    module = parse(function(arguments, body))
    verify(module)
    return module


def outcomes(module: ModuleOp, seed: int, size: int = 3) -> list | str:
    func = function_of(module)
    try:
        return evaluate(func, special_inputs(func, seed, size))
    except MindError as e:
        return e.code


def agree(before: ModuleOp, after: ModuleOp) -> None:
    """Two functions give the same bits for many arrangements of special numbers."""
    for seed in range(12):
        a, b = outcomes(before, seed), outcomes(after, seed)
        assert isinstance(a, list) == isinstance(b, list)
        assert isinstance(a, str) or all(map(same_bits, a, b)), (a, b)


CASES = [(row, body) for row in ROWS for body in row.fires]
STAYING = [(row, body) for row in ROWS for body in row.stays]


def case_id(value: object) -> str:
    return value.rule if isinstance(value, Row) else ""


@pytest.mark.parametrize(("row", "body"), CASES, ids=case_id)
def test_rule_applies(row: Row, body: str, fired: Fired) -> None:
    module = module_of(row.arguments, body)
    before = module.clone()
    assert canonicalize(module, fast_math=row.fast)
    assert row.rule in {name for _, name in fired}
    verify(module)
    if not row.fast:
        agree(before, module)
    text = str(module)
    assert not canonicalize(module, fast_math=row.fast)
    assert str(module) == text


@pytest.mark.parametrize(("row", "body"), STAYING, ids=case_id)
def test_rule_does_not_apply(row: Row, body: str, fired: Fired) -> None:
    module = module_of(row.arguments, body)
    before = module.clone()
    canonicalize(module, fast_math=row.fast)
    assert row.rule not in {name for _, name in fired}
    verify(module)
    if not row.fast:
        agree(before, module)


@pytest.mark.parametrize(("row", "body"), CASES + STAYING, ids=case_id)
def test_the_stock_pass_gives_the_same(row: Row, body: str) -> None:
    stock = module_of(row.arguments, body)
    ours = stock.clone()
    CanonicalizePass().apply(context(), stock)
    verify(stock)
    canonicalize(ours)
    assert stock.is_structurally_equivalent(ours)


@pytest.mark.parametrize("row", [row for row in ROWS if row.fast], ids=case_id)
def test_fast_rules_need_to_be_asked_for(row: Row, fired: Fired) -> None:
    for body in row.fires:
        module = module_of(row.arguments, body)
        before = module.clone()
        canonicalize(module)
        agree(before, module)
    assert row.rule not in {name for _, name in fired}


def test_every_rule_of_every_op_has_a_row(fired: Fired) -> None:
    for row in ROWS:
        for body in row.fires:
            canonicalize(module_of(row.arguments, body), fast_math=row.fast)
    rules = {(cls, rule.__name__) for cls, found in ALL_RULES.items() for rule in found}
    assert fired == rules
    assert {row.rule for row in ROWS} == {name for _, name in rules}
    assert FAST_RULES.keys() <= RULES.keys()


def test_a_new_op_has_the_place_and_name_of_the_old_one() -> None:
    module = module_of(ROWS[3].arguments, ROWS[3].fires[0])
    place = FileLineColLoc(StringAttr("file"), IntAttr(3), IntAttr(4))
    last = [op for op in walk(module) if isinstance(op, PtirOp)][-1]
    last.location = place
    canonicalize(module)
    (op,) = (op for op in walk(module) if isinstance(op, PtirOp))
    assert op.name == "ptir.sub"
    assert op.location == place
    assert op.results[0].name_hint == "r"


@pytest.mark.parametrize("source", ALL, ids=str)
@pytest.mark.parametrize("target", ALL, ids=str)
def test_lossless_casts_are_those_that_keep_every_number(source, target) -> None:
    """8-bit dtypes in all their numbers, others in the greatest, least, smallest and special ones."""
    if source.kind is Kind.COMPLEX or target.kind is Kind.COMPLEX:
        pytest.skip("the parts decide, see below")
    if source.bits <= 8:
        data = bytes(range(2 if source.bits == 1 else 16 if source.bits == 4 else 256))
        values = list(source.element.unpack(data))
    else:
        values = elements(samples(source, 20))
        if source.kind is Kind.FLOAT:
            values += [source.element.check(1 + 2.0**-k) for k in range(1, 53)]
        else:
            values += [(1 << k) - 1 for k in range(source.bits)]
            values = [v for v in values if source.element.least <= v <= source.element.most]
    kept = all(same(cast(cast(v, target), source), v) for v in values)
    if target.kind is not Kind.BOOL:
        assert kept == lossless(source, target)


def test_parts_decide_for_complex_numbers() -> None:
    names = {d.name: d for d in ALL}
    for source, target, kept in [("cf32", "cf64", True), ("cf64", "cf32", False), ("f64", "cf32", False), ("si16", "cf32", True)]:
        assert lossless(names[source], names[target]) is kept
    assert not lossless(names["cf32"], names["f32"])


def test_regions_are_canonicalised_too() -> None:
    module = parse(
        """module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @f(%n: tensor<si32>, %x: tensor<4xf32>) -> tensor<4xf32> {
    %i, %r = ptir.while %n, %x : (tensor<si32>, tensor<4xf32>) -> (tensor<si32>, tensor<4xf32>) cond {
    ^bb0(%a: tensor<si32>, %b: tensor<4xf32>):
      %z = ptir.constant 0 : tensor<si32>
      %dead = ptir.exp %b : tensor<4xf32>
      %p = ptir.compare %a, %z kind = greater : (tensor<si32>, tensor<si32>) -> tensor<i1>
      ptir.yield %p, %a, %b : tensor<i1>, tensor<si32>, tensor<4xf32>
    } body {
    ^bb0(%a: tensor<si32>, %b: tensor<4xf32>):
      %one = ptir.constant 1 : tensor<si32>
      %less = ptir.sub %a, %one : tensor<si32>
      %c = ptir.neg %b : tensor<4xf32>
      %d = ptir.neg %c : tensor<4xf32>
      %e = ptir.add %d, %b : tensor<4xf32>
      ptir.yield %less, %e : tensor<si32>, tensor<4xf32>
    }
    func.return %r : tensor<4xf32>
  }
}"""
    )
    before = module.clone()
    canonicalize(module)
    verify(module)
    names = [op.name for op in walk(module)]
    assert "ptir.neg" not in names
    assert "ptir.exp" not in names
    arguments = [np.int32(3), np.arange(4, dtype=np.float32)]
    a, b = (evaluate(function_of(m), arguments) for m in (before, module))
    assert all(map(same_bits, a, b))


@pytest.mark.parametrize(
    ("given", "normal"),
    [
        ("%r = ptir.reduce %x kind = sum axes = [-1, 0] keepdims = true accum_dtype = f32 out_dtype = f32"
         " : tensor<2x4xf32> -> tensor<1x1xf32>", "axes = [0, 1] keepdims = true :"),
        ("%r = ptir.reduce %x kind = sum axes = [1] keepdims = true accum_dtype = f64 : tensor<2x4xf32> -> tensor<2x1xf32>",
         "accum_dtype = f64"),
        ("%r = ptir.reshape %x new_shape = [-1, 2] : tensor<2x4xf32> -> tensor<4x2xf32>", "new_shape = [4, 2]"),
        ("%r = ptir.sort %x axis = -1 descending = false : tensor<2x4xf32>", "axis = 1"),
        ("%r = ptir.iota shape = [3, 2] dtype = f32 axis = -1 : () -> tensor<3x2xf32>", "axis = 1"),
        ("%r = ptir.transpose %x perm = [-1, 0] : tensor<2x4xf32> -> tensor<4x2xf32>", "perm = [1, 0]"),
        ("%r = ptir.reverse %x axes = [-1, 0] : tensor<2x4xf32>", "axes = [0, 1]"),
        ("%r = ptir.dot_general %x, %x batch_lhs = [] batch_rhs = [] contract_lhs = [-1, 0] contract_rhs = [-1, -2]"
         " accum_dtype = f32 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<f32>",
         "contract_lhs = [0, 1] contract_rhs = [0, 1] :"),
        ("%r = ptir.arg_max %x axis = -2 keepdims = false output_dtype = si32 : tensor<2x4xf32> -> tensor<4xsi32>", "axis = 0"),
    ],
)  # fmt: skip
def test_properties_have_one_spelling(given: str, normal: str) -> None:
    module = module_of("%x: tensor<2x4xf32>", given)
    before = module.clone()
    canonicalize(module)
    verify(module)
    assert normal in str(module)
    agree(before, module)


def test_an_odd_function_of_both_signs_is_computed_once() -> None:
    """As in `cdf(d)` and `cdf(-d)`, where `cdf(x)` is `1 + erf(x / c)`: all that is left of the second is a subtraction."""
    body = """%c = ptir.constant fill 1.4142135 : tensor<8xf32>; %one = ptir.constant fill 1.0 : tensor<8xf32>
        ; %n = ptir.neg %x : tensor<8xf32>
        ; %a = ptir.div %x, %c : tensor<8xf32>; %b = ptir.div %n, %c : tensor<8xf32>
        ; %f = ptir.erf %a : tensor<8xf32>; %g = ptir.erf %b : tensor<8xf32>
        ; %p = ptir.add %one, %f : tensor<8xf32>; %q = ptir.add %one, %g : tensor<8xf32>
        ; %r = ptir.mul %p, %q : tensor<8xf32>"""
    module = module_of("%x: tensor<8xf32>", body)
    before = module.clone()
    canonicalize(module)
    eliminate_common(module)
    codes = [op.OPCODE for op in walk(module) if isinstance(op, PtirOp)]
    assert (codes.count("erf"), codes.count("div"), codes.count("sub")) == (1, 1, 1)
    agree(before, module)


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "maximum", "minimum", "pow"])
def test_rules_follow_one_another_on_constants(op: str) -> None:
    """What a rule makes of two constants, `1 / 2` as `1 * 0.5`, may itself be one of the constants that it has made."""
    numbers = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5]
    values = [*(f"%c{i}" for i in range(len(numbers))), "%x", "%y"]
    lines = [f"%c{i} = ptir.constant fill {n} : tensor<3xf32>" for i, n in enumerate(numbers)]
    lines.append("%y = ptir.neg %x : tensor<3xf32>")
    pairs = [(a, b) for a in values for b in values]
    results = [f"%r{i}" for i, _ in enumerate(pairs)]
    lines += [f"{r} = ptir.{op} {a}, {b} : tensor<3xf32>" for r, (a, b) in zip(results, pairs, strict=True)]
    types = ", ".join(["tensor<3xf32>"] * len(pairs))
    lines.append(f"%all = ptir.concat {', '.join(results)} axis = 0 : ({types}) -> tensor<{3 * len(pairs)}xf32>")
    module = module_of("%x: tensor<3xf32>", "; ".join(lines))
    before = module.clone()
    canonicalize(module)
    verify(module)
    agree(before, module)
