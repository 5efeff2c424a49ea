"""`shape-infer`: sound against runs of the ops on sizes, linear, one error per cause; sizes for names agree with the verifier."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.parser import Parser

from counting import calls
from mind_dialect.errors import MindError, MindErrors
from mind_dialect.shape.dataflow import Dataflow
from mind_dialect.shape.evaluate import Shaped, as_shape
from mind_dialect.shape.lattice import UNRANKED, Invalid
from mind_dialect.verify import verify
from mind_passes.shape.infer import infer
from mind_passes.shape.specialize import parse_bindings, specialize
from mind_tools import frontends
from programs import context


def parse(text: str, allow_unregistered: bool = False) -> ModuleOp:
    known = context()
    known.allow_unregistered = allow_unregistered
    module = Parser(known, text).parse_module()
    verify(module)
    return module


def inferred(text: str, **bindings: int) -> str:
    module = parse(text)
    infer(module, bindings)
    verify(module)
    return str(module)


ATTENTION = """
module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @attention(%q: tensor<?x?x4xf32, "B,T,*">, %k: tensor<?x?x4xf32, "B,T,*">, %v: tensor<?x?x4xf32, "B,T,*">,
                     %m: tensor<?x8xf32, "T,*">) -> tensor<?x?x4xf32, "B,T,*"> {
  %s = ptir.dot_general %q, %k batch_lhs = [0] batch_rhs = [0] contract_lhs = [2] contract_rhs = [2]
      accum_dtype = f32 out_dtype = f32 : (tensor<?x?x4xf32, "B,T,*">, tensor<?x?x4xf32, "B,T,*">) -> tensor<?x?x?xf32, "B,T,T">
  %e = ptir.exp %s : tensor<?x?x?xf32, "B,T,T">
  %c = ptir.concat %e, %e axis = 2 : (tensor<?x?x?xf32, "B,T,T">, tensor<?x?x?xf32, "B,T,T">) -> tensor<?x?x?xf32, "B,T,*">
  %d = ptir.neg %c : tensor<?x?x?xf32, "B,T,*">
  %z = ptir.broadcast_to %m result_shape = [B, T, 8] : tensor<?x8xf32, "T,*"> -> tensor<?x?x8xf32, "B,T,*">
  %o = ptir.dot_general %e, %v batch_lhs = [0] batch_rhs = [0] contract_lhs = [2] contract_rhs = [1]
      accum_dtype = f32 out_dtype = f32 : (tensor<?x?x?xf32, "B,T,T">, tensor<?x?x4xf32, "B,T,*">) -> tensor<?x?x4xf32, "B,T,*">
  func.return %o : tensor<?x?x4xf32, "B,T,*">
}
}
"""


def test_names_get_sizes_everywhere_and_what_follows_is_static() -> None:
    text = inferred(ATTENTION, B=2, T=5)
    assert "?" not in text
    assert '"B' not in text
    assert "tensor<2x5x10xf32>" in text
    assert "result_shape = [2, 5, 8]" in text
    assert "-> tensor<2x5x4xf32> {" in text


def test_some_names_get_sizes() -> None:
    text = inferred(ATTENTION, T=5)
    assert 'tensor<?x5x10xf32, "B,*,*">' in text
    assert "result_shape = [B, 5, 8]" in text


LOOP = """
module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @loop(%n: tensor<si32>, %x: tensor<?xf32, "B">) -> tensor<?xf32> {
  %y = ptir.concat %x, %x axis = 0 : (tensor<?xf32, "B">, tensor<?xf32, "B">) -> tensor<?xf32>
  %i, %r = ptir.while %n, %y : (tensor<si32>, tensor<?xf32>) -> (tensor<si32>, tensor<?xf32>) cond {
  ^bb0(%i: tensor<si32>, %a: tensor<?xf32>):
    %m = ptir.constant 8 : tensor<si32>
    %p = ptir.compare %i, %m kind = less : (tensor<si32>, tensor<si32>) -> tensor<i1>
    ptir.yield %p, %i, %a : tensor<i1>, tensor<si32>, tensor<?xf32>
  } body {
  ^bb0(%i: tensor<si32>, %a: tensor<?xf32>):
    %one = ptir.constant 1 : tensor<si32>
    %j = ptir.add %i, %one : tensor<si32>
    %b = ptir.neg %a : tensor<?xf32>
    ptir.yield %j, %b : tensor<si32>, tensor<?xf32>
  }
  func.return %r : tensor<?xf32>
}
}
"""


def test_sizes_reach_into_loops() -> None:
    text = inferred(LOOP, B=3)
    assert "?" not in text
    assert len(re.findall(r"\^bb\d\(%\w+ : tensor<si32>, %\w+ : tensor<6xf32>\)", text.replace(":", " :"))) == 2
    assert "-> tensor<6xf32> {" in text


def test_a_size_that_an_op_cannot_have_is_its_error() -> None:
    text = """
