"""One right program in each serialised form, for tests that break it."""

from __future__ import annotations

from typing import Any


def tensor(*dims, dtype="F32"):
    sizes = [{"Dynamic": d} if isinstance(d, str) else {"Static": d} for d in dims]
    return {"Tensor": {"dtype": dtype, "shape": {"dims": sizes}}}


def literal(data, *dims, dtype="F32"):
    return {"spec": tensor(*dims, dtype=dtype)["Tensor"], "bytes": data}


def line(id, op, *operands, output=None):
    return {"id": id, "op": op, "operands": [{"Value": o} for o in operands], "output": output or tensor(2, 3)}


REDUCE = {"Reduce": {"kind": "Sum", "axes": [1], "keepdims": False, "accum_dtype": None, "out_dtype": None}}
PAD = {"Pad": {"low": [0, 0], "high": [0, 0], "interior": [0, 0], "pad_value": {"Float": 0.0}}}
TOP = {"TopK": {"k": 2, "axis": 0, "largest": True, "indices_dtype": "Si32"}}
NEG, ADD = {"ElementwiseUnary": "Neg"}, {"ElementwiseBinary": "Add"}
BASE: dict[str, Any] = {
    "spec_version": "ptir.v0.4",
    "entry": "main",
    "functions": [
        {
            "name": "main",
            "parameters": [tensor(2, 3), tensor(dtype="I1")],
            "parameter_ids": [0, 1],
            "results": [tensor(2, 3)],
            "body": [
                line(2, NEG, 0),
                line(3, REDUCE, 2, output=tensor(2)),
                line(4, PAD, 2),
                line(5, {"Reshape": {"new_shape": [{"Explicit": {"Static": 6}}, "Infer"]}}, 2, output=tensor(6, 1)),
                line(6, {"Constant": literal([0, 0, 128, 63], 1)}, output=tensor(1)),
                line(7, {"CustomCall": {"target": "a.b.v1", "attrs": {"n": {"kind": "I64Array", "value": [1]}}}}, 0),
                line(8, {"Cond": {"true_region": 0, "false_region": 1}}, 1, 0),
                line(9, TOP, 0, output={"Tuple": [tensor(2, 3), tensor(2, 3, dtype="Si32")]}),
            ],
            "hints": [],
            "result_ids": [2],
        }
    ],
    "regions": [{"id": n, "parameters": [tensor(2, 3)], "body": [line(1, NEG, 0)], "results": [tensor(2, 3)]} for n in (0, 1)],
}

DISPLAY = """program @main (spec_version = ptir.v0.4) {
  func @main {
    params:
      %0 : tensor<F32 x 2x3>
      %1 : tensor<I1 x []>
    body:
      %2 = Reduce(ReduceSpec { kind: Sum, axes: [1], keepdims: false, accum_dtype: None, out_dtype: Some(F32) })\
(%0) -> tensor<F32 x 2>
      %3 = Cond(CondSpec { true_region: RegionId(0), false_region: RegionId(0) })(%1, %0) -> tensor<F32 x 2x3>
      %4 = CustomCall(CustomCallSpec { target: "a.b.v1", attrs: {"n": I64(1)} })(%0) -> tuple<tensor<F32 x 2>, tensor<F32 x ?B>>
      %5 = StopGradient(%4[1]) -> tensor<F32 x ?B>
    results:
      %2 : tensor<F32 x 2>
  }
  region ^r0 {
    params:
      %arg0 : tensor<F32 x 2x3>
    body:
      %1 = ElementwiseUnary(Neg)(%0) -> tensor<F32 x 2x3>
    results:
      %res0 : tensor<F32 x 2x3>
  }
}
"""

SNIPPET = """func @f(%x: tensor<f32, 2x3>) -> tensor<f32, 2> {
  %m = reduce_sum(%x) axes[1] keepdims[false] -> tensor<f32, 2>
  %n = add %m, %m -> tensor<f32, 2>
  return %n
}
"""
