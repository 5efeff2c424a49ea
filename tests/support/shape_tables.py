"""
The tables of docs/shape.md: ops in the spelling of each generation.

`python tests/support/shape_tables.py` writes them into the page, between `<!-- name -->` and `<!-- end -->`; a test finds a stale
page.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from mind_dialect.shape import SHAPE_OPS
from ptir_tables import meaning, table

PAGE = Path(__file__).parents[2] / "docs" / "shape.md"

SIZES, SHAPES = "!shape.size, !shape.size -> !shape.size", "!shape.shape, !shape.shape"
MODERN: dict[str, str] = {
    "add": f"shape.add %z, %z : {SIZES}",
    "mul": f"shape.mul %z, %z : {SIZES}",
    "div": f"shape.div %z, %z : {SIZES}",
    "max": f"shape.max %z, %z : {SIZES}",
    "min": f"shape.min %z, %z : {SIZES}",
    "index_to_size": "shape.index_to_size %i",
    "size_to_index": "shape.size_to_index %z : !shape.size",
    "const_size": "shape.const_size 3",
    "const_shape": "shape.const_shape [3, 4] : tensor<2xindex>",
    "const_witness": "shape.const_witness true",
    "shape_of": "shape.shape_of %x : tensor<?x3xf32> -> tensor<2xindex>",
    "value_of": "shape.value_of %v : tensor<?x3xf32>",
    "value_as_shape": "shape.value_as_shape %n : tensor<3xi32> -> !shape.shape",
    "with_shape": "shape.with_shape %x, %s : tensor<?x3xf32>, !shape.shape",
    "from_extent_tensor": "shape.from_extent_tensor %e : tensor<?xindex>",
    "to_extent_tensor": "shape.to_extent_tensor %s : !shape.shape -> tensor<?xindex>",
    "from_extents": "shape.from_extents %z, %i : !shape.size, index",
    "meet": f'shape.meet %s, %s, error = "why" : {SHAPES} -> !shape.shape',
    "broadcast": f'shape.broadcast %s, %s {{error = "why"}} : {SHAPES} -> !shape.shape',
    "any": f"shape.any %s, %s : {SHAPES} -> !shape.shape",
    "concat": f"shape.concat %s, %s : {SHAPES} -> !shape.shape",
    "split_at": '"shape.split_at"(%s, %z) : (!shape.shape, !shape.size) -> (!shape.shape, !shape.shape)',
    "get_extent": "shape.get_extent %e, %i : tensor<?xindex>, index -> index",
    "rank": "shape.rank %s : !shape.shape -> !shape.size",
    "num_elements": "shape.num_elements %s : !shape.shape -> !shape.size",
    "dim": "shape.dim %x, %i : tensor<?x3xf32>, index -> index",
    "debug_print": '"shape.debug_print"(%s) : (!shape.shape) -> !shape.shape',
    "is_broadcastable": f"shape.is_broadcastable %s, %s : {SHAPES}",
    "shape_eq": f"shape.shape_eq %s, %s : {SHAPES}",
    "cstr_broadcastable": f"shape.cstr_broadcastable %s, %s : {SHAPES}",
    "cstr_eq": f"shape.cstr_eq %s, %s : {SHAPES}",
    "cstr_require": 'shape.cstr_require %b, "why"',
    "assuming_all": "shape.assuming_all %w, %w",
    "assuming": "shape.assuming %w -> (index) { shape.assuming_yield %i : index }",
    "assuming_yield": "shape.assuming_yield %i : index",
    "reduce": "shape.reduce(%s, %z) : !shape.shape -> !shape.size { "
    "^bb0(%k: index, %extent: !shape.size, %acc: !shape.size): shape.yield %acc : !shape.size }",
    "yield": "shape.yield %acc : !shape.size",
    "func": "shape.func @f(%p: !shape.value_shape) -> !shape.value_shape { shape.return %p : !shape.value_shape }",
    "return": "shape.return %p : !shape.value_shape",
    "function_library": "shape.function_library @lib { shape.func private @f(!shape.value_shape) -> !shape.shape } "
    "mapping {test.exp = @f}",
}
"""Each op of today's dialect in its own text."""
EARLY: dict[str, tuple[str, str | None]] = {
    "constant": ("shape.constant [3, 4] : !shape.type", "const_shape"),
    "constant_dim": ('"shape.constant_dim"() {value = 3 : i32} : () -> !shape.size', "const_size"),
    "create_shape": ("shape.create_shape %n : tensor<3xi32>", "value_as_shape"),
    "join": ('shape.join %s, %s, error="why" : !shape.type', "meet"),
}
"""Each op of the early form in its text, and the modern op that it becomes."""


def code(text: str) -> str:
    """Text as code in a table."""
    return f"`{text}`"


def ops() -> str:
    """One row per op of today's dialect."""
    early = {modern: f"`{text}`" for text, modern in EARLY.values() if modern}
    by_name = {op.name.removeprefix("shape."): op for op in SHAPE_OPS}
    early |= dict.fromkeys(("add", "mul", "broadcast", "shape_of", "debug_print"), "the same")
    early |= {"reduce": "with `%k: i32` and `shape.return`", "yield": "`shape.return`"}
    rows = [[code(text), early.get(name, ""), meaning(by_name[name])] for name, text in MODERN.items()]
    return table(["today", "early", "meaning"], rows)


def early_ops() -> str:
    """One row per op of the early form alone."""
    by_name = {op.name.removeprefix("shape."): op for op in SHAPE_OPS}
    rows = [[code(text), code(f"shape.{modern}"), meaning(by_name[name])] for name, (text, modern) in EARLY.items()]
    return table(["early", "becomes", "meaning"], rows)


TABLES: dict[str, Callable[[], str]] = {"ops": ops, "early ops": early_ops}


def filled(page: str) -> str:
    """The page with every table as the code has it now; ValueError if the page has no place for one."""
    for name, make in TABLES.items():
        place = re.compile(rf"(?<=<!-- {name} -->\n).*?(?=<!-- end -->)", re.DOTALL)
        if place.search(page) is None:
            raise ValueError(f"docs/shape.md has no place for the table {name!r}")
        content = f"\n{make()}\n\n"
        page = place.sub(lambda _, content=content: content, page, count=1)
    return page


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