module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @f(%x: tensor<?x4xf32, "B,*">, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %z = ptir.add %x, %y : (tensor<?x4xf32, "B,*">, tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %z : tensor<3x4xf32>
}
}"""
    assert "tensor<3x4xf32>" in inferred(text, B=3)
    with pytest.raises(MindError, match=r"E3001: add %z: .*shapes \[2, 4\] and \[3, 4\] differ at dimension 0: 2 and 3"):
        inferred(text, B=2)


def test_a_call_whose_callee_names_the_dimension_otherwise_is_refused() -> None:
    text = """
module attributes {ptir.spec_version = "ptir.v0.4"} {
func.func @g(%x: tensor<?xf32, "%s">) -> tensor<?xf32, "%s"> {
  %y = ptir.neg %x : tensor<?xf32, "%s">
  func.return %y : tensor<?xf32, "%s">
}
func.func @f(%x: tensor<?xf32, "B">) -> tensor<?xf32, "B"> {
  %y = func.call @g(%x) : (tensor<?xf32, "B">) -> tensor<?xf32, "B">
  func.return %y : tensor<?xf32, "B">
}
}"""
    assert "tensor<3xf32>" in inferred(text.replace('"%s"', '"B"'), B=3)
    module = Parser(context(), text.replace('"%s"', '"N"')).parse_module()
    with pytest.raises(MindError, match=r"E8001: func\.call calls @g with tensor<3xf32>"):
        specialize(module, {"B": 3})


@pytest.mark.parametrize(
    "texts",
    [["B"], ["B="], ["=3"], ["B=-1"], ["B=x"], ["1=3"], ["B=3", "B=4"], [""], ["B=9223372036854775808"], ["B=" + "9" * 5000]],
)
def test_bindings_that_cannot_be_read(texts: list[str]) -> None:
    with pytest.raises(MindError, match="E7001"):
        parse_bindings(texts)


def test_a_name_that_nothing_has() -> None:
    with pytest.raises(MindError, match="E7003: bind: no dimension is named C, known: \\['B', 'T'\\]"):
        inferred(ATTENTION, C=3)


def test_every_cause_is_an_error_once() -> None:
    text = """
