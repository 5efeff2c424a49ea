"""The FileCheck files of the shape dialect: each op makes the round trip in both forms, each is refused, each code is met."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mind_dialect.errors import CATALOGUE
from mind_dialect.shape import EARLY_OPS, MODERN_OPS, SHAPE_OPS, SHAPE_TYPES, Shape, ShapeOp

FOLDER = Path(__file__).parents[2] / "filecheck" / "dialects" / "shape"
INVALID = sorted(FOLDER.glob("*-invalid.mlir"))
GOOD = sorted(set(FOLDER.glob("*.mlir")) - set(INVALID))
OPTIONAL_WITHOUT_TEXT = {"sym_visibility", "res_attrs"}
"""Of libraries, and of results: builtin attributes in xDSL's own form of functions."""
FROM_OTHER_TESTS = {"E9013": "passes of modernisation"}
GENERIC_ONLY = {"shape.constant_dim", "shape.debug_print", "shape.split_at"}
UPSTREAM = """
add any assuming assuming_all assuming_yield broadcast concat const_shape const_size const_witness cstr_broadcastable cstr_eq
cstr_require debug_print dim div from_extent_tensor from_extents func function_library get_extent index_to_size
is_broadcastable max meet min mul num_elements rank reduce return shape_eq shape_of size_to_index split_at to_extent_tensor
value_as_shape value_of with_shape yield
"""


def checked(prefix: str) -> list[str]:
    """What the lines with a prefix expect, in all round-trip files."""
    pattern = re.compile(rf"^ *// {prefix}(?:-NEXT|-LABEL)?: +(.*)", re.MULTILINE)
    return [line for path in GOOD for line in pattern.findall(path.read_text(encoding="utf-8"))]


CUSTOM, GENERIC = checked("CHECK"), checked("GENERIC")


def cases(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("// -----")


def test_the_dialect_has_the_ops_of_today_and_those_of_the_early_specification():
    assert {op.name.removeprefix("shape.") for op in MODERN_OPS} == set(UPSTREAM.split())
    assert {op.name.removeprefix("shape.") for op in EARLY_OPS} == {"constant", "constant_dim", "create_shape", "join"}
    assert len(MODERN_OPS) == 40
    assert len({op.name for op in SHAPE_OPS}) == len(SHAPE_OPS) == 44
    assert list(Shape.operations) == list(SHAPE_OPS)
    assert list(Shape.attributes) == list(SHAPE_TYPES)


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_a_round_trip_file_is_checked_in_both_forms(path: Path):
    text = path.read_text(encoding="utf-8")
    names = re.findall(r"^(?:module|shape\.\w+|func\.func)(?: private)? @(\w+)", text, re.MULTILINE)
    assert names
    assert names == re.findall(r"CHECK-LABEL: [\w.]+(?: private)? @(\w+)", text)
    assert names == re.findall(r'GENERIC: sym_name = "(\w+)"', text)


@pytest.mark.parametrize("generic", [False, True], ids=["custom", "generic"])
@pytest.mark.parametrize("op", SHAPE_OPS, ids=lambda op: op.name)
def test_an_op_makes_the_round_trip(op: type[ShapeOp], generic: bool):
    quoted = generic or op.name in GENERIC_ONLY
    pattern = re.compile(rf'"{op.name}"\(' if quoted else rf"(?:^|= ){re.escape(op.name)}(?!\w)")
    lines = [line for line in (GENERIC if generic else CUSTOM) if pattern.search(line)]
    if op.name == "shape.function_library" or (op.name == "shape.func" and not generic):
        lines += [line for line in CUSTOM if line.startswith(op.name)]
    assert lines, f"no round-trip file of tests/filecheck/dialects/shape holds {op.name}"
    for name, definition in op.get_irdl_definition().properties.items():
        if name in OPTIONAL_WITHOUT_TEXT or not generic:
            continue
        found = [line for line in (*lines, *GENERIC) if re.search(rf"(?<![\w.]){name} = ", line)]
        assert found, f"nothing checks the text of {op.name} with {name}: {definition}"


@pytest.mark.parametrize("type", SHAPE_TYPES, ids=lambda type: type.name)
def test_a_type_makes_the_round_trip(type):
    printed = f"!{type.new(()).name}"
    assert any(printed in line for line in CUSTOM)
    assert any(f"!{type.name}" in path.read_text(encoding="utf-8") for path in GOOD)


@pytest.mark.parametrize("op", SHAPE_OPS, ids=lambda op: op.name)
def test_an_op_is_refused_somewhere(op: type[ShapeOp]):
    pattern = re.compile(rf"CHECK: error\[E\d+\]: {op.name}(?: %[\w#]+)?: ")
    found = [path for path in INVALID if pattern.search(path.read_text(encoding="utf-8"))]
    assert found, f"no file of refusals is about {op.name}"


@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_a_file_of_refusals_checks_code_message_and_category(path: Path):
    for case in cases(path):
        (code,) = re.findall(r"^// CHECK: error\[(E\d{4})\]: \S.*\S$", case, re.MULTILINE)
        (category,) = re.findall(r"^// CHECK: = note: (\w+)$", case, re.MULTILINE)
        assert CATALOGUE[code].category == category
        assert len(re.findall(r"(?:^|\s)(?:module|func|shape\.\w+|func\.func)(?: private)? @(\w+)|sym_name", case)) >= 1


@pytest.mark.quick
def test_every_code_of_the_dialect_is_met():
    met = {code for path in INVALID for code in re.findall(r"CHECK: error\[(E9\d{3})\]", path.read_text(encoding="utf-8"))}
    assert met | set(FROM_OTHER_TESTS) >= {code for code in CATALOGUE if "E9000" <= code <= "E9013"}
