"""What functions declare of sizes: what is wrong in itself, kept by passes, and refused at a call before anything runs."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.passes import ModulePass

import mind_runtime
from mind_dialect.declared_dims import DECLARED, declarations_of
from mind_dialect.errors import MindError
from mind_dialect.program import functions
from mind_dialect.verify import verify
from mind_passes.autodiff import MindAutodiffPass
from mind_passes.forward import MindJvpPass
from mind_passes.inline import MindInlinePass
from mind_passes.shape.infer import ShapeInferPass
from mind_passes.vectorize import MindVectorizePass
from mind_tools.frontends import parse
from mind_tools.universe import TARGETS

HEAD = 'builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {\n'
BODY = """func.func @f(%x: tensor<?x?xf32, "B,T">) -> tensor<?x?xf32, "B,T"> attributes {mind.dims = [FACTS]} {
  %y = ptir.exp %x : tensor<?x?xf32, "B,T">
  func.return %y : tensor<?x?xf32, "B,T">
}
"""


def text(*facts: str, more: str = "") -> str:
    return HEAD + BODY.replace("FACTS", ", ".join(f'"{fact}"' for fact in facts)) + more + "}"


def declared(module: Any, name: str) -> list[str]:
    return [fact.text for func in functions(module) if func.sym_name.data == name for fact in declarations_of(func)]


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize(
    ("fact", "good", "bad"),
    [
        ("T in 2..4", [(1, 2), (1, 4)], [(1, 1), (1, 5)]),
        ("T in 2..", [(0, 2), (0, 50)], [(0, 1), (0, 0)]),
        ("T % 4 == 1", [(2, 1), (2, 5)], [(2, 0), (2, 4)]),
        ("B + T <= 5", [(5, 0), (2, 3)], [(5, 1), (3, 3)]),
        ("B != 1", [(0, 3), (2, 3)], [(1, 3)]),
        ("T == 2*B", [(0, 0), (2, 4)], [(2, 3), (1, 1)]),
        ("max(B,T) < 4", [(3, 3)], [(4, 1), (1, 4)]),
        ("T > B", [(0, 1)], [(1, 1)]),
        ("T >= T floordiv B", [(1, 3)], [(0, 3)]),
    ],
)
def test_a_call_has_the_sizes_that_are_declared(target: str, fact: str, good: list[Any], bad: list[Any]) -> None:
    program = mind_runtime.compile(parse(text(fact)), target=target)
    for _ in range(3):  # also once the sizes are known and compiled for
        for shape in good:
            x = np.zeros(shape, np.float32)
            np.testing.assert_array_equal(program(x), np.exp(x))
        for shape in bad:
            with pytest.raises(MindError, match="declared is") as found:
                program(np.zeros(shape, np.float32))
            assert found.value.code == "E8010"
            assert found.value.context["declaration"] == fact


def test_the_message_names_arguments_axes_sizes_and_the_text() -> None:
    program = mind_runtime.compile(parse(text("B + T <= 5")))
    with pytest.raises(MindError) as found:
        program(np.zeros((4, 3), np.float32))
    assert found.value.message == (
        "input x of @f has size 4 as dimension 0, B; input x of @f has size 3 as dimension 1, T; declared is 'B + T <= 5'"
    )


@pytest.mark.parametrize(
    ("facts", "code", "message"),
    [
        (("T in 1..8", "T > 8"), "E8009", r"T >= 9 \(T > 8\) contradicts T in 1..8"),
        (("T % 8 == 0", "T == 12"), "E8009", "T == 12"),
        (("B != B",), "E8009", "can never hold"),
        (("N >= 1",), "E8001", "no argument has the dimension N"),
        (("T ++ 1 == 2",), "E4000", "says T \\+\\+ 1 == 2: .* at column 3"),
        (("T",), "E4000", "expected a range, a relation or a remainder"),
        (("T % 4 == 4",), "E4000", "remainder 4 of a division by 4"),
    ],
)
def test_what_is_wrong_in_itself_is_refused(facts: tuple[str, ...], code: str, message: str) -> None:
    with pytest.raises(MindError, match=message) as found:
        mind_runtime.compile(parse(text(*facts)))
    assert found.value.code == code


@pytest.mark.parametrize("attribute", ["3 : i64", "[]", "[4 : i64]", '"T >= 1"'])
def test_another_attribute_is_refused(attribute: str) -> None:
    module = HEAD + BODY.replace("[FACTS]", attribute) + "}"
    with pytest.raises(MindError, match=f"{DECLARED} is") as found:
        mind_runtime.compile(parse(module))
    assert found.value.code == "E4000"


def changed(source: str, *passes: ModulePass) -> Any:
    """A program after some passes."""
    module = parse(source)
    for each in passes:
        each.apply(Context(), module)
        verify(module)
    return module


def test_derivatives_and_batches_declare_the_same() -> None:
    module = changed(
        text("T in 1..8", "B != 1"),
        MindAutodiffPass(seed="cotangent"),
        MindJvpPass(function="f"),
        MindVectorizePass(function="f"),
    )
    made = [func.sym_name.data for func in functions(module)]
    assert len(made) == 4
    assert all(declared(module, name) == ["T in 1..8", "B != 1"] for name in made)


CALLER = """func.func @g(%x: tensor<?x6xf32, "P,*">) -> tensor<?x6xf32, "P,*"> {
  %y = func.call @h(%x) : (tensor<?x6xf32, "P,*">) -> tensor<?x6xf32, "P,*">
  func.return %y : tensor<?x6xf32, "P,*">
}
func.func @h(%x: tensor<?x?xf32, "N,M">) -> tensor<?x?xf32, "N,M"> attributes {mind.dims = [FACTS]} {
  %y = ptir.exp %x : tensor<?x?xf32, "N,M">
  func.return %y : tensor<?x?xf32, "N,M">
}
"""


def test_what_a_called_function_declares_is_declared_by_the_caller() -> None:
    called = CALLER.replace("FACTS", '"N in 1..8", "M % 3 == 0", "N < M"')
    source = HEAD + called.replace('tensor<?x6xf32, "P,*">', 'tensor<?x?xf32, "P,Q">') + "}"
    module = changed(source, MindInlinePass())
    assert declared(module, "g") == ["P in 1..8", "Q % 3 == 0", "P < Q"]


def test_sizes_that_are_bound_are_checked_and_go() -> None:
    module = changed(text("B + T <= 8", "T in 1..4", "B != 1"), ShapeInferPass(bind=("T=3",)))
    assert declared(module, "f") == ["B + 3 <= 8", "B != 1"]
    with pytest.raises(MindError, match=r"@f declares 'T in 1\.\.4', found T = 5") as found:
        changed(text("T in 1..4"), ShapeInferPass(bind=("T=5",)))
    assert found.value.code == "E8010"


def test_a_call_with_a_size_is_checked_where_it_is_inlined() -> None:
    source = HEAD + CALLER.replace("FACTS", '"N in 1..8", "M % 3 == 0", "N < M"') + "}"
    assert declared(changed(source, MindInlinePass()), "g") == ["P in 1..8", "P < 6"]
    with pytest.raises(MindError, match="says '6 <= 4', which is false") as found:
        changed(HEAD + CALLER.replace("FACTS", '"M in 1..4"') + "}", MindInlinePass())
    assert found.value.code == "E8010"


@pytest.mark.parametrize("target", ["mind-ptir-json", "mind-ptir-text"])
def test_forms_that_cannot_say_declarations_refuse_them(target: str) -> None:
    with pytest.raises(MindError, match=r"@f declares sizes in mind\.dims") as found:
        TARGETS[target]()(strict=True).emit(Context(), parse(text("T in 1..4")), io.StringIO())
    assert found.value.code == "E4000"
