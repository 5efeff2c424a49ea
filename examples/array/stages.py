"""The stages of a compiled function; in a notebook, the last line of a cell shows the IR, highlighted and foldable."""

import numpy as np

import mind_array as ma

step = ma.jit(lambda w, x: ma.value_and_grad(lambda w: ma.mean((x @ w) ** 2))(w), target="native")
lowered = step.lower(np.ones(3, np.float32), np.ones((4, 3), np.float32))
print(lowered.ptir)
print(lowered.optimized)
print("\n".join(lowered.explain()))
print(len(lowered.source), "characters of LLVM IR;", len(lowered._repr_html_()), "of HTML")
