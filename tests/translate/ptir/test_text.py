"""The display form and the snippets by example: the public ones verbatim, every op there and back, what each cannot say."""

from __future__ import annotations

from io import BytesIO, StringIO

import pytest
from xdsl.dialects.builtin import FileLineColLoc

from mind_dialect.errors import MindError, MindParseError
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import ALL, F32, read_type
from mind_dialect.verify import verify
from mind_translate.ptir_json import parse_ptir_json, print_ptir_json
from mind_translate.ptir_text import (
    PtirSnippetTarget,
    PtirTextTarget,
    extents,
    parse_display,
    parse_ptir_text,
    parse_snippet,
    print_ptir_text,
    print_snippet,
    read_ptir_text,
)
from mind_translate.ptir_text.snippet import SNIPPET_OPS
from programs import context, parse
from ptir_programs import SAYABLE, function, has_negative_axis, module_of, regions_module, row_module
from ptir_rows import Row

# The display form

SLICE = """program @captured (spec_version = ptir.v0.4) {
  func @captured {
    params:
      %0 : tensor<F32 x 4x4>
    body:
      %1 = Slice(SliceSpec { starts: [0, 0], sizes: [3, 3] })(%0) -> tensor<F32 x 3x3>
      %2 = Slice(SliceSpec { starts: [1, 1], sizes: [2, 2] })(%1) -> tensor<F32 x 2x2>
    results:
      %2 : tensor<F32 x 2x2>
  }
}
"""
"""The public implementation's fixture, as it stands there."""


def test_the_published_dump():
    module = parse_display(SLICE, "slice.lit", strict=True)
    verify(module)
    assert (
        str(module)
        == """builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @captured(%0: tensor<4x4xf32>) -> tensor<2x2xf32> {
    %1 = ptir.slice %0 starts = [0, 0] sizes = [3, 3] : tensor<4x4xf32> -> tensor<3x3xf32>
    %2 = ptir.slice %1 starts = [1, 1] sizes = [2, 2] : tensor<3x3xf32> -> tensor<2x2xf32>
    func.return %2 : tensor<2x2xf32>
  }
}"""
    )
    assert print_ptir_text(module, strict=True) == SLICE
    second = [op for op in module.walk() if op.name == "ptir.slice"][1].location
    assert isinstance(second, FileLineColLoc)
    assert (second.filename.data, second.line.data, second.column.data) == ("slice.lit", 7, 7)


@pytest.mark.parametrize("row", SAYABLE, ids=str)
def test_every_op_there_and_back(row: Row):
    module = row_module(row)
    text = print_ptir_text(module)
    again = parse_display(text)
    assert print_ptir_text(again) == text
    assert str(again) == str(parse_ptir_json(print_ptir_json(module))), "both forms say the same"
    if not has_negative_axis(row):
        assert str(again) == str(module)


PAYLOADS = {
    "exp": "ElementwiseUnary(Exp)",
    "compare": "Compare(CompareSpec { op: NotEqual })",
    "select": "Select",
    "cast": "Cast(CastSpec { dtype: Fp8E4M3 })",
    "constant": "Constant(TensorLiteral { spec: TensorSpec { dtype: Bf16, shape: Shape { dims: [Static(2)] } }, bytes: ",
    "reduce": "Reduce(ReduceSpec { kind: Sum, axes: [1], keepdims: false, accum_dtype: None, out_dtype: None })",
    "broadcast_to": "BroadcastTo(BroadcastToSpec { result_shape: "
    'Shape { dims: [Static(2), Static(3), Dynamic(DimSymbol("B"))] } })',
    "reshape": "Reshape(ReshapeSpec { new_shape: [Infer] })",
    "scatter_add": "ScatterAdd(ScatterSpec { update_window_dims: [1], inserted_window_dims: [0], "
    "scatter_dims_to_operand_dims: [0], index_vector_dim: None })",
    "scatter_reduce": "ScatterReduce(ScatterReduceSpec { axis: 1, reduce: Add })",
    "extract_patches": "ExtractPatches(ExtractPatchesSpec { window: [3, 3], strides: [2, 2], dilation: [1, 1], "
    "padding: [(0, 0), (0, 0)], pad_value: Float(0.0) })",
    "custom_call": 'CustomCall(CustomCallSpec { target: "a.b.v12", attrs: {} })',
    "dequantize": "Dequantize(DequantizeSpec { axis: None, output_dtype: None })",
    "sqrt": 'Extension(ExtensionSpec { name: "sqrt" })',
}
"""What derived Debug implementations of the public types show."""


