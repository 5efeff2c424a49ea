"""Between the generations of the shape dialect: mlir-opt reads what modernisation gives; there and back changes nothing."""

from __future__ import annotations

import io
import re
import subprocess
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnknownLoc
from xdsl.irdl import VariadicDef
from xdsl.printer import Printer

from mind_dialect.errors import MindError
from mind_dialect.shape import EARLY_OPS, MODERN_OPS, ShapeOp
from mind_dialect.verify import failures, verify
from mind_passes.shape.early import _SAID_EARLY, to_early
from mind_passes.shape.modernize import modernize
from programs import parse
from tool_runs import mind_opt

FILECHECK = Path(__file__).parents[2] / "filecheck"
FILES = sorted(
    path
    for folder in ("dialects/shape", "transforms")
    for path in (FILECHECK / folder).glob("*.mlir" if folder.startswith("dialects") else "shape-*.mlir")
    if not path.stem.endswith("-invalid") and "--split-input-file" not in path.read_text(encoding="utf-8")
)
EARLY = """
func.func @f(%s: !shape.type, %z: !shape.size, %x: tensor<?xf32>, %i: tensor<3xi32>, %j: tensor<?xindex>) {
  %0 = shape.constant 10 : !shape.size
  %1 = shape.constant [3, 4] : !shape.type
  %2 = shape.constant [] : !shape.type
  %3 = shape.shape_of %x : tensor<?xf32> -> !shape.type
  %4 = shape.join %s, %3, error = "why" : !shape.type
  %5 = shape.broadcast %4, %1 {error = "why", test.note} : !shape.type, !shape.type -> !shape.type
  %6 = shape.create_shape %i : tensor<3xi32>
  %7 = shape.create_shape %j : tensor<?xindex>
  %8 = "shape.debug_print"(%7) : (!shape.type) -> !shape.type
  %9 = shape.add %z, %0 : !shape.size, !shape.size -> !shape.size
  %10 = shape.reduce(%8, %9) : !shape.type -> !shape.size {
  ^bb0(%n: i32, %extent: !shape.size, %acc: !shape.size):
    %k = arith.addi %n, %n : i32
    %inner = shape.reduce(%8, %acc) : !shape.type -> !shape.size {
    ^bb0(%m: i32, %e: !shape.size, %a: !shape.size):
      %l = arith.addi %k, %m : i32
      %p = shape.mul %a, %e : !shape.size, !shape.size -> !shape.size
      shape.return %p : !shape.size
    }
    shape.return %inner : !shape.size
  }
  func.return
}
"""
REFUSED_OF_NOTHING = {("shape.broadcast", "tensor<?xindex>")} | {
    ("shape.any", type) for type in ("!shape.shape", "tensor<0xindex>", "tensor<?xindex>")
}
"""Ops without operands of which today's dialect has no constant."""


def is_variadic(op: type[ShapeOp]) -> bool:
    """Whether all of the op's operands are variadic, and it has a result and no region."""
    declared = op.get_irdl_definition()
    alone = len(declared.operands) == 1 and isinstance(declared.operands[0][1], VariadicDef)
    return alone and len(declared.results) == 1 and not declared.regions


def text(module: ModuleOp, *, generic: bool = False) -> str:
    stream = io.StringIO()
    Printer(stream, print_generic_format=generic).print_op(module)
    return stream.getvalue()


def without_element_types(path: Path) -> ModuleOp:
    """The module of a file, less the functions that have the type which today's dialect lacks."""
    module = parse(path.read_text(encoding="utf-8"))
    for op in list(module.body.block.ops):
        if "!shape.element_type" in str(op):
            op.detach()
            op.erase()
    return module


def read_by_mlir(mlir_opt: str, source: str) -> None:
    command = [mlir_opt, "--allow-unregistered-dialect"]
    result = subprocess.run(command, input=source, text=True, capture_output=True, check=False)
    assert result.returncode == 0, result.stderr


def test_the_files_hold_every_op():
    held = {op.name for path in FILES for op in parse(path.read_text(encoding="utf-8")).walk() if isinstance(op, ShapeOp)}
    assert held == {op.name for op in (*MODERN_OPS, *EARLY_OPS)}


