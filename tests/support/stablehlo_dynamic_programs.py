"""Programs of loops, prefixes, lookups, windows and random numbers whose dimensions have names: types, body and declarations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mind_dialect import ptir
from mind_dialect.ptir.types import SI32
from ptir_batching_rows import SCATTER, padded_places
from ptir_control_programs import number
from ptir_rows import patches, read_rows, segments, write_rows

PATCHES = {**patches, "pad_value": 0.0}


def scan(x: Any, *rows: Any) -> Any:
    """A scan that carries a sum and stacks functions of it."""

    def step(carried: Any, *rows: Any) -> Any:
        new = carried
        for row in rows:
            new = ptir.AddOp(new, row)
        return [new, ptir.TanhOp(new)]

    return ptir.ScanOp(x, *rows, carry_count=1, scan_output_count=1, body=step).results


def loop(x: Any, *, changed: bool) -> Any:
    """Three iterations; the condition passes the carry on as it is, or changes it."""

    def cond(i: Any, x: Any) -> Any:
        return [ptir.CompareOp(i, number(SI32, (), 3), kind="less"), i, ptir.NegOp(x) if changed else x]

    def body(i: Any, x: Any) -> Any:
        return [ptir.AddOp(i, number(SI32, (), 1)), ptir.TanhOp(x)]

    return ptir.WhileOp(number(SI32, (), 0), x, cond=cond, body=body).results


def random_numbers(x: Any) -> Any:
    """Uniform and normal numbers, one time in a loop."""

    def step(carried: Any, row: Any) -> Any:
        return [ptir.AddOp(carried, ptir.RngUniformOp(shape=("B",), dtype="f32")), row]

    summed = ptir.ScanOp(ptir.RngNormalOp(shape=("B",), dtype="f32"), x, carry_count=1, scan_output_count=1, body=step)
    return [ptir.RngUniformOp(shape=("B", 3), dtype="f32"), ptir.RngNormalOp(shape=("2*B+1",), dtype="f64"), summed.results[0]]


def cumulative(kind: str, axis: int, exclusive: bool, reverse: bool) -> Callable[..., Any]:
    return lambda x: ptir.CumulativeOp(x, kind=kind, axis=axis, exclusive=exclusive, reverse=reverse)


def read(mode: str) -> Callable[..., Any]:
    return lambda *v: ptir.GatherWindowsOp(*v, **{**read_rows, "mode": mode})


def write(mode: str) -> Callable[..., Any]:
    return lambda *v: ptir.ScatterWindowsOp(*v, kind="add", **{**write_rows, "mode": mode})


def scatter_add(*v: Any) -> Any:
    return ptir.ScatterAddOp(*v, update_window_dims=(1,), index_vector_dim=None, **SCATTER)


def transform(x: Any) -> Any:
    found = ptir.FftOp(x, kind="rfft", lengths=(4,))
    return [ptir.RealOp(found), ptir.ImagOp(found)]


def top(x: Any, y: Any) -> Any:
    return ptir.TopKOp(x, k="K", axis=0, largest=True, indices_dtype="si32").results


LOOPS_AND_INDICES: dict[str, tuple[str, Callable[..., Any], tuple[str, ...]]] = {
    "while": ("f32[B,2]", lambda x: loop(x, changed=False), ()),
    "while changed": ("f32[B,2]", lambda x: loop(x, changed=True), ()),
    "scan of rows": ("f32[B] f32[3,B]", scan, ()),
    "scan of steps": ("f32[2] f32[T,2]", scan, ()),
    "scan of some steps": ("f32[2] f32[T,2]", scan, ("T >= 1",)),
    "scan of both": ("f32[B] f32[T,B]", scan, ()),
    "sums": ("f32[B,2]", lambda x: ptir.CumulativeSumOp(x, axis=0, exclusive=False, reverse=False), ()),
    "sums before": ("f32[B]", lambda x: ptir.CumulativeSumOp(x, axis=0, exclusive=True, reverse=False), ()),
    "maxima after": ("f32[B]", cumulative("max", 0, True, True), ()),
    "products back": ("f32[2,B]", cumulative("prod", 1, False, True), ()),
    "products of rows": ("f32[B,3]", cumulative("prod", 1, True, False), ()),
    "take rows": ("f32[V,2] si32[T]", ptir.TakeOp, ("V >= 2",)),
    "take columns": ("f32[3,B] si32[T]", ptir.TakeOp, ()),
    "take both": ("f32[V,B] si32[3]", ptir.TakeOp, ("V >= 2",)),
    "gather": ("f32[2,V] si32[2,T]", lambda *v: ptir.GatherOp(*v, axis=1), ("V >= 2",)),
    "gather of rows": ("f32[B,5] si32[B,3]", lambda *v: ptir.GatherOp(*v, axis=1), ("B >= 1",)),
    **{f"read {m}": ("f32[B,4] si32[T,1]", read(m), ("B >= 3",)) for m in ("raise", "clamp", "fill")},
    **{f"write {m}": ("f32[B,4] si32[T,1] f32[T,3]", write(m), ("B >= 3",)) for m in ("raise", "drop")},
    "add rows": ("f32[B,2] si32[T] f32[T,2]", scatter_add, ("B >= 2",)),
    "add columns": ("f32[3,B] si32[T] f32[T,B]", scatter_add, ()),
    "scatter": ("f32[B,T] si32[3,T] f32[3,T]", lambda *v: ptir.ScatterReduceOp(*v, kind="max", axis=0), ("B >= 2",)),
    "segments": (
        "f32[N,2] si32[N] f32[S]",
        lambda x, i, _: ptir.SegmentReduceOp(x, i, kind="sum", num_segments="S", **segments),
        ("S >= 2",),
    ),
    "window arguments": ("f32[B,5]", lambda x: ptir.WindowArgOp(x, kind="max", output_dtype="si32", **padded_places), ()),
    "patches": ("f32[B,5,5,C]", lambda x: ptir.ExtractPatchesOp(x, **PATCHES), ()),
    "transform": ("f32[B,4]", transform, ()),
    "ragged": ("f32[N,B] f32[3,B,4] si32[3]", lambda *v: ptir.RaggedDotOp(*v, kind="rows"), ()),
    "norm of a size": ("f32[2,B] f32[B] f32[B]", lambda *v: ptir.LayerNormOp(*v, epsilon=1e-3, feature_axis=1), ()),
    "quantized": ("f32[B,3] f32[3] si8[3]", lambda *v: ptir.QuantizeOp(*v, output_dtype="si8", axis=-1), ()),
    "dequantized": ("si8[B,3] f32[B] si8[B]", lambda *v: ptir.DequantizeOp(*v, axis=0), ()),
    "requantized": (
        "si8[B,3] f32[] si8[] f32[] ui8[]",
        lambda *v: ptir.RequantizeOp(*v, output_dtype="ui8"),
        (),
    ),
    "top of a size": ("f32[B] f32[K]", top, ("B >= K",)),
}
CHECKED = ("take rows", "gather", "read raise", "write raise", "add rows", "scatter", "segments")
"""Programs that report indices out of range, of which the size of a name is the first."""
