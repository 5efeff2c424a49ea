"""Ops of `tensor` and `memref` as MLIR writes them: read, verified, inferred, run."""

from __future__ import annotations

import subprocess

import pytest
from xdsl.dialects import memref, tensor

from mind_dialect.neighbours import OPS, MemRef, Tensor
from mind_tools.frontends import parse
from tool_runs import mind_opt, mind_run

TEXTS = {
    "reshape to what is unknown": "%r = tensor.reshape %x(%s1) : (tensor<?x?x8xf32>, tensor<1xindex>) -> tensor<?xf32>",
    "reshape of what is unranked": "%r = tensor.reshape %u(%s1) : (tensor<*xf32>, tensor<1xindex>) -> tensor<6xf32>",
    "reshape to what is unranked": "%r = tensor.reshape %x(%s) : (tensor<?x?x8xf32>, tensor<?xindex>) -> tensor<*xf32>",
    "reshape by i32": "%r = tensor.reshape %u(%i1) : (tensor<*xf32>, tensor<1xi32>) -> tensor<?xf32>",
    "reshape, static": "%r = tensor.reshape %y(%s1) {test.note = 1} : (tensor<2x3xf32>, tensor<1xindex>) -> tensor<6xf32>",
    "reshape to nothing": "%r = tensor.reshape %o(%s0) : (tensor<1xf32>, tensor<0xindex>) -> tensor<f32>",
    "empty": "%r = tensor.empty() {test.note} : tensor<2x3xf32>",
    "empty, of extents": "%r = tensor.empty(%n, %n) {test.note = 1} : tensor<?x8x?xf32>",
    "rank": "%r = tensor.rank %x : tensor<?x?x8xf32>",
    "rank of what is unranked": '%r = tensor.rank %u {test.note = "kept"} : tensor<*xf32>',
    "generate": """%r = tensor.generate %n, %n {
  ^bb0(%i: index, %j: index, %k: index):
    %e = tensor.extract %x[%i, %j, %k] : tensor<?x?x8xf32>
    tensor.yield %e : f32
  } : tensor<?x8x?xf32>""",
    "generate a number": """%r = tensor.generate {
    tensor.yield %n : index
  } {test.note} : tensor<index>""",
    "copy": "memref.copy %m, %d : memref<?x8xf32> to memref<2x8xf32>",
    "copy of what is unranked": "memref.copy %w, %d {test.note = 1} : memref<*xf32> to memref<2x8xf32>",
    "copy of strides": "memref.copy %t, %d : memref<2x8xf32, strided<[16, 1], offset: ?>> to memref<2x8xf32>",
}
ARGUMENTS = (
    "%x: tensor<?x?x8xf32>, %u: tensor<*xf32>, %y: tensor<2x3xf32>, %o: tensor<1xf32>, %s: tensor<?xindex>, "
    "%s1: tensor<1xindex>, %s0: tensor<0xindex>, %i1: tensor<1xi32>, %n: index, "
    "%m: memref<?x8xf32>, %d: memref<2x8xf32>, %w: memref<*xf32>, "
    "%t: memref<2x8xf32, strided<[16, 1], offset: ?>>, %v: memref<3x8xf32>, %h: memref<2x8xf16>, %q: tensor<1x1xindex>"
)


def program(text: str) -> str:
    return f"func.func @f({ARGUMENTS}) {{\n  {text}\n  func.return\n}}\n"


@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
def test_what_mlir_writes_is_read_and_written(text: str) -> None:
    result = mind_opt("--verify-roundtrip", stdin=program(text))
    assert (result.status, result.err) == (0, "")
    for line in text.split("\n"):
        assert line.strip().replace("test.note = 1", "test.note = 1 : i64") in result.out
    assert mind_opt(stdin=mind_opt("--print-op-generic", stdin=program(text)).out) == result


@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
def test_a_real_mlir_opt_reads_them(text: str, mlir_opt: str) -> None:
    printed = mind_opt(stdin=program(text.replace("test.note", "note"))).out
    result = subprocess.run(
        [mlir_opt, "--allow-unregistered-dialect"], input=printed, text=True, capture_output=True, check=False
    )
    assert result.returncode == 0, result.stderr