@pytest.mark.parametrize("opcode", PAYLOADS)
def test_payloads_are_as_rust_shows_them(opcode: str):
    texts = [print_ptir_text(row_module(row)) for row in SAYABLE if row.op.OPCODE == opcode]
    assert any(f" = {PAYLOADS[opcode]}" in text for text in texts), texts[0]


def test_attributes_of_custom_calls():
    text = """program @main (spec_version = ptir.v0.4) {
  func @main {
    params:
      %0 : tensor<F32 x ?Bx4>
    body:
      %1 = CustomCall(CustomCallSpec { target: "a.b.v1", attrs: {"a\\"b": String("x\\n\\u{1f}é"), "b": Bool(true), \
"f": F64(-inf), "fs": F64Array([NaN, 1e-7, 1e16]), "i": I64(-3), "is": I64Array([1, 2]), "ss": StringArray(["", "y"])} })\
(%0) -> tuple<tensor<Si32 x []>, tensor<F32 x ?B>>
    results:
      %1 : tuple<tensor<Si32 x []>, tensor<F32 x ?B>>
  }
}
"""
    module = parse_display(text)
    verify(module)
    assert print_ptir_text(module) == text
    (call,) = [op for op in module.walk() if op.name == "ptir.custom_call"]
    attrs = call.values()["attrs"]
    assert attrs['a"b'] == "x\n\x1fé"
    assert attrs["f"] == float("-inf")
    assert attrs["fs"][1:] == (1e-7, 1e16)


@pytest.mark.parametrize(
    ("dtype", "value", "shown"),
    [
        ("i1", True, "I1(true)"),
        ("si8", -3, "Signed(-3)"),
        ("ui64", 2**64 - 1, f"Unsigned({2**64 - 1})"),
        ("f32", float("-inf"), "Float(-inf)"),
        ("f64", float("nan"), "Float(NaN)"),
        ("f64", 5e-324, "Float(5e-324)"),
        ("cf32", complex(1.5, float("inf")), "Complex { re: 1.5, im: inf }"),
    ],
    ids=str,
)  # fmt: skip
def test_pad_values(dtype, value, shown):
    from mind_dialect.ptir import PadOp

    pads = {"low": (1,), "high": (0,), "interior": (0,), "pad_value": value}
    module = module_of(function(f"{dtype}[2]", lambda x: [PadOp(x, **pads)]))
    text = print_ptir_text(module)
    assert f"pad_value: {shown} }})" in text
    assert str(parse_display(text)) == str(module)


def test_regions():
    module = regions_module()
    text = print_ptir_text(module)
    again = parse_display(text)
    verify(again)
    assert again.is_structurally_equivalent(module)
    assert print_ptir_text(again) == text
    assert "  region ^r7 {\n    params:\n      %arg0 : tensor<F32 x 3x2>\n" in text
    assert "While(WhileSpec { cond_region: RegionId(0), body_region: RegionId(1) })(%0)" in text
    named = text.replace("ElementwiseUnary(Abs)(%0)", "ElementwiseUnary(Abs)(%arg0)")
    assert named != text
    assert print_ptir_text(parse_display(named)) == text


def test_tuple_elements_and_comments():
    text = """// RUN: a line of a test
program @f (spec_version = ptir.v0.4) {
  func @f {
    params:
      %0 : tensor<F32 x 5>
    body:
      %1 = TopK(TopKSpec { k: 2, axis: 0, largest: true, indices_dtype: Si32 })(%0) -> tuple<tensor<F32 x 2>, tensor<Si32 x 2>>
      %2 = StopGradient(%1[1]) -> tensor<Si32 x 2>
    hints:
      fused_hint id=0 kind=ElementwiseDag policy=Optional {
        inputs: [%0]
        exports: [%2]
        attrs:
          n = I64(1)
        body:
          %2 = StopGradient(%1[1]) -> tensor<Si32 x 2>
      }
    results:
      %2 : tensor<Si32 x 2>
  }
}
"""
    module = parse_display(text)
    verify(module)
    again = print_ptir_text(module)
    assert "%2 = StopGradient(%1[1]) -> tensor<Si32 x 2>" in again
    (func,) = module.body.block.ops
    kept = func.attributes["ptir.hints"].data
    assert kept.strip().startswith("fused_hint id=0")
    assert kept.strip().endswith("}")
    assert "results" not in kept


