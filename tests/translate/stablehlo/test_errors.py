"""What cannot be converted: all of it in one error, what is wrong in itself at its op, in bounded time and memory."""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

import pytest

from mind_dialect.errors import MindError, MindParseError
from mind_translate.stablehlo import bytecode_text, is_bytecode, read_stablehlo
from mind_translate.stablehlo.table import ROWS
from mind_translate.unsupported import MOST_SHOWN, Refused, Unsupported
from stablehlo_programs import ops, program, read

REFUSED = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.all_reduce"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.add %0, %x : tensor<4xf32>
  %2 = stablehlo.partition_id : tensor<ui32>
  %3 = stablehlo.partition_id : tensor<ui32>
  %4 = stablehlo.custom_call @my_kernel(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %t = stablehlo.create_token : !stablehlo.token
  %u = stablehlo.after_all %t : !stablehlo.token
  %5 = "other.op"(%4) : (tensor<4xf32>) -> tensor<4xf32>
  return %5 : tensor<4xf32>
}
"""


def test_all_that_is_refused_comes_in_one_error() -> None:
    with pytest.raises(MindError) as found:
        read_stablehlo(REFUSED, "f.mlir")
    assert found.value.code == "E8008"
    lines = found.value.message.splitlines()
    assert lines[0] == "7 ops have no form in PTIR:"
    many = "communication between devices; convert the program for one device; XLA inserts the collectives from shardings"
    assert lines[1:] == [
        f"  stablehlo.all_reduce, at f.mlir:3:8: {many}",
        f"  stablehlo.partition_id, 2 times, first at f.mlir:9:8: {many}",
        "  stablehlo.custom_call, at f.mlir:11:8: a custom call of 'my_kernel'; register a ptir.custom_call, or replace it before"
        " the import",
        "  stablehlo.create_token, at f.mlir:12:8: ordered effects; PTIR programs have no effects",
        "  stablehlo.after_all, at f.mlir:13:8: ordered effects; PTIR programs have no effects",
        "  other.op, at f.mlir:14:8: an op of the dialect other; only StableHLO, CHLO and func are converted",
    ]
    assert found.value.op is not None
    assert found.value.op.name == "stablehlo.all_reduce"
    assert found.value.context["target"] == "ptir"


def test_many_kinds_are_counted() -> None:
    unsupported = Unsupported()
    for i in range(MOST_SHOWN + 7):
        unsupported.add(f"a.op{i}", Refused("why"))
    with pytest.raises(MindError, match="and 7 more kinds"):
        unsupported.raise_if_any()


def test_regions_are_looked_into() -> None:
    text = program(
        "%p: tensor<i1>, %x: tensor<4xf32>",
        """%r = "stablehlo.if"(%p) ({
      %a = stablehlo.custom_call @one(%x) : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %a : tensor<4xf32>
    }, {
      %b = stablehlo.custom_call @two(%x) : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %b : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>""",
        "tensor<4xf32>",
    )
    with pytest.raises(MindError, match=r"(?s)2 ops.*'one'.*'two'"):
        read_stablehlo(text)


@pytest.mark.parametrize(
    ("name", "body", "code", "message"),
    [
        ("permutation", "%r = stablehlo.transpose %x, dims = [0, 2] : (tensor<2x3xf32>) -> tensor<2x3xf32>", "E3008", "2"),
        ("no permutation", '%r = "stablehlo.transpose"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>', "E8002", "is missing"),
        (
            "broadcast dims",
            "%r = stablehlo.broadcast_in_dim %x, dims = [0, 5] : (tensor<2x3xf32>) -> tensor<2x3xf32>",
            "E8002",
            "broadcast_dimensions",
        ),
        ("iota", "%r = stablehlo.iota dim = 2 : tensor<2x3xf32>", "E3004", "iota_dimension 2"),
        ("slice bounds", "%r = stablehlo.slice %x [0:3, 0:3] : (tensor<2x3xf32>) -> tensor<2x3xf32>", "E4012", ""),
        ("slice rank", "%r = stablehlo.slice %x [0:2] : (tensor<2x3xf32>) -> tensor<2x3xf32>", "E4007", ""),
        ("result type", "%r = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<7xf32>", "E3007", ""),
        ("stated type", "%r = stablehlo.add %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3x2xf32>", "E4015", "states"),
        ("operands", '%r = "stablehlo.add"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>', "E2007", "has 1 operands, expected 2"),
        ("no result", '"stablehlo.add"(%x, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()', "E2007", "no result"),
        (
            "contraction",
            """%r = stablehlo.dot_general %x, %x, contracting_dims = [1] x [7] :
      (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>""",
            "E8002",
            "rhs_contracting_dimensions of distinct dimensions from 0 to 1",
        ),
        (
            "gather dims",
            """%i = stablehlo.constant dense<0> : tensor<1xi32>
      %r = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [9],
      start_index_map = [0]>, slice_sizes = array<i64: 1, 3>} : (tensor<2x3xf32>, tensor<1xi32>) -> tensor<3xf32>""",
            "E8002",
            "collapsed_slice_dims",
        ),
        (
            "gather sizes",
            """%i = stablehlo.constant dense<0> : tensor<1xi32>
      %r = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0],
      start_index_map = [0]>, slice_sizes = array<i64: 1, 30>} : (tensor<2x3xf32>, tensor<1xi32>) -> tensor<3xf32>""",
            "E8002",
            "slice_sizes",
        ),
        (
            "gather batching dims",
            """%i = stablehlo.constant dense<0> : tensor<2x1xi32>
      %r = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1],
      operand_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>} :
      (tensor<2x3xf32>, tensor<2x1xi32>) -> tensor<2xf32>""",
            "E8002",
            "as many batching dimensions",
        ),
        *(
            (
                f"body that {what}",
                f"""%i = stablehlo.constant dense<0.0> : tensor<f32>
      %r = "stablehlo.reduce_window"(%x, %i) ({{
      ^bb0({arguments}):
        {returned}
      }}) {{window_dimensions = array<i64: 1, 2>}} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x2xf32>""",
                "E8005",
                message,
            )
            for what, arguments, returned, message in (
                ("returns too little", "%a: tensor<f32>, %b: tensor<f32>", "stablehlo.return", "returns 0 values, expected 1"),
                ("takes too little", "%a: tensor<f32>", "stablehlo.return %a : tensor<f32>", "takes 1 values, expected 2"),
                (
                    "takes narrower numbers",
                    "%a: tensor<bf16>, %b: tensor<bf16>",
                    "stablehlo.return %a : tensor<bf16>",
                    "takes bf16, expected f32 or a wider dtype",
                ),
            )
        ),
        (
            "reduce dims",
            """%i = stablehlo.constant dense<0.0> : tensor<f32>
      %r = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [3] : (tensor<2x3xf32>, tensor<f32>) ->
      tensor<2xf32>""",
            "E8002",
            "dimensions",
        ),
        (
            "no body",
            """%i = stablehlo.constant dense<0.0> : tensor<f32>
      %r = "stablehlo.reduce"(%x, %i) {dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>""",
            "E8005",
            "",
        ),
        ("callee", "%r = func.call @nobody(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>", "E2002|E4016", "nobody"),
        (
            "direction",
            """%r = "stablehlo.compare"(%x, %x) {comparison_direction = #stablehlo<comparison_direction ZZ>} :
      (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>""",
            "E8002",
            "one of EQ, NE",
        ),
        (
            "window",
            """%i = stablehlo.constant dense<0.0> : tensor<f32>
      %r = "stablehlo.reduce_window"(%x, %i) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): stablehlo.return %a : tensor<f32> })
      {window_dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>""",
            "E8002",
            "2 positive integers",
        ),
        (
            "top_k",
            "%r, %s = chlo.top_k(%x, k = 9) : tensor<2x3xf32> -> (tensor<2x9xf32>, tensor<2x9xi32>)",
            "E8002|E4012|E3003",
            "",
        ),
        (
            "batch groups",
            """%w = stablehlo.constant dense<0.0> : tensor<1x3x3xf32>
      %y = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %r = stablehlo.convolution(%y, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 3 : i64,
      feature_group_count = 1 : i64} : (tensor<2x1x3xf32>, tensor<1x3x3xf32>) -> tensor<2x1x3xf32>""",
            "E8002",
            "a divisor of the batch",
        ),
    ],
)
def test_what_is_wrong_in_itself_is_a_coded_error_at_its_op(name: str, body: str, code: str, message: str) -> None:
    text = program("%x: tensor<2x3xf32>", f"{body}\n    %r1 = stablehlo.negate %x : tensor<2x3xf32>", "tensor<2x3xf32>")
    with pytest.raises((MindError, MindParseError)) as found:
        read_stablehlo(text.replace("return %r :", "return %r1 :"), "bad.mlir")
    error = found.value.error if isinstance(found.value, MindParseError) else found.value
    assert re.fullmatch(code, error.code), (error.code, error.message)
    assert message in error.message
    assert isinstance(found.value, MindParseError) or error.op is not None


def test_a_call_of_itself_is_refused_with_the_cycle() -> None:
    call = "%0 = func.call @{}(%x) : (tensor<f32>) -> tensor<f32>"
    one = f"func.func {{}} @{{}}(%x: tensor<f32>) -> tensor<f32> {{{{ {call} return %0 : tensor<f32> }}}}"
    text = "\n".join(one.format(*names) for names in (("public", "main", "a"), ("private", "a", "b"), ("private", "b", "a")))
    with pytest.raises(MindError, match="@a calls itself: @a -> @b -> @a") as found:
        read_stablehlo(text)
    assert found.value.code == "E4000"


def test_a_body_that_calls_itself_ends() -> None:
    text = program(
        "%x: tensor<4xf32>, %i: tensor<f32>",
        """%r = stablehlo.reduce(%x init: %i) across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
     reducer(%a: tensor<f32>, %b: tensor<f32>) {
      %s = stablehlo.multiply %a, %b : tensor<f32>
      %t = func.call @body(%s, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      stablehlo.return %t : tensor<f32>
    }""",
        "tensor<f32>",
        """func.func private @body(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
    %t = func.call @body(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %t : tensor<f32>
  }""",
    )
    with pytest.raises(MindError, match="calls nested deeper than 100"):
        read_stablehlo(text)


def test_a_constant_of_a_billion_elements_is_refused_before_it_is_made() -> None:
    text = program("", "%r = stablehlo.constant dense<0.0> : tensor<1000000000xf32>", "tensor<1000000000xf32>")
    with pytest.raises(MindParseError) as found:
        read_stablehlo(text)
    assert found.value.error.code == "E4005"


def test_a_broadcast_of_a_billion_elements_costs_nothing_to_read() -> None:
    body = """%0 = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<1000000000xf32>"""
    assert ops(read(program("", body, "tensor<1000000000xf32>"))) == {"constant": 1, "broadcast_to": 1}


def test_deep_nesting_is_a_coded_error() -> None:
    depth = 400
    opening = '%r = "stablehlo.if"(%p) ({ ' * depth
    closing = " stablehlo.return %p : tensor<i1> }, { stablehlo.return %p : tensor<i1> }) : (tensor<i1>) -> tensor<i1>" * depth
    with pytest.raises((MindError, MindParseError)):
        read_stablehlo(program("%p: tensor<i1>", f"{opening} {closing}", "tensor<i1>"))


def test_several_blocks_and_no_body_are_refused() -> None:
    with pytest.raises(MindError, match="expected a body of one block"):
        read_stablehlo("func.func private @main(tensor<4xf32>) -> tensor<4xf32>")


def test_functions_of_other_types_are_refused_by_name() -> None:
    arguments = "%t: !stablehlo.token, %q: tensor<4x!quant.uniform<i8:f32, 1.0>>"
    text = f"func.func @main({arguments}) -> !stablehlo.token {{ return %t : !stablehlo.token }}"
    with pytest.raises(MindError, match=r"(?s)a value of type !stablehlo.token.*quant.uniform"):
        read_stablehlo(text)


def test_reasons_are_sentences_of_their_own() -> None:
    for name, row in ROWS.items():
        if isinstance(row, Refused):
            assert row.reason == row.reason.strip(), name
            assert not row.reason.endswith("."), name


# Bytecode


def test_bytecode_is_known_by_its_first_bytes() -> None:
    assert is_bytecode(b"ML\xefR\x0dMLIR")
    assert not is_bytecode(b"module {}")


def test_bytecode_without_jaxlib_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax" / "__init__.py").write_text("raise ImportError('no jax here')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(MindError, match=r"f.mlirbc is MLIR bytecode.*no jax here; install mind-dialect\[jax\]") as found:
        bytecode_text(b"ML\xefR....", "f.mlirbc")
    assert found.value.code == "E7002"


@pytest.mark.parametrize("program", ["import os; os.abort()", "import time; time.sleep(60)"], ids=["aborts", "hangs"])
def test_a_reader_that_fails_ends_in_a_coded_error(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mind_translate.stablehlo.bytecode._READER", program)
    monkeypatch.setattr("mind_translate.stablehlo.bytecode.TIME_LIMIT", 2)
    with pytest.raises(MindError) as found:
        bytecode_text(b"ML\xefR....", "f.mlirbc")
    assert found.value.code in ("E1007", "E6007")
    assert sys.executable not in found.value.message


def test_broken_bytecode_is_a_coded_error() -> None:
    pytest.importorskip("jaxlib", reason="no jaxlib: nothing reads bytecode")
    with pytest.raises(MindError, match="not bytecode that the StableHLO of this jaxlib can read") as found:
        bytecode_text(b"ML\xefR\x0dMLIR23.0.0git\x00", "f.mlirbc")
    assert found.value.code == "E1007"


@pytest.mark.parametrize("share", [0.3, 0.6, 0.97])
def test_bytecode_that_is_cut_off_is_a_coded_error(share: float) -> None:
    pytest.importorskip("jax", reason="no JAX: nothing writes bytecode")
    from mind_runtime.xla.artifact import portable_artifact

    whole = portable_artifact("""func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.tanh %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }""")
    with pytest.raises(MindError) as found:
        bytecode_text(whole[: int(share * len(whole))], "f.mlirbc")
    assert found.value.code == "E1007"


@pytest.mark.parametrize("file", ["forms.mlir", "forms_generic.mlir"])
def test_text_that_is_cut_off_or_garbled_is_a_coded_error(file: str) -> None:
    """Whatever is left out, repeated or exchanged: a coded error, or a program."""
    text = (Path(__file__).parent / file).read_text(encoding="utf-8")
    rng = random.Random(0)
    cases = [text[:i] for i in range(0, len(text), 97)]
    for _ in range(80):
        i, j, n = rng.randrange(len(text)), rng.randrange(len(text)), rng.randrange(1, 6)
        cases.append(text[:i] + text[j : j + n] + text[i + n :])
    refused = 0
    for case in cases:
        try:
            read_stablehlo(case, "cut.mlir")
        except (MindError, MindParseError):
            refused += 1
    assert refused > len(cases) * 0.9


@pytest.mark.parametrize(
    ("name", "call"), [("", "() : () -> ()"), ('sym_name = "f", ', "() : () -> ()")], ids=["of functions", "of calls"]
)
def test_names_that_are_missing_are_refused(name: str, call: str) -> None:
    text = f"""
    "func.func"() <{{{name}function_type = () -> ()}}> ({{ "func.call"{call} "func.return"() : () -> () }}) : () -> ()
    """
    with pytest.raises(MindError, match="property 'callee' expected" if name else "property 'sym_name' expected") as found:
        read_stablehlo(text)
    assert found.value.code == "E4000"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("inserted_window_dims = [0]", "inserted_window_dims = [9]"), "E8002"),
        (("scatter_dims_to_operand_dims = [0]", "scatter_dims_to_operand_dims = [0, 0]"), "E8002"),
        (("index_vector_dim = 1", "index_vector_dim = 7"), "E3004"),
        (("update_window_dims = [1]", "update_window_dims = []"), "E3002"),
    ],
)
def test_dimension_numbers_of_scatters_by_products(change: tuple[str, str], code: str) -> None:
    numbers = "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
    body = f"""%r = "stablehlo.scatter"(%x, %i, %u) ({{
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.multiply %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }}) {{scatter_dimension_numbers = #stablehlo.scatter<{numbers.replace(*change)}>}} :
      (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> tensor<5x3xf32>"""
    with pytest.raises(MindError) as found:
        read(program("%x: tensor<5x3xf32>, %i: tensor<2x1xi32>, %u: tensor<2x3xf32>", body, "tensor<5x3xf32>"))
    assert found.value.code == code