@pytest.mark.parametrize("generic", [False, True], ids=["custom", "generic"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_mlir_reads_what_modernisation_gives(path: Path, generic: bool, mlir_opt: str):
    module = without_element_types(path)
    names = {op.name for op in EARLY_OPS} - {"shape.constant"}
    for op in list(module.walk()):
        if op.name == "shape.constant" and not re.fullmatch(r"\d+ : index|\[[\d:, index\"?]*\]", str(op.properties["value"])):
            for result in op.results:
                assert result.first_use is None
            op.detach()
            op.erase()
    modernize(module, "dynamic")
    verify(module)
    assert not {op.name for op in module.walk()} & names
    read_by_mlir(mlir_opt, text(module, generic=generic))


def test_mlir_reads_constants_that_are_kept_in_generic_form(mlir_opt: str):
    module = parse((FILECHECK / "dialects" / "shape" / "early.mlir").read_text(encoding="utf-8"))
    modernize(module, "keep")
    kept = [op for op in module.walk() if op.name == "shape.constant"]
    assert len(kept) == 10
    read_by_mlir(mlir_opt, text(module, generic=True))


def test_mlir_refuses_the_early_form(mlir_opt: str):
    """Else these tests would show nothing."""
    command = [mlir_opt, "--allow-unregistered-dialect"]
    result = subprocess.run(command, input=text(parse(EARLY), generic=True), text=True, capture_output=True, check=False)
    assert result.returncode != 0


def test_there_and_back():
    module = parse(EARLY)
    original = text(module)
    modernize(module)
    verify(module)
    modern = text(module)
    assert "shape.yield" in modern
    assert "i32 to index" not in modern
    to_early(module)
    verify(module)
    assert text(module) == original
    modernize(module)
    assert text(module) == modern


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_modernisation_and_its_inverse_are_idempotent(path: Path):
    for convert in (lambda m: modernize(m, "keep"), to_early):
        module = without_element_types(path)
        try:
            convert(module)
        except MindError as e:
            assert e.code == "E9013"  # noqa: PT017
            continue
        once = text(module)
        convert(module)
        assert text(module) == once


def test_nothing_is_rewritten_if_there_is_an_error():
    module = parse(EARLY + "func.func @g() {\n  %0 = shape.constant ? : !shape.size\n  func.return\n}")
    before = text(module)
    with pytest.raises(MindError, match="E9013"):
        modernize(module)
    assert text(module) == before
    mixed = parse(
        "func.func @g(%i: index) {\n  %0 = shape.const_size 3\n  %1 = shape.rank %0 : !shape.size -> index\n  func.return\n}"
    )
    before = text(mixed)
    with pytest.raises(MindError, match="E9013"):
        to_early(mixed)
    assert text(mixed) == before


def test_places_stay():
    module = parse("func.func @g(%s: !shape.type) {\n  %0 = shape.join %s, %s : !shape.type\n  func.return\n}")
    (join,) = [op for op in module.walk() if op.name == "shape.join"]
    join.location = place = UnknownLoc()
    modernize(module)
    (meet,) = [op for op in module.walk() if op.name == "shape.meet"]
    assert meet.location is place
    assert meet.results[0].name_hint is None
    assert StringAttr("unused") not in meet.properties.values()


@pytest.mark.quick
def test_every_op_has_an_early_form_or_none():
    """The early specification has these; everything else is refused."""
    said = {op.name.removeprefix("shape.") for op in _SAID_EARLY}
    assert said == {
        *("add", "broadcast", "constant", "create_shape", "debug_print", "join", "mul", "reduce", "shape_of", "constant_dim"),
        *("const_size", "const_shape", "meet", "value_as_shape", "from_extent_tensor", "yield", "return"),
    }


def test_the_flags():
    modern = mind_opt("--shape-modernize", stdin=EARLY)
    assert modern.status == 0, modern.err
    early = mind_opt("--shape-to-early", stdin=modern.out)
    assert early.status == 0, early.err
    assert early.out == mind_opt(stdin=EARLY).out
    assert "error[E7001]" in mind_opt("--shape-modernize=unknown=maybe", stdin=EARLY).err


@pytest.mark.parametrize("op", [op for op in MODERN_OPS if op.MIN_OPERANDS == 0 and is_variadic(op)], ids=lambda op: op.name)
def test_ops_of_no_operands_become_constants_or_are_refused(op: type[ShapeOp], mlir_opt: str):
    """Upstream reads them in generic form only."""
    read = 0
    for type in ("!shape.shape", "tensor<0xindex>", "tensor<?xindex>", "!shape.witness", "i1"):
        module = parse(f'%0 = "{op.name}"() : () -> {type}\n"test.op"(%0) : ({type}) -> ()')
        if list(failures(module)):
            continue
        read += 1
        try:
            modernize(module)
        except MindError as e:
            assert (op.name, type) in REFUSED_OF_NOTHING, e  # noqa: PT017
        else:
            assert (op.name, type) not in REFUSED_OF_NOTHING
            verify(module)
            read_by_mlir(mlir_opt, text(module))
    assert read
