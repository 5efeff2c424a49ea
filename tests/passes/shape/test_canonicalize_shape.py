"""The canonical form: what is no constant is left alone, where MLIR is wrong ours differs, and time is linear."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from xdsl.dialects import ub
from xdsl.dialects.builtin import Float32Type, FloatAttr, IntegerAttr, ModuleOp, StringAttr, f32, i32
from xdsl.ir import Attribute, Block, Operation
from xdsl.parser import Parser
from xdsl.traits import ConstantLike
from xdsl.transforms.canonicalize import CanonicalizePass

from counting import calls
from mind_dialect.shape import AddOp, BroadcastOp, ConstShapeOp, ConstSizeOp, CstrRequireOp, NumElementsOp
from mind_dialect.shape.types import extents_type, index, shape, size
from mind_passes.shape.canonicalize import canonicalize
from mind_passes.shape.constants import constant, make
from mind_passes.shape.folds import FOLDS
from mind_passes.shape.rewrites import REWRITES
from programs import context


def canonical(body: str, arguments: str = "") -> str:
    """The canonical form of a function body."""
    module = Parser(context(), f"func.func @f({arguments}) {{\n{body}\nfunc.return }}").parse_module()
    module.verify()
    canonicalize(context(), module)
    module.verify()
    return str(module)


def test_a_poisoned_operand_is_no_constant() -> None:
    poison = ub.PoisonOp(extents_type(2))
    other = ConstShapeOp.of([1, 2])
    op = BroadcastOp(poison, other, result_types=[shape])
    block = Block([poison, other, op])
    assert [constant(v) for v in op.operands] == [None, (1, 2)]
    assert block.last_op is op


@pytest.mark.parametrize(
    "attribute", [StringAttr("x"), IntegerAttr(3, i32), FloatAttr(1.0, f32), IntegerAttr(-3, index)], ids=lambda a: str(a)
)
def test_a_constant_with_an_odd_attribute_is_no_constant(attribute: Attribute) -> None:
    assert constant(ConstSizeOp.create(properties={"value": attribute}, result_types=[size]).results[0]) is None
    assert constant(ConstShapeOp.create(properties={"shape": attribute}, result_types=[shape]).results[0]) is None
    assert constant(ConstSizeOp.create(result_types=[size]).results[0]) is None


def test_odd_constants_are_left_alone_by_the_pass() -> None:
    module = Parser(
        context(), 'func.func @f() {\n%a = arith.constant 1.0 : f32\n"test.op"(%a) : (f32) -> ()\nfunc.return }'
    ).parse_module()
    block = next(iter(module.ops)).regions[0].block
    odd = ConstSizeOp.create(properties={"value": StringAttr("x")}, result_types=[size])
    total = AddOp.create(operands=[odd.results[0]] * 2, result_types=[size])
    use: Operation = block.last_op.prev_op  # pyright: ignore[reportAssignmentType, reportOptionalMemberAccess]
    block.insert_ops_before([odd, total], use)
    use.operands = [total.results[0]]
    canonicalize(context(), module)
    assert "shape.add" in str(module)


@pytest.mark.parametrize(
    ("value", "type", "made"),
    [
        (3, size, True),
        (-3, size, False),
        (1 << 63, size, False),
        (-3, index, True),
        (1 << 63, index, False),
        ((1, 2), shape, True),
        ((1, 2), extents_type(2), True),
        ((1, 2), extents_type(3), False),
        ((1, 2), extents_type(None), False),
        ((1 << 63,), shape, False),
        ((1,) * 1001, shape, False),
        (True, index, False),
        (3, Float32Type(), False),
    ],
)
def test_constants_are_made_where_a_type_can_hold_them(value: object, type: Attribute, made: bool) -> None:
    assert (make(value, type) is not None) == made  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("body", "stays"),
    [
        (
            "%a = shape.const_witness false\nshape.assuming %a {\n"
            '%x = "test.op"() : () -> index\n}',
            "shape.assuming",
        ),
        (
            "%a = arith.constant 9223372036854775807 : index\n%b = arith.constant 2 : index\n"
            '%c = shape.mul %a, %b : index, index -> index\n"test.op"(%c) : (index) -> ()',
            "shape.mul",
        ),
        (
            "%a = shape.const_shape [-1, 4] : !shape.shape\n%c = shape.num_elements %a : !shape.shape -> !shape.size\n"
            '"test.op"(%c) : (!shape.size) -> ()',
            "shape.num_elements",
        ),
        (
            "%a = shape.const_shape [-1, 4] : !shape.shape\n%i = arith.constant 0 : index\n"
            "%c = shape.get_extent %a, %i : !shape.shape, index -> !shape.size\n"
            '"test.op"(%c) : (!shape.size) -> ()',
            "shape.get_extent",
        ),
        (
            "%i = arith.constant -3 : index\n%c = shape.from_extents %i : index\n"
            '"test.op"(%c) : (!shape.shape) -> ()',
            "shape.from_extents",
        ),
        (
            "%a = shape.const_shape [1, 2] : tensor<2xindex>\n%b = shape.concat %a, %a : tensor<2xindex>, tensor<2xindex> -> "
            'tensor<?xindex>\n"test.op"(%b) : (tensor<?xindex>) -> ()',
            "shape.concat",
        ),
        (
            "%a = shape.const_shape [-1, 1] : !shape.shape\n%b = shape.const_shape [-1, 3] : !shape.shape\n"
            '%w = shape.cstr_broadcastable %a, %b : !shape.shape, !shape.shape\n"test.op"(%w) : (!shape.witness) -> ()',
            "shape.cstr_broadcastable",
        ),
        (
            "%a = arith.constant -1 : index\n%s = shape.const_shape [1, 2] : tensor<2xindex>\n"
            '%b = shape.get_extent %s, %a : tensor<2xindex>, index -> index\n"test.op"(%b) : (index) -> ()',
            "shape.get_extent",
        ),
    ],
)  # fmt: skip
def test_what_mlir_gets_wrong_stays(body: str, stays: str) -> None:
    assert stays in canonical(body)


def test_a_quotient_is_rounded_down_whatever_the_signs() -> None:
    body = (
        "%a = arith.constant 2 : index\n%b = arith.constant -7 : index\n%c = shape.div %a, %b : index, index -> index\n"
        '"test.op"(%c) : (index) -> ()'
    )
    assert "arith.constant -1 : index" in canonical(body)


def test_the_reason_survives_merging_of_constants() -> None:
    body = (
        "%a = shape.const_shape [1] : !shape.shape\n%b = shape.const_shape [3] : !shape.shape\n"
        '%c = shape.broadcast %a, %s, %b {error = "why"} : !shape.shape, !shape.shape, !shape.shape -> !shape.shape\n'
        '"test.op"(%c) : (!shape.shape) -> ()'
    )
    assert '{error = "why"} : !shape.shape, tensor<1xindex>' in canonical(body, "%s: !shape.shape")


def test_the_result_is_canonical_also_with_many_constants() -> None:
    body = "".join(f'%a{n} = shape.const_size {n}\n"test.op"(%a{n}) : (!shape.size) -> ()\n' for n in range(30))
    module = Parser(context(), f"func.func @f() {{ {body} func.return }}").parse_module()
    canonicalize(context(), module)
    first = str(module)
    assert not canonicalize(context(), module)
    assert str(module) == first


def test_tables_are_of_ops_of_the_dialect_or_of_tensor() -> None:
    names = {op.name.partition(".")[0] for op in (*FOLDS, *REWRITES)}
    assert names == {"shape", "tensor"}
    assert NumElementsOp in FOLDS
    assert CstrRequireOp in FOLDS


def chain(n: int) -> str:
    lines = ["%v0 = shape.const_size 1", "%w0 = shape.cstr_eq %s, %t : !shape.shape, !shape.shape"]
    for i in range(1, n):
        lines.append(f"%v{i} = shape.add %v{i - 1}, %v0 : !shape.size, !shape.size -> !shape.size")
        lines.append(f"%c{i} = shape.cstr_broadcastable %s, %s{i % 7} : !shape.shape, !shape.shape")
        lines.append(f"%w{i} = shape.assuming_all %w{i - 1}, %c{i}")
    lines.append(f'"test.op"(%v{n - 1}, %w{n - 1}) : (!shape.size, !shape.witness) -> ()')
    return "\n".join(lines)


def test_linear() -> None:
    arguments = "%s: !shape.shape, %t: !shape.shape, " + ", ".join(f"%s{i}: !shape.shape" for i in range(7))
    few, many = (calls(lambda n=n: canonical(chain(n), arguments)) for n in (100, 400))
    assert many < 5 * few


FILE = Path(__file__).parents[2] / "filecheck/transforms/shape/canonicalize-shape.mlir"
PLACED = "constants stay where folding put them"
STOCK_DIFFERS = {
    **dict.fromkeys(("types", "constants", "constraints", "truths", "poison", "constants_once"), PLACED),
    "through_tensors": "casts and extracts of tensors are ops of another dialect, whose rewrites are not ours to register",
}
"""The functions of the file for which xDSL's `canonicalize` gives another text than ours, and why."""


def filechecked() -> list[Operation]:
    ctx = context()
    ctx.load_dialect(ub.UB)
    return list(Parser(ctx, FILE.read_text()).parse_module().ops)


def computed(module: ModuleOp) -> Counter[str]:
    """How many ops there are that are no constants, by name."""
    return Counter(op.name for op in module.walk() if not op.has_trait(ConstantLike))


@pytest.mark.parametrize("func", filechecked(), ids=lambda func: func.properties["sym_name"].data)
def test_the_stock_pass_gives_the_same(func: Operation) -> None:
    name = func.properties["sym_name"].data  # pyright: ignore
    stock, ours = (ModuleOp([func.clone()]) for _ in range(2))
    CanonicalizePass().apply(context(), stock)
    stock.verify()
    canonicalize(context(), ours)
    assert stock.is_structurally_equivalent(ours) == (name not in STOCK_DIFFERS)
    assert computed(stock) == computed(ours) or STOCK_DIFFERS[name] != PLACED
