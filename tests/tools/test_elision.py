"""`--mlir-elide-elementsattrs-if-larger=N`: which constants lose their numbers, where, and what is never shortened."""

from __future__ import annotations

from pathlib import Path

import pytest

from tool_runs import mind_opt

SHORT = "dense_resource<__elided__> : tensor<3xf32>"
CONSTANTS = {
    "arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>": True,
    "arith.constant dense<[0.0, -0.0, 0.0]> : tensor<3xf32>": True,
    "arith.constant dense<2.0> : tensor<3xf32>": False,
    "arith.constant dense<[2.0, 2.0, 2.0]> : tensor<3xf32>": False,
    "ptir.constant [1.0, 2.0, 3.0] : tensor<3xf32>": True,
    "ptir.constant fill 2.0 : tensor<3xf32>": False,
    "ptir.constant fill 2.0 : tensor<4xf32>": False,
    "ptir.constant [2.0, 2.0, 2.0] : tensor<3xf32>": False,
    "mind.constant [1.0, 2.0, 3.0] : tensor<3xf32>": True,
    "mind.constant fill 2.0 : tensor<4xf32>": False,
    "arith.constant dense<[1, 2]> : tensor<2xi8>": False,
    "arith.constant dense<> : tensor<0xf32>": False,
    "arith.constant dense<2> : tensor<i64>": False,
}


def program(constant: str) -> str:
    return f'builtin.module attributes {{ptir.spec_version = "ptir.v0.4"}} {{\nfunc.func @f() {{\n%c = {constant}\nreturn\n}}\n}}'


@pytest.mark.parametrize("constant", CONSTANTS)
def test_only_long_lists_of_different_numbers_are_elided(constant: str) -> None:
    text = program(constant)
    shown = mind_opt("--mlir-elide-elementsattrs-if-larger=2", stdin=text)
    assert shown.status == 0
    assert (SHORT in shown.out) == CONSTANTS[constant]
    at_its_size = mind_opt("--elide-elementsattrs-if-larger", "4", stdin=text).out
    assert at_its_size == mind_opt(stdin=text).out
    assert CONSTANTS[constant] or shown.out == at_its_size


def test_constants_of_the_stablehlo_exporter() -> None:
    body = "%a = ptir.constant [1, 2, 3] : tensor<3xsi32>\n%b = ptir.constant fill 7 : tensor<4xsi32>"
    text = program("ptir.constant fill true : tensor<3xi1>").replace("return", f"{body}\nreturn %a : tensor<3xsi32>")
    text = text.replace("()", "() -> tensor<3xsi32>")
    out = mind_opt("--convert-ptir-to-stablehlo", "--elide-elementsattrs-if-larger=2", stdin=text).out
    assert "value = dense_resource<__elided__> : tensor<3xi32>" in out
    assert out.count("__elided__") == 1


def test_constants_of_launches_are_elided() -> None:
    """A table that a kernel reads, which the viewer shows without its numbers."""
    text = program("ptir.constant [1, 2, 3] : tensor<3xsi32>")
    text = text.replace("return", "return %c : tensor<3xsi32>").replace("()", "() -> tensor<3xsi32>")
    out = mind_opt("--lower-to-native=isa=avx2 launches=true", "--elide-elementsattrs-if-larger=2", stdin=text).out
    assert "launch.alloc constant 0 literal dense_resource<__elided__> : tensor<3xsi32>" in out


def test_the_ir_around_passes_is_elided_and_what_is_read_again_is_not(tmp_path: Path) -> None:
    text = program("mind.constant [1.0, 2.0, 3.0] : tensor<3xf32>")
    option = "--elide-elementsattrs-if-larger=2"
    found = mind_opt(option, "--cse", "--print-ir-before-all", stdin=text)
    assert SHORT in found.err
    path = tmp_path / "r.mlir"
    assert mind_opt(option, "--autodiff", f"--crash-reproducer={path}", stdin=text).status == 1
    assert "#mind.literal<[1.0, 2.0, 3.0] : tensor<3xf32>>" in path.read_text()
    assert (
        "1.0, 2.0, 3.0"
        in mind_opt(
            option,
            "-t",
            "core-ir",
            stdin=text.replace("return", "return %c : tensor<3xf32>").replace("()", "() -> tensor<3xf32>"),
        ).out
    )


@pytest.mark.parametrize("value", ["-2", "x", "", "1.5"])
def test_what_is_no_number_of_elements(value: str) -> None:
    result = mind_opt(f"--elide-elementsattrs-if-larger={value}", stdin="")
    assert result.status == 1
    assert f"expected a number of elements, found {value!r}" in result.err