def test_names_that_the_display_form_cannot_say():
    module = module_of(function("f32[2]", lambda x: [SAYABLE_NEG(x)], name="a b"))
    with pytest.raises(MindError, match=r"E4000: the function name 'a b'"):
        print_ptir_text(module, strict=True)
    assert parse_display(print_ptir_text(module)).is_structurally_equivalent(module)
    assert parse_ptir_json(print_ptir_json(module)).is_structurally_equivalent(module)
    for name in ("x2", "Bx4"):
        with pytest.raises(MindError, match=f"E4000: the dimension name {name}, which this form would read as two dimensions"):
            print_ptir_text(module_of(function(f"f32[2,{name}]", lambda x: [SAYABLE_NEG(x)])))
    for name in ("x", "max", "B", "xx"):
        module = module_of(function(f"f32[{name},4,{name}]", lambda x: [SAYABLE_NEG(x)]))
        assert str(parse_display(print_ptir_text(module))) == str(module)


SAYABLE_NEG = next(row.op for row in SAYABLE if row.op.OPCODE == "neg")


def test_versions():
    for head, code in (
        ("program @captured {", "E8006"),
        ("program @captured (spec_version = ptir.v0.5) {", "E8006"),
        ("program @captured (spec_version = ) {", "E8006"),
    ):
        text = SLICE.replace("program @captured (spec_version = ptir.v0.4) {", head)
        with pytest.raises(MindParseError, match=code):
            parse_display(text)
        if "spec" in head:
            with pytest.raises(MindParseError, match=code):
                parse_display(text, lenient=True)
        else:
            with pytest.raises(MindParseError, match=r"begin with program @entry \(spec_version = ptir.v0.4\) \{"):
                parse_display(text)
            parse_display(text, lenient=True)


# Snippets

SOFTMAX = """
func @softmax(%x: tensor<{{dtype}}, {{shape}}>) -> tensor<{{dtype}}, {{shape}}> {
  %max = reduce_max(%x) axes[{{axis}}] keepdims[true] -> tensor<{{dtype}}, {{reduce_shape}}>
  %max_bcast = broadcast_to(%max) shape[{{shape_list}}] -> tensor<{{dtype}}, {{shape}}>
  %shift = sub %x, %max_bcast -> tensor<{{dtype}}, {{shape}}>
  %exp = exp %shift -> tensor<{{dtype}}, {{shape}}>
  return %exp
}
"""
PAIR = """func @pair(%x: tensor<f32, 2x2>) -> (tensor<f32, 2x2>, tensor<f32, 2x2>) {
  %sum = add %x, %x -> tensor<f32, 2x2>
  %prod = mul %x, %x -> tensor<f32, 2x2>
  return %sum, %prod
}
"""
BINDINGS = {"dtype": F32, "shape": extents((2, 3)), "axis": 1, "reduce_shape": "2x1", "shape_list": (2, 3)}


def test_the_published_snippets():
    module = parse_snippet(SOFTMAX, BINDINGS)
    verify(module)
    assert (
        str(module)
        == """builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
  func.func @softmax(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %max = ptir.reduce %x kind = max axes = [1] keepdims = true : tensor<2x3xf32> -> tensor<2x1xf32>
    %max_bcast = ptir.broadcast_to %max result_shape = [2, 3] : tensor<2x1xf32> -> tensor<2x3xf32>
    %shift = ptir.sub %x, %max_bcast : tensor<2x3xf32>
    %exp = ptir.exp %shift : tensor<2x3xf32>
    func.return %exp : tensor<2x3xf32>
  }
}"""
    )
    filled = SOFTMAX.replace("{{dtype}}", "f32").replace("{{shape}}", "2x3").replace("{{axis}}", "1")
    filled = filled.replace("{{reduce_shape}}", "2x1").replace("{{shape_list}}", "2, 3")
    assert print_snippet(module) == filled.lstrip()
    pair = parse_snippet(PAIR)
    verify(pair)
    assert print_snippet(pair) == PAIR


