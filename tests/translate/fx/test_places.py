"""Elements at known places (rolls, nearest pixels, edges): values and derivatives as in PyTorch, by parts where these are few."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mind_dialect import ptir
from mind_dialect.ptir.types import F32, tensor_type
from mind_runtime import compile
from mind_translate.landing import Lander
from mind_translate.places import at_places

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch.nn import functional as F  # noqa: E402, after the skip
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr  # noqa: E402
from xdsl.dialects.func import FuncOp, ReturnOp  # noqa: E402
from xdsl.ir import Block, Region  # noqa: E402

from mind_bridges.torch import from_torch  # noqa: E402
from torch_rows import Function, Row, checks_of, normal  # noqa: E402

IMAGE = lambda: (normal(2, 3, 4, 6),)  # noqa: E731, a maker of arguments
ROWS: dict[str, Row] = {
    "roll": (lambda x: torch.roll(x, 2, 1), lambda: (normal(3, 5),)),
    "roll of several": (lambda x: torch.roll(x, (1, -2), (0, -1)), lambda: (normal(3, 5),)),
    "roll twice along one": (lambda x: torch.roll(x, (1, 3), (1, 1)), lambda: (normal(3, 5),)),
    "roll around": (lambda x: torch.roll(x, (-17, 10), (0, 1)), lambda: (normal(3, 5),)),
    "roll by nothing": (lambda x: torch.roll(x, (3, 0), (0, 1)), lambda: (normal(3, 5),)),
    "roll of all": (lambda x: torch.roll(x, -4), lambda: (normal(3, 5),)),
    "roll of nothing": (lambda x: torch.roll(x, 2, 1), lambda: (normal(3, 0),)),
    "roll of all of nothing": (lambda x: torch.roll(x, 2), lambda: (normal(3, 0),)),
    "roll of a number": (lambda x: torch.roll(x, 2), lambda: (normal(),)),
    "roll of integers": (lambda x: torch.roll(x, 2), lambda: (torch.arange(7),)),
    "nearest by 2": (lambda x: F.interpolate(x, scale_factor=2), IMAGE),
    "nearest by 3 and 1": (lambda x: F.interpolate(x, scale_factor=(3, 1)), IMAGE),
    "nearest by half": (lambda x: F.interpolate(x, scale_factor=0.5), IMAGE),
    "nearest by a fraction": (lambda x: F.interpolate(x, scale_factor=1.7), IMAGE),
    "nearest of a signal": (lambda x: F.interpolate(x, 11), lambda: (normal(2, 3, 5),)),
    "nearest of a volume": (lambda x: F.interpolate(x, (4, 3, 8)), lambda: (normal(1, 2, 2, 3, 4),)),
    "nearest of bytes": (
        lambda x: F.interpolate(x, scale_factor=2),
        lambda: (torch.arange(6, dtype=torch.uint8).view(1, 1, 2, 3),),
    ),
    "nearest exact": (lambda x: F.interpolate(x, (7, 5), mode="nearest-exact"), IMAGE),
    "nearest exact by 2": (lambda x: F.interpolate(x, scale_factor=2, mode="nearest-exact"), IMAGE),
    "nearest exact of a signal": (lambda x: F.interpolate(x, 3, mode="nearest-exact"), lambda: (normal(2, 3, 8),)),
    "nearest exact of a volume": (
        lambda x: F.interpolate(x, scale_factor=1.5, mode="nearest-exact"),
        lambda: (normal(1, 2, 2, 3, 4),),
    ),
    "reflected": (lambda x: F.pad(x, (1, 3, 2, 1), mode="reflect"), IMAGE),
    "replicated": (lambda x: F.pad(x, (1, 3, 2, 1), mode="replicate"), IMAGE),
    "circular": (lambda x: F.pad(x, (1, 3, 2, 1), mode="circular"), IMAGE),
    "replicated and cut": (lambda x: F.pad(x, (-2, 3, 1, -1), mode="replicate"), IMAGE),
}
test_values, test_most_rows_have_derivatives, test_derivatives = checks_of(ROWS, 20)


def lookups(module: Any) -> int:
    return sum(isinstance(op, ptir.TakeOp | ptir.GatherOp | ptir.GatherWindowsOp) for op in module.walk())


@pytest.mark.parametrize("name", [name for name in ROWS if not name.endswith(("fraction", "signal", "volume", "exact"))])
def test_parts_are_not_looked_up(name: str) -> None:
    function, arguments = ROWS[name]
    assert not lookups(from_torch(Function(function), *arguments()).module)


@pytest.mark.parametrize(("places", "kinds"), [
    ([3], {"slice"}),
    ([2, 3, 4], {"slice"}),
    ([0, 1, 2, 3, 4, 5], set()),
    ([1, 3, 5], {"strided_slice"}),
    ([5, 3, 1], {"strided_slice", "reverse"}),
    ([5, 4, 3], {"slice", "reverse"}),
    ([2, 2, 2], {"slice", "broadcast_to"}),
    ([0, 0, 1, 1, 2, 2], {"slice", "reshape", "broadcast_to"}),
    ([5, 5, 1, 1], {"strided_slice", "reverse", "reshape", "broadcast_to"}),
    ([4, 5, 0, 1], {"slice", "concat"}),
    ([0, 0, 0, 1, 2, 1, 0], {"slice", "reverse", "broadcast_to", "concat"}),
    ([0, 0, 1, 2, 2, 3, 4, 4, 5, 5], {"constant", "transpose", "take"}),
    ([5, 0, 5, 0, 3], {"constant", "transpose", "take"}),
    ([], {"slice"}),
])  # fmt: skip
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_places(places: Sequence[int], kinds: set[str], axis: int) -> None:
    shape = tuple(6 if a == axis else 2 + a for a in range(3))
    to, block = Lander(), Block(arg_types=[tensor_type(F32, shape)])
    to.block = block
    found = at_places(to, block.args[0], axis, places)
    assert {op.name.removeprefix("ptir.") for op in block.ops} == kinds - ({"transpose"} if axis == 0 else set())
    block.add_op(ReturnOp(found))
    func = FuncOp("f", FunctionType.from_lists([block.args[0].type], [found.type]), Region(block))
    module = ModuleOp([func], {"ptir.spec_version": StringAttr("ptir.v0.4")})
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    np.testing.assert_array_equal(compile(module)(x), np.take(x, np.array(places, int), axis))
