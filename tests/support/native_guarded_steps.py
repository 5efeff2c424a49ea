"""
Every other element of arrays that end where memory ends, or begin where it begins: one element beyond is a fault.

    python native_guarded_steps.py
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import mind_runtime
from machines import RUNNABLE
from mind_dialect import ptir
from mind_dialect.ptir.types import SI32
from mind_lowering.native.host import ISA_VARIABLE
from mind_lowering.ptir_kernels.formats import array_dtype
from native_guarded import guarded
from ptir_forms import program

SIZES = (3, 5, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129)


def main() -> None:
    """Run them all."""
    rng = np.random.default_rng(3)
    for isa in RUNNABLE:
        os.environ[ISA_VARIABLE] = isa
        for dtype in ("f32", "f64", "si16", "si8"):
            for n in SIZES:
                for start in (0, 1):

                    def body(x: Any, start: int = start, n: int = n) -> Any:
                        part = ptir.SliceOp(x, starts=(0, start), sizes=(2, n - start)).result
                        places = {"padding": ((0, 0), (0, 0)), "window_dims": (1, 1), "window_dilation": (1, 1)}
                        index = ptir.WindowArgOp(part, kind="max", strides=(1, 2), output_dtype=SI32, **places).result
                        flat = ptir.ReshapeOp(part, new_shape=(2 * (n - start),)).result
                        return ptir.TakeOp(flat, index).result

                    run = mind_runtime.compile(program(f"{dtype}[2,{n}]", body), target="native")
                    for at_end in (False, True):
                        x = guarded((2, n), array_dtype(dtype), at_end=at_end)
                        x[...] = rng.integers(-9, 9, x.shape)
                        assert np.array_equal(run(x), x[:, start::2]), (isa, dtype, n, start)


if __name__ == "__main__":
    main()
