"""StableHLO through the tools: as a form, recognised in MLIR, by the pass, in bytecode."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mind_runtime
from mind_dialect.errors import MindError
from mind_tools.frontends import load, parse
from mind_tools.universe import DIALECTS, FOREIGN, PASSES
from tool_runs import mind_opt, mind_run

PROGRAM = """\
module @jit_f {
  func.func public @main(%x: tensor<3xf32>) -> (tensor<3xf32> {jax.result_info = "result"}) {
    %0 = call @twice(%x) : (tensor<3xf32>) -> tensor<3xf32>
    %1 = stablehlo.sine %0 : tensor<3xf32>
    return %1 : tensor<3xf32>
  }
  func.func private @twice(%a: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.add %a, %a : tensor<3xf32>
    return %0 : tensor<3xf32>
  }
  func.func private @unused(%a: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.custom_call @nobody(%a) : (tensor<3xf32>) -> tensor<3xf32>
    return %0 : tensor<3xf32>
  }
}
"""
REFUSED = PROGRAM.replace("stablehlo.add %a, %a : ", "stablehlo.custom_call @k(%a) : (tensor<3xf32>) -> ")
X = np.array([1, 2, 3], np.float32)


def test_every_way_in_gives_the_same_module(tmp_path: Path) -> None:
    file = tmp_path / "f.mlir"
    file.write_text(PROGRAM)
    modules = [load(file), load(file, "stablehlo"), parse(PROGRAM), parse(PROGRAM, "stablehlo")]
    texts = [str(m) for m in modules]
    texts += [mind_opt("-f", "stablehlo", file).out, mind_opt(file, "--convert-stablehlo-to-ptir").out]
    assert len({"".join(text.split()) for text in texts}) == 1
    assert "@unused" not in texts[0]
    np.testing.assert_allclose(mind_runtime.compile(modules[0])(X), np.sin(2 * X), rtol=1e-6)


def test_mind_opt_keeps_the_text_as_it_is() -> None:
    out = mind_opt(stdin=PROGRAM)
    assert out.status == 0
    assert '"stablehlo.sine"' in out.out
    assert mind_opt(stdin=out.out).out == out.out
    assert "ptir.sin " in mind_opt("--convert-stablehlo-to-ptir", stdin=out.out).out


def test_mind_run_runs_it(tmp_path: Path) -> None:
    file = tmp_path / "f.mlir"
    file.write_text(PROGRAM)
    found = mind_run(file, "x=[1, 2, 3]")
    assert (found.status, found.err) == (0, "")
    assert "0.9092" in found.out
    assert mind_run("-", "x=[1, 2, 3]", stdin=PROGRAM).out == found.out


def test_our_derivatives_follow(tmp_path: Path) -> None:
    out = mind_opt("--convert-stablehlo-to-ptir", "--jvp=function=main", stdin=PROGRAM)
    assert out.status == 0, out.err
    found = mind_run("-", "--function", "main_jvp", "--all", "fill:1", stdin=out.out)
    assert f"{2 * np.cos(2):.3f}"[:5] in found.out


def test_a_refused_program_shows_the_place() -> None:
    found = mind_opt("-f", "stablehlo", stdin=REFUSED)
    assert found.status == 1
    assert found.err == (
        "error[E8008]: 1 op has no form in PTIR:\n"
        "  stablehlo.custom_call, at stdin:8:10: a custom call of 'k'; register a ptir.custom_call, or replace it before the "
        "import\n"
        " --> stdin:8:10\n"
        "  |\n"
        "8 |     %0 = stablehlo.custom_call @k(%a) : (tensor<3xf32>) -> tensor<3xf32>\n"
        "  |          ^^^^^^^^^^^^^^^^^^^^^\n"
        "  = note: Unimplemented; mind-opt --explain E8008, error-codes.md#e8008\n"
    )
    assert mind_run("-", "--all", "fill:1", stdin=REFUSED).status == 1


def test_functions_of_others_are_left_alone() -> None:
    others = """
  func.func @ours(%x: tensor<3xf32>) -> tensor<3xf32> {
    %0 = mind.add %x, %x : tensor<3xf32>
    return %0 : tensor<3xf32>
  }
  func.func @theirs(%x: tensor<3xi32>) -> tensor<3xi32> {
    return %x : tensor<3xi32>
  }
}
"""
    text = PROGRAM.rstrip().removesuffix("}") + others
    out = mind_opt("--convert-stablehlo-to-ptir", stdin=text)
    assert out.status == 0, out.err
    assert "mind.add %x, %x" in out.out
    assert "@theirs(%x: tensor<3xi32>)" in out.out
    assert "stablehlo" not in out.out


def test_integers_have_a_sign_afterwards() -> None:
    text = PROGRAM.replace("f32", "i32").replace("stablehlo.sine", "stablehlo.negate").replace('"result"', '"r"')
    assert "tensor<3xsi32>" in mind_opt("-f", "stablehlo", stdin=text).out


def test_names_that_jax_gives_become_names_of_inputs() -> None:
    text = PROGRAM.replace("%x: tensor<3xf32>", "%x: tensor<3xf32> loc(\"params['w']\")")
    found = mind_run("-", "params['w']=[1, 2, 3]", stdin=text)
    assert found.status == 0, found.err


def test_locations_stay() -> None:
    text = PROGRAM.replace("stablehlo.sine %0 : tensor<3xf32>", 'stablehlo.sine %0 : tensor<3xf32> loc("sin"("f.py":3:4 to :9))')
    out = mind_opt("-f", "stablehlo", "--print-debuginfo", stdin=text).out
    assert 'ptir.sin %0 : tensor<3xf32> loc("sin"("f.py":3:4' in out


def test_the_dialects_are_ours_only_while_nobody_else_has_them() -> None:
    assert set(FOREIGN) <= set(DIALECTS)
    assert "mind-convert-stablehlo-to-ptir" in PASSES


@pytest.mark.parametrize("form", ["mlir", "stablehlo"])
def test_bytecode_is_read(form: str, tmp_path: Path) -> None:
    pytest.importorskip("jaxlib", reason="no jaxlib: nothing writes or reads bytecode")
    import io

    from jax.interpreters import mlir
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    context = mlir.make_ir_context()
    with context:
        module = ir.Module.parse(PROGRAM.replace("nobody", "Sharding"))
        plain = io.BytesIO()
        module.operation.write_bytecode(plain)
        portable = stablehlo.serialize_portable_artifact_str(str(module), stablehlo.get_minimum_version())
    for data in (plain.getvalue(), portable):
        file = tmp_path / ("f.mlirbc" if form == "stablehlo" else "f.mlir")
        file.write_bytes(data)
        np.testing.assert_allclose(mind_runtime.compile(load(file), "main")(X), np.sin(2 * X), rtol=1e-6)
        assert mind_run(file, "--all", "fill:1").status == 0
        file.write_bytes(data[: len(data) // 2])
        with pytest.raises(MindError, match="not bytecode that the StableHLO of this jaxlib can read"):
            load(file)


def test_lines_are_those_of_the_file_in_each_part_of_a_split_input() -> None:
    part = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{E8008}}
  %0 = stablehlo.custom_call @nobody(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
    text = "// -----\n".join([part] * 3)
    found = mind_opt("-f", "stablehlo", "--split-input-file", stdin=text)
    assert [f"stdin:{line}:8\n" in found.err for line in (3, 9, 15)] == [True] * 3, found.err
    assert mind_opt("-f", "stablehlo", "--split-input-file", "--verify-diagnostics", stdin=text).status == 0


CORE_IR = "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> { %0 = mind.exp %x : tensor<2xf32> func.return %0 : tensor<2xf32> }"
UNCONVERTED = {
    "@main holds StableHLO; convert it first, with convert-stablehlo-to-ptir": (
        PROGRAM,
        ["--autodiff=seed=ones", "--mind-jvp", "--vectorize"],
    ),
    "@f holds Core IR; convert it first, with convert-mind-to-ptir": (CORE_IR, ["--mind-jvp", "--vectorize"]),
}


@pytest.mark.parametrize(
    ("message", "text", "option"), [(message, text, o) for message, (text, options) in UNCONVERTED.items() for o in options]
)
def test_nothing_is_derived_of_a_program_that_is_not_converted(message: str, text: str, option: str) -> None:
    found = mind_opt(option, stdin=text)
    assert found.status == 1
    assert f"error[E7003]: {message}" in found.err
    assert mind_opt(f"--{message.rpartition(' ')[2]}", option, stdin=text).status == 0


@pytest.mark.parametrize("option", ["checkpoint=often", "max-iterations=-1"])
def test_options_of_loops_are_read_without_loops(option: str) -> None:
    text = "func.func @f(%x: tensor<f32>) -> tensor<f32> { %0 = mind.exp %x : tensor<f32> func.return %0 : tensor<f32> }"
    found = mind_opt(f"--autodiff={option}", stdin=text)
    assert found.status == 1
    assert f"error[E7001]: {option}, expected" in found.err


def test_an_op_of_mhlo_names_that_of_stablehlo() -> None:
    text = PROGRAM.replace("stablehlo.sine", "mhlo.sine")
    assert "unknown op 'mhlo.sine', expected stablehlo.sine" in mind_opt("-f", "stablehlo", stdin=text).err
