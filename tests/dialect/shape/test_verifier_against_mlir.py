"""Which types each op of the shape dialect takes and gives: our verifier against a real mlir-opt, over all combinations."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from functools import cache
from itertools import product

import pytest
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.utils.test_value import create_ssa_value

from mind_dialect.errors import CATALOGUE, MindError
from mind_dialect.shape import MODERN_OPS, ShapeOp
from programs import context, parse

ALL = (
    "!shape.shape",
    "!shape.size",
    "!shape.value_shape",
    "!shape.witness",
    "index",
    "i1",
    "tensor<?xindex>",
    "tensor<2xindex>",
    "tensor<3xindex>",
    "tensor<2xi32>",
    "tensor<?x3xf32>",
    "tensor<2x3xindex>",
    "tensor<f32>",
    "tensor<*xf32>",
    "memref<2x?xf32>",
    "vector<2xindex>",
)
FEW = ("!shape.shape", "!shape.size", "index", "tensor<?xindex>", "tensor<2xindex>", "tensor<3xindex>", "!shape.value_shape")
FEWER = FEW[:5]

COUNTS: dict[str, tuple[int, int]] = {
    "shape.add": (2, 1),
    "shape.mul": (2, 1),
    "shape.div": (2, 1),
    "shape.max": (2, 1),
    "shape.min": (2, 1),
    "shape.index_to_size": (1, 1),
    "shape.size_to_index": (1, 1),
    "shape.shape_of": (1, 1),
    "shape.value_of": (1, 1),
    "shape.value_as_shape": (1, 1),
    "shape.with_shape": (2, 1),
    "shape.from_extent_tensor": (1, 1),
    "shape.to_extent_tensor": (1, 1),
    "shape.from_extents": (1, 1),
    "shape.meet": (2, 1),
    "shape.broadcast": (2, 1),
    "shape.any": (2, 1),
    "shape.concat": (2, 1),
    "shape.split_at": (2, 2),
    "shape.get_extent": (2, 1),
    "shape.rank": (1, 1),
    "shape.num_elements": (1, 1),
    "shape.dim": (2, 1),
    "shape.debug_print": (1, 1),
    "shape.is_broadcastable": (2, 1),
    "shape.shape_eq": (2, 1),
    "shape.cstr_broadcastable": (2, 1),
    "shape.cstr_eq": (2, 1),
    "shape.assuming_all": (1, 1),
}
"""Operands and results of the ops that have neither properties nor regions."""
OTHERS = {
    *("shape.const_size", "shape.const_shape", "shape.const_witness", "shape.cstr_require"),  # below
    *("shape.assuming", "shape.assuming_yield", "shape.reduce", "shape.yield"),
    *("shape.func", "shape.return", "shape.function_library"),
}
VARIADIC = {
    "shape.broadcast": ("tensor<?xindex>", "!shape.shape"),
    "shape.any": ("tensor<?xindex>", "!shape.shape"),
    "shape.from_extents": ("!shape.size", "!shape.shape"),
    "shape.is_broadcastable": ("!shape.shape", "i1"),
    "shape.shape_eq": ("!shape.shape", "i1"),
    "shape.cstr_broadcastable": ("!shape.shape", "!shape.witness"),
    "shape.cstr_eq": ("!shape.shape", "!shape.witness"),
    "shape.assuming_all": ("!shape.witness", "!shape.witness"),
}
"""A type for any number of operands, and one for the result."""

Signature = tuple[tuple[str, ...], tuple[str, ...]]


def stricter(op: str, operands: Sequence[str], results: Sequence[str]) -> bool:
    """What we refuse though upstream takes it, because no value could be meant."""
    match op:
        case "shape.meet":  # upstream looks at one operand only when the other is an index
            if "index" in operands and any("xindex" in t for t in operands):
                return True
            lengths = {t for t in (*operands, *results) if t in ("tensor<2xindex>", "tensor<3xindex>")}
            return len(lengths) == 2  # upstream forgets a length beside an unknown one
        case "shape.to_extent_tensor":  # a shape has one dimension of extents
            return results[0] == "tensor<2x3xindex>"
        case "shape.debug_print":  # it passes on what it prints
            return tuple(operands) != tuple(results)
        case _:
            return False


def signatures(op: str) -> list[Signature]:
    """Types to try: all combinations, of fewer types where there are many."""
    operands, results = COUNTS[op]
    types = {2: ALL, 3: FEW, 4: FEWER}[operands + results]
    found = [(c[:operands], c[operands:]) for c in product(types, repeat=operands + results)]
    if op in VARIADIC:
        operand, result = VARIADIC[op]
        found += [((operand,) * count, (result,)) for count in range(5)]
    return found


def operation(op: str, signature: Signature, properties: str = "") -> str:
    """A function that holds the op in generic form, on six lines with the separator."""
    operands, results = signature
    values = ", ".join(f"%x#{i}" for i in range(len(operands)))
    made = f'%x:{max(len(operands), 1)} = "test.op"() : () -> ({", ".join(operands) or "i1"})'
    given = f"%r:{len(results)} = " if results else ""
    return (
        f"func.func @f() {{\n  {made}\n"
        f'  {given}"{op}"({values}) {properties} : ({", ".join(operands)}) -> ({", ".join(results)})\n  func.return\n}}\n'
    )


@cache
def type_of(text: str) -> Attribute:
    return Parser(context(), text).parse_type()


def ours(op: str, signature: Signature) -> ShapeOp:
    """The op as the parser makes it of its generic form."""
    operands, results = ([type_of(t) for t in types] for types in signature)
    (kind,) = (k for k in MODERN_OPS if k.name == op)
    return kind.create(operands=[create_ssa_value(t) for t in operands], result_types=results)


def accepts(op: ShapeOp) -> bool:
    """Whether our verifier takes the op; if not, its error is coded and complete."""
    try:
        op.check()
    except MindError as e:
        if missing := set(CATALOGUE[e.code].context) - e.context.keys():
            pytest.fail(f"{e} lacks {missing}")
        return False
    return True


def theirs(mlir_opt: str, texts: Sequence[str]) -> list[bool]:
    """Whether mlir-opt takes each text."""
    lines = {text.count("\n") for text in texts}
    assert lines == {5}
    command = [mlir_opt, "--allow-unregistered-dialect", "--split-input-file"]
    result = subprocess.run(command, input="// -----\n".join(texts), capture_output=True, text=True, check=False)
    refused = {(int(line) - 1) // 6 for line in re.findall(r"^[^:\n]*:(\d+):\d+: error: ", result.stderr, re.MULTILINE)}
    return [i not in refused for i in range(len(texts))]


@pytest.mark.quick
def test_every_op_is_compared():
    assert {op.name for op in MODERN_OPS} == COUNTS.keys() | OTHERS


@pytest.mark.exhaustive
@pytest.mark.parametrize("op", COUNTS)
def test_types(op: str, mlir_opt: str):
    tried = signatures(op)
    texts = [operation(op, signature) for signature in tried]
    taken, expected = [accepts(ours(op, signature)) for signature in tried], theirs(mlir_opt, texts)
    assert any(expected)
    assert not all(expected)
    wrong = [
        (signature, "ours" if mine else "theirs")
        for signature, mine, other in zip(tried, taken, expected, strict=True)
        if mine != (other and not stricter(op, *signature))
    ]
    assert not wrong


@pytest.mark.exhaustive
@pytest.mark.parametrize("op", COUNTS)
def test_mlir_reads_our_text_of_every_signature(op: str, mlir_opt: str):
    """And gives back the same ops. Of ops without operands it reads the generic form only."""
    module = parse("".join(operation(op, signature, "{test.note}") for signature in signatures(op) if signature[0]))
    for function in list(module.body.block.ops):
        if not all(accepts(o) for o in function.walk() if isinstance(o, ShapeOp)):
            module.body.block.erase_op(function)
    for i, function in enumerate(module.body.block.ops):
        function.properties["sym_name"] = StringAttr(f"f{i}")
    assert len(module.body.block.ops)
    command = [mlir_opt, "--allow-unregistered-dialect"]
    result = subprocess.run(command, input=str(module), capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert parse(result.stdout).is_structurally_equivalent(module)


CASES: dict[str, tuple[tuple[str, bool], ...]] = {
    "constants": (
        ('%r = "shape.const_size"() <{value = 3 : index}> : () -> !shape.size', True),
        ('%r = "shape.const_size"() <{value = 3 : i64}> : () -> !shape.size', False),
        ('%r = "shape.const_size"() <{value = 3 : index}> : () -> index', False),
        ('%r = "shape.const_size"() : () -> !shape.size', False),
        ('%r = "shape.const_shape"() <{shape = dense<[3, -1]> : tensor<2xindex>}> : () -> !shape.shape', True),
        ('%r = "shape.const_shape"() <{shape = dense<[3, 4]> : tensor<2xindex>}> : () -> tensor<2xindex>', True),
        ('%r = "shape.const_shape"() <{shape = dense<> : tensor<0xindex>}> : () -> tensor<0xindex>', True),
        ('%r = "shape.const_shape"() <{shape = dense<[3, 4]> : tensor<2xindex>}> : () -> tensor<?xindex>', False),
        ('%r = "shape.const_shape"() <{shape = dense<[3, 4]> : tensor<2xindex>}> : () -> tensor<3xindex>', False),
        ('%r = "shape.const_shape"() <{shape = dense<[3, 4]> : tensor<2xi32>}> : () -> !shape.shape', False),
        ('%r = "shape.const_witness"() <{passing = true}> : () -> !shape.witness', True),
        ('%r = "shape.const_witness"() <{passing = 1 : i32}> : () -> !shape.witness', False),
        ('%r = "shape.cstr_require"(%i1) <{msg = "why"}> : (i1) -> !shape.witness', True),
        ('%r = "shape.cstr_require"(%i1) <{msg = 1 : i32}> : (i1) -> !shape.witness', False),
        ('%r = "shape.cstr_require"(%i1) : (i1) -> !shape.witness', False),
        ('%r = "shape.cstr_require"(%index) <{msg = "why"}> : (index) -> !shape.witness', False),
        ('%r = "shape.broadcast"(%shape, %shape) <{error = "why"}> : (!shape.shape, !shape.shape) -> !shape.shape', True),
        ('%r = "shape.broadcast"(%shape, %shape) <{error = 1 : i32}> : (!shape.shape, !shape.shape) -> !shape.shape', False),
        ('%r = "shape.meet"(%shape, %shape) <{error = 1 : i32}> : (!shape.shape, !shape.shape) -> !shape.shape', False),
    ),
    "assuming": (
        ("shape.assuming %witness { }", True),
        ("shape.assuming %witness { shape.assuming_yield }", True),
        ("%r = shape.assuming %witness -> (index) { shape.assuming_yield %index : index }", True),
        ("%r = shape.assuming %witness -> (index) { shape.assuming_yield %size : !shape.size }", False),
        ("%r = shape.assuming %witness -> (index) { shape.assuming_yield }", False),
        ("%r = shape.assuming %witness -> (index) { shape.yield %index : index }", False),
        ('"shape.assuming"(%index) ({ "shape.assuming_yield"() : () -> () }) : (index) -> ()', False),
        ("shape.assuming_yield", False),
    ),
    "reduce": tuple(
        (
            f"%r = shape.reduce(%{operand}, %size) : {type} -> !shape.size {{ ^a({arguments}): {end} }}",
            expected,
        )
        for operand, type, arguments, end, expected in (
            ("shape", "!shape.shape", "%a: index, %b: !shape.size, %c: !shape.size", "shape.yield %b : !shape.size", True),
            ("extents", "tensor<?xindex>", "%a: index, %b: index, %c: !shape.size", "shape.yield %c : !shape.size", True),
            ("extents", "tensor<?xindex>", "%a: index, %b: !shape.size, %c: !shape.size", "shape.yield %c : !shape.size", False),
            ("shape", "!shape.shape", "%a: index, %b: index, %c: !shape.size", "shape.yield %c : !shape.size", False),
            ("shape", "!shape.shape", "%a: !shape.size, %b: !shape.size, %c: !shape.size", "shape.yield %c : !shape.size", False),
            ("shape", "!shape.shape", "%a: index, %b: !shape.size", "shape.yield %b : !shape.size", False),
            ("shape", "!shape.shape", "%a: index, %b: !shape.size, %c: index", "shape.yield %b : !shape.size", False),
            ("shape", "!shape.shape", "%a: index, %b: !shape.size, %c: !shape.size", "shape.yield %a : index", False),
            ("shape", "!shape.shape", "%a: index, %b: !shape.size, %c: !shape.size", "shape.yield", False),
            ("shape", "!shape.shape", "%a: index, %b: !shape.size, %c: !shape.size", "func.return", False),
        )
    ),
}
"""One op each and whether it is well-formed; the values named as their types are there."""
PROLOGUE = (
    '%shape, %size, %index, %extents, %i1, %witness = "test.op"() : () -> '
    "(!shape.shape, !shape.size, index, tensor<?xindex>, i1, !shape.witness)"
)


@pytest.mark.parametrize("name", CASES)
def test_properties_and_regions(name: str):
    for text, expected in CASES[name]:
        module = parse(f"func.func @f() {{ {PROLOGUE}\n{text}\nfunc.return }}")
        assert all(accepts(op) for op in module.walk() if isinstance(op, ShapeOp)) == expected, text


@pytest.mark.parametrize("name", CASES)
def test_properties_and_regions_are_judged_as_by_mlir(name: str, mlir_opt: str):
    texts = [f"func.func @f() {{\n{PROLOGUE}\n{text}\nfunc.return\n}}\n" for text, _ in CASES[name]]
    assert theirs(mlir_opt, texts) == [expected for _, expected in CASES[name]]
