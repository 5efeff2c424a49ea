"""Runs one product of the native target by itself: a module of its kernels, called on NumPy arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from machines import RUNNABLE
from mind_dialect.ptir.types import PtirDType
from mind_lowering.native.codegen import kernel_of
from mind_lowering.native.ir import LlvmModule
from mind_lowering.native.products.chain import Epilogue
from mind_lowering.native.products.kernels import ProductStep, steps_of
from mind_lowering.native.products.product import Product, planned
from mind_lowering.native.target_info import TARGETS, TargetInfo
from mind_lowering.native.views import Buffer, Use, View
from mind_runtime.native import jit, pool

HOSTS_HERE = [TARGETS[isa] for isa in RUNNABLE]
"""The machines that this one can be taken for."""


def view_of(place: int, array: Any, dtype: PtirDType) -> View:
    """A view of the array that the table will have at `place`, strides as they are."""
    base = whole_of(array)
    size = array.itemsize
    buffer = Buffer(Use.INPUT, place, dtype, base.size, f"p{place}", location=place)
    offset = (array.ctypes.data - base.ctypes.data) // size
    return View(buffer, dtype, array.shape, tuple(s // size for s in array.strides), offset)


@dataclass
class Compiled:
    """A product as text, and as machine code; `caller` binds arrays to it."""

    product: Product
    text: str
    kernels: list[tuple[ProductStep, str, int]]
    host: TargetInfo
    extra: dict[int, Any]
    record: Any = field(default_factory=lambda: pool.new_record(1))

    @cached_property
    def library(self) -> Any:
        """Made when it is asked for: many tests only read the text."""
        return jit.load(self.text, self.host, [name for _, name, _ in self.kernels])

    def addresses(self, step: ProductStep, arrays: dict[int, Any]) -> Any:
        """The table that a kernel is given."""
        found = np.zeros(1 + len(step.addresses), np.uint64)
        found[0] = self.record.ctypes.data
        for i, view in enumerate(step.addresses, 1):
            assert isinstance(view.base, Buffer)
            found[i] = arrays[view.base.location].ctypes.data + view.offset * view.dtype.size
        return found

    def caller(self, lhs: Any, rhs: Any, out: Any, pieces: int = 1, backwards: bool = False) -> Callable[[], None]:
        """What computes `out`, each kernel in some calls."""
        arrays = {2: whole_of(lhs), 3: whole_of(rhs), 4: whole_of(out), **self.extra}
        for view in (self.product.lhs_copy, self.product.rhs_copy, self.product.partial):
            if view is not None and isinstance(view.base, Buffer) and view.base.location not in arrays:
                arrays[view.base.location] = unwritten(view.base.bytes)
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
        calls, tables = [], []
        for step, name, units in self.kernels:
            tables.append(self.addresses(step, arrays))
            bounds = sorted({units * i // pieces for i in range(pieces + 1)})
            ranges = list(pairwise(bounds))
            pointer = tables[-1].ctypes.data
            calls += [(kind(self.library.addresses[name]), pointer, a, b) for a, b in (ranges[::-1] if backwards else ranges)]

        def run() -> None:
            for function, pointer, a, b in calls:
                assert function(pointer, a, b) == 0

        run.keep = (self, tables, arrays)  # type: ignore[attr-defined]
        return run


def whole_of(array: Any) -> Any:
    """The array whose memory a view has."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def unwritten(count: int) -> Any:
    """Aligned bytes that are NaN as any float, where something is read that nobody wrote."""
    room = np.full(count + 64, 0xFF, np.uint8)
    start = -room.ctypes.data % 64
    return room[start : start + count]


def compiled(
    host: TargetInfo,
    lhs: Any,
    rhs: Any,
    out: Any,
    dtypes: tuple[PtirDType, PtirDType, PtirDType, PtirDType],
    epilogue: Callable[[View], Epilogue] | None = None,
    extra: dict[int, Any] | None = None,
    *,
    still: tuple[bool, bool] = (False, False),
) -> Compiled:
    """
    The product of arrays `[*batch, rows, depth]` and `[*batch, depth, columns]` as it is made for a machine.

    `still` says which operands are in a loop as they are before it.
    """
    extra = extra or {}
    count = 0

    def new(dtype: PtirDType, size: int, name: str) -> Buffer:
        nonlocal count
        count += 1
        return Buffer(Use.ARENA, count, dtype, size, name, location=100 + count)

    views = [view_of(2 + i, x, d) for i, (x, d) in enumerate(zip((lhs, rhs, out), dtypes[:3], strict=True))]
    made = None if epilogue is None else epilogue(views[2])
    product = planned(host, "p", *views, dtypes[3], new, made, still=still)
    module = LlvmModule(host.triple, "a product")
    known: dict[Any, Any] = {}
    kernels = [(step, kernel_of(step, module, host, known)) for step in steps_of(product)]
    text = module.text()
    for _, kernel in kernels:
        text = text.replace(f"define internal i64 @{kernel.name}(", f"define i64 @{kernel.name}(")
    return Compiled(product, text, [(step, k.name, k.units) for step, k in kernels], host, extra)
