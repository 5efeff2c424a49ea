"""What is refused along one axis is refused along every axis, alone or with others, and so for each size that makes it wrong."""

from __future__ import annotations

from itertools import chain, combinations, permutations, product

import pytest

from mind_dialect import ptir_shapes, shapes
from mind_dialect.errors import MindError
from mind_dialect.verify import verify
from mind_tools.frontends import parse

AXES = [c for n in (1, 2, 3) for c in combinations(range(3), n)]
EMPTY = [shape for shape in product((0, 1, 2), repeat=3) if 0 in shape]


@pytest.mark.parametrize("shape", EMPTY, ids=str)
def test_a_mean_over_no_elements(shape: tuple[int, ...]):
    for axes in chain.from_iterable(permutations(c) for c in [*AXES, ()]):
        reduced = [shape[a] for a in axes or range(3)]
        if 0 not in reduced:
            kept = tuple(n for i, n in enumerate(shape) if i not in axes)
            assert shapes.mean(shape, axes=axes, keepdims=False) == kept
            continue
        with pytest.raises(MindError) as e:
            shapes.mean(shape, axes=axes, keepdims=True)
        assert (e.value.code, e.value.context["value"]) == ("E3006", 0)
        assert shape[e.value.context["index"]] == 0
        assert not axes or e.value.context["index"] in axes


@pytest.mark.parametrize("ends", list(product((0, 1, 2), repeat=3)), ids=str)
def test_strict_refuses_a_slice_that_is_empty_along_any_axis(ends: tuple[int, ...]):
    """It starts at (0, 1, 0) of (2, 2, 2)."""
    found = tuple(max(0, end - start) for start, end in zip((0, 1, 0), ends, strict=True))
    shown = "x".join(map(str, found))
    module = parse(
        f"""func.func @f(%x: tensor<2x2x2xf32>) -> tensor<{shown}xf32> {{
  %y = mind.slice %x starts = [0, 1, 0] ends = {list(ends)} steps = [1, 1, 1] : tensor<2x2x2xf32> -> tensor<{shown}xf32>
  func.return %y : tensor<{shown}xf32>
}}"""
    )
    verify(module)
    if 0 not in found:
        return verify(module, strict=True)
    with pytest.raises(MindError) as e:
        verify(module, strict=True)
    assert (e.value.code, e.value.context["shape"], e.value.context["index"]) == ("E3006", found, found.index(0))


@pytest.mark.parametrize("name", ["update_window_dims", "inserted_window_dims"])
def test_dimensions_of_a_scatter_ascend(name: str):
    """In three dimensions, two of them windows of the update or left out of it; each order but the ascending one is refused."""
    of = {"update_window_dims": ((5, 2, 3), (4, 1), (4, 2, 3)), "inserted_window_dims": ((5, 6, 3), (4, 2), (4, 3))}
    x, indices, updates = of[name]
    dims = {"update_window_dims": (1, 2), "inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0,)}
    if name == "inserted_window_dims":
        dims = {"update_window_dims": (1,), "inserted_window_dims": (0, 1), "scatter_dims_to_operand_dims": (0, 1)}
    assert ptir_shapes.scatter_add(x, indices, updates, **dims, index_vector_dim=1) == x
    with pytest.raises(MindError) as e:
        ptir_shapes.scatter_add(x, indices, updates, **dims | {name: dims[name][::-1]}, index_vector_dim=1)
    assert (e.value.code, e.value.context["attribute"]) == ("E8002", name)
