"""Pretty and generic text are read as the same module, without jaxlib; every form is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, i1
from xdsl.ir import Attribute, Operation

from mind_dialect.errors import MindParseError
from mind_dialect.stablehlo import OP_TYPES
from mind_dialect.stablehlo.forms import FORMS
from mind_translate.stablehlo import parse_stablehlo
from mind_translate.stablehlo.foreign import as_integers, name_of, numbers_in

HERE = Path(__file__).parent
PRETTY, GENERIC = (HERE / name for name in ("forms.mlir", "forms_generic.mlir"))
"""One program of every form, written by jaxlib in both."""


def plain(attribute: Attribute) -> object:
    """An attribute without the differences between the two forms: lists as tuples, dimension numbers as what they say."""
    if (integers := as_integers(attribute)) is not None:
        return tuple(bool(n) for n in integers) if set(integers) <= {-1, 1} else integers
    if isinstance(attribute, IntegerAttr):
        return attribute.value.data != 0 if attribute.type == i1 else attribute.value.data
    text = str(attribute)
    if isinstance(attribute, ArrayAttr):
        return tuple(str(a).rpartition("precision")[2].strip('<> "') for a in attribute.data)
    if " = [" in text:
        return tuple(sorted((name, values) for name, values in numbers_in(text).items() if values))
    return text.replace("#chlo<", "<").replace(" ", "")


def described(module: ModuleOp) -> list[Any]:
    """Every op: name, operands by number, result types, attributes."""
    numbers: dict[Any, int] = {}
    found: list[Any] = []
    for op in module.walk():
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    numbers[argument] = len(numbers)
        for result in op.results:
            numbers[result] = len(numbers)
        found.append(op)
    return [(name_of(op), [numbers[v] for v in op.operands], [str(t) for t in op.result_types], attributes(op)) for op in found]


def attributes(op: Operation) -> dict[str, object]:
    stored = {**op.attributes, **op.properties}
    found = {
        name: plain(a) for name, a in stored.items() if "." not in name and op.name.partition(".")[0] not in ("builtin", "func")
    }
    return {
        name: value
        for name, value in found.items()
        if name not in ("precision_config", "algorithm", "manual_axes") and value != ()
    }


def test_both_forms_are_the_same_module() -> None:
    pretty, generic = (described(parse_stablehlo(file.read_text(), file.name)) for file in (PRETTY, GENERIC))
    skipped = {"sdy.mesh", "sdy.manual_computation", "sdy.sharding_constraint", "sdy.propagation_barrier"}
    for given, wanted in zip(pretty, generic, strict=True):
        assert given[:3] == wanted[:3]
        if given[0] not in skipped:
            assert given[3] == wanted[3], given[0]


def test_every_form_is_in_the_program() -> None:
    names = {name for name, *_ in described(parse_stablehlo(PRETTY.read_text(), "forms.mlir"))}
    absent = {name for name in FORMS if name not in names}
    assert absent == {"sdy.reshard"}, "which has the form of sdy.sharding_constraint"


def test_what_is_read_prints_and_reads_again() -> None:
    module = parse_stablehlo(PRETTY.read_text(), "forms.mlir")
    again = parse_stablehlo(str(module), "again.mlir")
    assert module.is_structurally_equivalent(again)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%0 = stablehlo.add %x, : tensor<4xf32>", "[Oo]perand"),
        ("%0 = stablehlo.compare XX", "expected"),
        ("%0 = stablehlo.foo %x : tensor<4xf32>", "unknown op 'stablehlo.foo'"),
        ("%0 = stablehlo.slice %x [0:2:] : (tensor<4xf32>) -> tensor<2xf32>", "integer"),
        ("%0 = stablehlo.transpose %x, dim = [0] : (tensor<4xf32>) -> tensor<4xf32>", "expected one of dims"),
        ("%0 = stablehlo.convolution(%x, %x) dim_numbers = [b, 0", "dimension numbers such as"),
        ("%0 = stablehlo.reduce(%x init: %x) applies stablehlo.foo across dimensions = [0] : (tensor<4xf32>, tensor<f32>)", None),
        ("%0 = stablehlo.reduce(%x init %x)", "expected ':'|':' expected"),
        ("%0 = stablehlo.while(%a = %x : tensor<4xf32>", None),
        ("%0 = stablehlo.reduce_precision %x, format = e5 : tensor<4xf32>", "a format such as e5m10"),
        ("%0 = stablehlo.tuple %x : tensor<4xf32>", "a tuple type"),
        ("%0 = stablehlo.constant 3", "a tensor literal"),
        ("%0 = stablehlo.custom_call @f(%x", None),
        ('%0 = "stablehlo.add"(%x, %x) : (tensor<4xf32>) -> tensor<4xf32>', "expected 1 operand types but had 2"),
        ("%0 = stablehlo.add %x, %y : tensor<4xf32>", "%y is used but not defined"),
        (
            "%0 = stablehlo.dot_general %x, %x, contracting_dims = [0] y [0] : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>",
            "'x'",
        ),
    ],
)
def test_malformed_text_is_a_coded_error_at_a_place(text: str, message: str | None) -> None:
    source = f"func.func @f(%x: tensor<4xf32>) {{\n  {text}\n  return\n}}\n"
    with pytest.raises(MindParseError, match=message) as found:
        parse_stablehlo(source, "bad.mlir")
    assert found.value.error.code in ("E1007", "E4000", "E4001", "E2007", "E1002")
    assert found.value.span.get_location().line >= 2


@pytest.mark.parametrize("file", [PRETTY, GENERIC], ids=["pretty", "generic"])
def test_text_cut_off_anywhere_is_a_coded_error(file: Path) -> None:
    text = file.read_text()
    for end in range(7, len(text) - 4, 211):
        with pytest.raises(MindParseError):
            parse_stablehlo(text[:end], "cut.mlir")


def test_op_names_are_distinct() -> None:
    assert set(FORMS) <= set(OP_TYPES)