BAD = {
    "%r = tensor.reshape %x(%s) : (tensor<?x?x8xf32>, tensor<?xindex>) -> tensor<?xf32>": "a shape of unknown length, expected 1",
    "%r = tensor.reshape %x(%s1) : (tensor<?x?x8xf32>, tensor<1xindex>) -> tensor<?x8xf32>": "a shape of length 1, expected 2",
    "%r = tensor.reshape %x(%q) : (tensor<?x?x8xf32>, tensor<1x1xindex>) -> tensor<?xf32>": "must be a tensor of rank 1",
    "%r = tensor.reshape %y(%s1) : (tensor<2x3xf32>, tensor<1xindex>) -> tensor<5xf32>": "6 elements become 5",
    "%r = tensor.reshape %u(%s1) : (tensor<*xf32>, tensor<1xindex>) -> tensor<5xf64>": "elements of type f32 become f64",
    '%r = "tensor.reshape"(%y, %y) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<6xf32>': "operand 'shape' at position 1",
    '%r = "tensor.rank"(%n) : (index) -> index': "operand 'tensor' at position 0 does not verify: ",
    '%r = "tensor.rank"(%u) : (tensor<*xf32>) -> i32': "result 'result' at position 0 does not verify: ",
    "%r = tensor.empty(%n) : tensor<3xindex>": "1 extents as operands, expected 0",
    "%r = tensor.empty() : tensor<3x?xindex>": "0 extents as operands, expected 1",
    '%r = "tensor.empty"(%y) : (tensor<2x3xf32>) -> tensor<?xf32>': "operand 'dynamic_sizes' at position 0 does not verify: ",
    "%r = tensor.generate %n {\n^bb0(%i: index):\n tensor.yield %i : index\n} : tensor<3xindex>": "1 extents as operands",
    "%r = tensor.generate {\n^bb0(%i: index):\n tensor.yield %i : index\n} : tensor<?xindex>": "0 extents as operands",
    "%r = tensor.generate {\n tensor.yield %n : index\n} : tensor<3xindex>": "a region of arguments ()",
    "%r = tensor.generate {\n^bb0(%i: i32):\n tensor.yield %n : index\n} : tensor<3xindex>": "a region of arguments (i32)",
    "%r = tensor.generate {\n^bb0(%i: index):\n tensor.yield %i : index\n} : tensor<3xf32>": "end in tensor.yield of one f32",
    '%r = tensor.generate {\n^bb0(%i: index):\n "test.termop"() : () -> ()\n} : tensor<3xindex>': "must end in tensor.yield",
    '%r = "tensor.generate"() ({}) : () -> tensor<3xindex>': "a region of 0 blocks, expected 1",
    "memref.copy %v, %d : memref<3x8xf32> to memref<2x8xf32>": "expected memory of the same shape",
    "memref.copy %h, %d : memref<2x8xf16> to memref<2x8xf32>": "elements of type f16 are copied to f32",
    '"memref.copy"(%n, %d) : (index, memref<2x8xf32>) -> ()': "operand 'source' at position 0 does not verify: ",
}


@pytest.mark.parametrize("text", BAD)
def test_what_mlir_refuses_is_refused(text: str) -> None:
    result = mind_opt(stdin=program(text))
    assert result.status == 1
    assert result.err.startswith("error[E4016]: ")
    assert BAD[text] in result.err
    assert "--> stdin:2:" in result.err


@pytest.mark.parametrize(
    "text",
    [
        "%r = tensor.reshape %x, %s1 : (tensor<?x?x8xf32>, tensor<1xindex>) -> tensor<?xf32>",
        "%r = tensor.reshape %x(%s1) : tensor<?xf32>",
        "%r = tensor.reshape %x(%s1) : (tensor<?x?x8xf32>) -> tensor<?xf32>",
        "%r = tensor.rank %x",
        "%r = tensor.empty : tensor<3xindex>",
        "%r = tensor.generate %n : tensor<?xindex>",
        "memref.copy %m, %d : memref<?x8xf32>, memref<2x8xf32>",
        "memref.copy %m to %d : memref<?x8xf32> to memref<2x8xf32>",
    ],
)
def test_text_that_mlir_does_not_read(text: str) -> None:
    result = mind_opt(stdin=program(text))
    assert result.status == 1
    assert result.err.startswith(("error[E1007]", "error[E2007]"))


def test_the_dialects_have_all_that_those_of_xdsl_have() -> None:
    for ours, theirs in ((Tensor, tensor.Tensor), (MemRef, memref.MemRef)):
        assert ours.name == theirs.name
        assert [op.name for op in theirs.operations] == [op.name for op in ours.operations][: len(list(theirs.operations))]
        assert {op for op in theirs.operations if op.name not in {o.name for o in OPS}} <= set(ours.operations)
        assert list(ours.attributes) == list(theirs.attributes)
    assert {op.name for op in (*Tensor.operations, *MemRef.operations)} >= {op.name for op in OPS}


GENERATED = """func.func @f(%a: tensor<3xindex>, %n: index) -> (tensor<?x2xindex>, index, tensor<?xindex>, !shape.size) {
  %g = tensor.generate %n {
  ^bb0(%i: index, %j: index):
    %x = tensor.extract %a[%i] : tensor<3xindex>
    %y = arith.addi %x, %j : index
    tensor.yield %y : index
  } : tensor<?x2xindex>
  %r = tensor.rank %g : tensor<?x2xindex>
  %t = tensor.from_elements %n : tensor<1xindex>
  %q = tensor.reshape %a(%t) : (tensor<3xindex>, tensor<1xindex>) -> tensor<?xindex>
  %z = shape.shape_of %g : tensor<?x2xindex> -> !shape.shape
  %d = shape.num_elements %z : !shape.shape -> !shape.size
  func.return %g, %r, %q, %d : tensor<?x2xindex>, index, tensor<?xindex>, !shape.size
}"""


def test_they_run_in_the_interpreter() -> None:
    result = mind_run("-", "a=[5, 6, 7]", "n=3", stdin=GENERATED)
    assert (result.status, result.err) == (0, "")
    shown = "g: tensor<?x2xindex> = [[5, 6], [6, 7], [7, 8]] r: index = 2 q: tensor<?xindex> = [5, 6, 7] d: !shape.size = 6"
    assert " ".join(result.out.split()) == shown


@pytest.mark.parametrize(("n", "code"), [("2", "E3007"), ("4", "E6001"), ("1000000000000000", "E6004")])
def test_what_they_refuse_when_run(n: str, code: str) -> None:
    assert f"error[{code}]" in mind_run("-", "a=[5, 6, 7]", f"n={n}", stdin=GENERATED).err


def test_extents_and_ranks_are_inferred() -> None:
    text = GENERATED.replace(", %n: index", "").replace("{\n", "{\n  %n = arith.constant 3 : index\n", 1)
    out = mind_opt("--shape-infer", stdin=text).out
    assert "shape.const_size 6" in out
    assert parse(out)