func.func @f() {
  %a = shape.const_shape [2] : !shape.shape
  %b = shape.const_shape [3] : !shape.shape
  %c = shape.broadcast %a, %b : !shape.shape, !shape.shape -> !shape.shape
  %d = shape.rank %c : !shape.shape -> !shape.size
  %w = shape.cstr_eq %a, %b : !shape.shape, !shape.shape
  func.return
}
func.func @g(%a: !shape.size) {
  %z = shape.const_size 0
  %b = shape.div %a, %z : !shape.size, !shape.size -> !shape.size
  func.return
}"""
    with pytest.raises(MindErrors) as caught:
        inferred(text)
    assert [(e.code, e.context["op"], e.context["reason"]) for e in caught.value.errors] == [
        ("E9020", "shape.broadcast", "operands could not be broadcast together with shapes (2,) (3,)"),
        ("E9020", "shape.cstr_eq", "shapes [2] and [3] differ at dimension 0: 2 and 3"),
        ("E9020", "shape.div", "integer division or modulo by zero"),
    ]
    assert "and 2 more errors" in str(caught.value)


def test_a_module_with_errors_is_unchanged() -> None:
    module = parse(
        "func.func @f() {\n%a = shape.const_size 0\n%b = shape.add %a, %a : !shape.size, !shape.size -> !shape.size\n"
        "%c = shape.div %a, %b : !shape.size, !shape.size -> !shape.size\nfunc.return }"
    )
    before = str(module)
    with pytest.raises(MindErrors):
        infer(module)
    assert str(module) == before


# Against runs: a random program of known sizes, and the same with less known

OPS = (
    "add", "mul", "max", "min", "div",
    "broadcast", "meet", "any", "concat", "split", "get_extent", "rank", "num_elements", "from_extents", "cstr", "reduce",
)  # fmt: skip


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, dict[str, str]]:
    """A body on the arguments `%s0 .. %s2` (shapes) and `%z0 .. %z2` (sizes), and the type of each value."""
    types = {**{f"s{i}": "shape" for i in range(3)}, **{f"z{i}": "size" for i in range(3)}}
    lines: list[str] = []

    def pick(kind: str) -> str:
        return "%" + draw(st.sampled_from([name for name, t in types.items() if t == kind]))

    for n in range(draw(st.integers(3, 10))):
        op = draw(st.sampled_from(OPS))
        a, b, y, z = pick("shape"), pick("shape"), pick("size"), pick("size")
        shape2, size2 = "!shape.shape, !shape.shape", "!shape.size, !shape.size"
        if op in ("add", "mul", "max", "min", "div"):
            line, kind = f"shape.{op} {y}, {z} : {size2} -> !shape.size", "size"
        elif op in ("broadcast", "meet", "any", "concat"):
            line, kind = f"shape.{op} {a}, {b} : {shape2} -> !shape.shape", "shape"
        elif op == "split":
            lines.append(f'%v{n}, %u{n} = "shape.split_at"({a}, {z}) : (!shape.shape, !shape.size) -> ({shape2})')
            types |= {f"v{n}": "shape", f"u{n}": "shape"}
            continue
        elif op == "get_extent":
            line, kind = f"shape.get_extent {a}, {z} : !shape.shape, !shape.size -> !shape.size", "size"
        elif op in ("rank", "num_elements"):
            line, kind = f"shape.{op} {a} : !shape.shape -> !shape.size", "size"
        elif op == "from_extents":
            line, kind = f"shape.from_extents {y}, {z} : {size2}", "shape"
        elif op == "reduce":
            line, kind = (
                f"shape.reduce({a}, {z}) : !shape.shape -> !shape.size {{\n^bb0(%i{n}: index, %d{n}: !shape.size, %a{n}: "
                f"!shape.size):\n%t{n} = shape.add %a{n}, %d{n} : {size2} -> !shape.size\nshape.yield %t{n} : !shape.size\n}}",
                "size",
            )
        else:
            line, kind = f"shape.cstr_broadcastable {a}, {b} : {shape2}", "witness"
        lines.append(f"%v{n} = {line}")
        types[f"v{n}"] = kind
    return "\n".join(lines), types


SHAPE_ARGUMENTS = ", ".join(f"%s{i}: !shape.shape" for i in range(3)) + ", " + ", ".join(f"%z{i}: !shape.size" for i in range(3))


def known_of(body: str, types: dict[str, str], arguments: list[Any]) -> tuple[dict[str, Any], list[str]]:
    """What is known of each value when that is known of the arguments."""
    results = [name for name, kind in types.items() if kind in ("shape", "size")]
    returned = ", ".join(f"%{name}" for name in results)
    of_types = ", ".join(f"!shape.{types[name]}" for name in results)
    module = parse(f"func.func @f({SHAPE_ARGUMENTS}) -> ({of_types}) {{\n{body}\nfunc.return {returned} : {of_types}\n}}")
    func = next(op for op in module.ops if isinstance(op, FuncOp))
    flow = Dataflow()
    for argument, value in zip(func.body.block.args, arguments, strict=True):
        flow.assume(argument, value)
    flow.run(func.body)
    last = func.body.block.last_op
    assert isinstance(last, ReturnOp)
    values = [flow.of(v) for v in last.operands]
    return dict(zip(results, values, strict=True)), [fault.reason for fault in flow.faults]


def agrees(less: Any, more: Any) -> bool:
    """Whether what is known of a value with less knowledge leaves room for what it is."""
    if isinstance(less, Shaped) or isinstance(more, Shaped):
        less, more = as_shape(less), as_shape(more)
    if isinstance(less, Invalid):
        return isinstance(more, Invalid)
    if isinstance(more, Invalid) or UNRANKED in (less, more) or less == "?":
        return True
    if isinstance(less, tuple):
        return isinstance(more, tuple) and len(less) == len(more) and all(map(agrees, less, more))
    return isinstance(more, str) or less == more


@settings(max_examples=150)
@given(programs(), st.lists(st.lists(st.sampled_from([0, 1, 2, 3]), max_size=3).map(tuple), min_size=3, max_size=3), st.data())
def test_less_knowledge_never_contradicts_more(
    program: tuple[str, dict[str, str]], shapes: list[Any], data: st.DataObject
) -> None:
    body, types = program
    sizes = data.draw(st.lists(st.sampled_from([0, 1, 2, 3]), min_size=3, max_size=3))
    exact, faults = known_of(body, types, [*shapes, *sizes])
    vague_shapes = [tuple(data.draw(st.sampled_from([n, "?"])) for n in shape) for shape in shapes]
    vague_sizes = [data.draw(st.sampled_from([n, "?"])) for n in sizes]
    vague, fewer = known_of(body, types, [*vague_shapes, *vague_sizes])
    for name, value in vague.items():
        assert agrees(value, exact[name]), (name, value, exact[name])
    assert not fewer or faults or "shape.any" in body  # of shapes that differ, any is undefined


@settings(max_examples=60)
@given(programs())
def test_inferred_programs_verify_and_infer_to_themselves(program: tuple[str, dict[str, str]]) -> None:
    body, types = program
    results = [name for name, kind in types.items() if kind in ("shape", "size")]
    returned, of_types = ", ".join(f"%{n}" for n in results), ", ".join(f"!shape.{types[n]}" for n in results)
    known = "%z0 = shape.const_size 2\n%s0 = shape.const_shape [2, 1] : !shape.shape\n"
    arguments = SHAPE_ARGUMENTS.replace("%s0: !shape.shape, ", "").replace("%z0: !shape.size, ", "")
    text = f"func.func @f({arguments}) -> ({of_types}) {{\n{known}{body}\nfunc.return {returned} : {of_types}\n}}"
    try:
        once = inferred(text)
    except MindErrors:
        return
    assert inferred(once) == once


def long_program(n: int) -> ModuleOp:
    lines = []
    for i in range(n // 5):
        before = f"%r{i - 1}" if i else "%s"
        lines += [
            f"%a{i} = shape.shape_of %x : tensor<?x4xf32> -> tensor<2xindex>",
            f"%w{i} = shape.cstr_broadcastable {before}, %a{i} : !shape.shape, tensor<2xindex>",
            f"%b{i} = shape.broadcast {before}, %a{i} : !shape.shape, tensor<2xindex> -> !shape.shape",
            f"%n{i} = shape.num_elements %b{i} : !shape.shape -> !shape.size",
            f"%r{i} = shape.any %b{i}, {before} : !shape.shape, !shape.shape -> !shape.shape",
        ]
    body = "\n".join(lines)
    last = n // 5 - 1
    return parse(
        f"func.func @f(%x: tensor<?x4xf32>, %s: !shape.shape) -> (!shape.shape, !shape.size) {{\n{body}\n"
        f"func.return %r{last}, %n{last} : !shape.shape, !shape.size }}"
    )


def test_linear_in_the_ops() -> None:
    few, many = (long_program(n) for n in (500, 2000))
    assert calls(lambda: infer(many)) < 5 * calls(lambda: infer(few))


LIBRARY = """module attributes {{shape.lib = @lib}} {{
  func.func @f(%x: tensor<{x}xf32>, %y: tensor<{y}xf32>) -> tensor<?xf32> {{
    %0 = "test.joined"(%x, %y) : (tensor<{x}xf32>, tensor<{y}xf32>) -> tensor<?xf32>
    func.return %0 : tensor<?xf32>
  }}
  shape.function_library @lib {{
    func @joined(%a: !shape.value_shape, %b: !shape.value_shape) -> !shape.shape {{
      %sa = shape_of %a : !shape.value_shape -> !shape.shape
      %sb = shape_of %b : !shape.value_shape -> !shape.shape
      %w = cstr_eq %sa, %sb : !shape.shape, !shape.shape
      %r = meet %sa, %sb : !shape.shape, !shape.shape -> !shape.shape
      return %r : !shape.shape
    }}
  }} mapping {{test.joined = @joined}}
}}"""


def test_functions_of_libraries_give_and_refute_shapes_of_other_ops() -> None:
    for x, y, found in (("4", "?", "4"), ("?", "4", "4"), ("?", "?", "?")):
        module = parse(LIBRARY.format(x=x, y=y), allow_unregistered=True)
        infer(module)
        (op,) = [op for op in module.walk() if "op_name__" in op.attributes]
        assert str(op.results[0].type) == f"tensor<{found}xf32>"
    with pytest.raises(MindErrors, match=r"test\.joined: shapes \[4\] and \[5\] differ") as refused:
        infer(parse(LIBRARY.format(x="4", y="5"), allow_unregistered=True))
    assert [e.code for e in refused.value.errors] == ["E9020"]


EXP = """module attributes {{shape.lib = @lib}} {{
  func.func @f(%x: tensor<4xf32>) -> tensor<?xf32> {{
    %0 = {source}
    %1 = math.exp %0 : tensor<?xf32>
    func.return %1 : tensor<?xf32>
  }}
  shape.function_library @lib {{
    func @same(%a: !shape.value_shape) -> !shape.shape {{
      %s = shape_of %a : !shape.value_shape -> !shape.shape
      return %s : !shape.shape
    }}
  }} mapping {{math.exp = @same, test.pureop = @same}}
}}"""


@pytest.mark.parametrize(
    "source",
    ["tensor.cast %x : tensor<4xf32> to tensor<?xf32>", '"test.pureop"(%x) : (tensor<4xf32>) -> tensor<?xf32>'],
)
def test_an_op_whose_types_must_agree_keeps_the_type_of_its_operand(source: str) -> None:
    module = frontends.parse(EXP.format(source=source))
    infer(module)
    verify(module)
    (op,) = [op for op in module.walk() if op.name == "math.exp"]
    assert str(op.operands[0].type) == str(op.results[0].type) == "tensor<?xf32>"