def test_every_liberty_of_the_grammar():
    text = """  function   f ( a : Tensor<F32,2x2> , %b: tensor< f32, 2 x 2 >) -> tensor<bf16, 2x2> {

  c = dot_general(%a, %b) contract_lhs[1] contract_rhs[0] batch[] accum_dtype[F32] -> tensor<f32, 2x2>
  %d=add,%c (%a,) -> tensor<f32,2x2>
  %0 = cast %d -> tensor<BF16, 2x2>
  return 0;
}
"""
    text = text.replace("return 0", "return %0")
    module = parse_snippet(text)
    verify(module)
    assert [op.name for op in module.walk()][2:5] == ["ptir.dot_general", "ptir.add", "ptir.cast"]
    assert print_snippet(parse_snippet(print_snippet(module))) == print_snippet(module)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_dtypes(dtype):
    name = dtype.name.replace("_", "")
    text = f"func @f(%x: tensor<{name}>) -> tensor<{name}> {{\n  %y = stop_gradient %x -> tensor<{name}>\n  return %y\n}}\n"
    module = parse_snippet(text)
    assert print_snippet(module) == text
    assert print_snippet(parse_snippet(text.replace(name, name.upper()))) == text


STATIC_UNARY = [Row(op.op, "f32[2]", "f32[2]") for op in SNIPPET_OPS.values() if not op.attributes and len(op.op.OPERANDS) == 1]
IN_SNIPPETS = {s.op for s in SNIPPET_OPS.values()}


def is_static(row: Row) -> bool:
    return all(read_type(v.type).is_static for op in row_module(row).walk() for v in (*op.operands, *op.results))


def test_ops_that_snippets_have():
    said = set()
    for row in [*SAYABLE, *(row for row in STATIC_UNARY if row.op.OPCODE != "cast")]:
        if row.op in IN_SNIPPETS and is_static(row) and row.properties.get("kind") != "min":
            module = row_module(row)
            assert str(parse_snippet(print_snippet(module))) == str(parse_ptir_json(print_ptir_json(module)))
            said.add(row.op)
    assert said == IN_SNIPPETS


@pytest.mark.parametrize("row", [row for row in SAYABLE if row.op not in IN_SNIPPETS], ids=str)
def test_ops_that_snippets_have_not(row: Row):
    with pytest.raises(MindError, match=r"E4000|E3006") as raised:
        print_snippet(row_module(row))
    assert raised.value.op is not None
    assert raised.value.code == "E3006" or row.op.name in raised.value.message


def test_dynamic_dimensions_are_no_snippet():
    with pytest.raises(MindError, match=r"E3006: dimension 1 of \[2, 'B'\], expected a size"):
        print_snippet(next(row_module(row) for row in SAYABLE if row.op.OPCODE == "neg"))


def test_kinds_and_regions_that_snippets_have_not():
    with pytest.raises(MindError, match=r"E4000: snippets have no ptir.reduce kind min"):
        print_snippet(next(row_module(r) for r in SAYABLE if r.op.OPCODE == "reduce" and r.properties["kind"] == "min"))
    with pytest.raises(MindError, match=r"E4000: snippets have no ptir.constant"):
        print_snippet(regions_module())


def test_modules_that_are_no_snippet():
    for text in ("func.func @f() { func.return }", "func.func @f() { func.return }\nfunc.func @g() { func.return }", ""):
        with pytest.raises(MindError, match="E4000"):
            print_snippet(parse(f'module attributes {{ptir.spec_version = "ptir.v0.4"}} {{ {text} }}'))


def test_either_form_is_found_out():
    assert str(parse_ptir_text(PAIR)) == str(parse_snippet(PAIR))
    assert str(parse_ptir_text(SLICE)) == str(parse_display(SLICE))
    assert str(read_ptir_text(BytesIO(SLICE.encode()))) == str(parse_display(SLICE))


def test_the_tools_ends():
    for target, text in ((PtirTextTarget(), SLICE), (PtirSnippetTarget(), PAIR)):
        out = StringIO()
        target.emit(context(), parse_ptir_text(text), out)
        assert out.getvalue() == text


def test_ops_are_called_by_the_names_of_the_text():
    """Whatever order its numbers have, in messages long after it was read."""
    display = SLICE.replace("%2", "%70").replace("%1", "%9").replace("%0", "%4")
    snippet = (
        "func @f(%x: tensor<f32, 2>) -> tensor<f32, 2> {\n  %7 = exp %x -> tensor<f32, 2>\n  %a_1 = neg %7 -> tensor<f32, 2>\n"
    )
    for module, names in (
        (parse_display(display), ["slice %9", "slice %70"]),
        (parse_snippet(snippet + "  return %a_1\n}"), ["exp %7", "neg %a_1"]),
    ):
        copy = module.clone()
        assert [op.place() for op in copy.walk() if isinstance(op, PtirOp)] == names
