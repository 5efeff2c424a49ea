"""Saving and loading: a file has the containers of the arguments, so a loaded function takes what the saved one took."""

import tempfile
from pathlib import Path

import numpy as np

import mind_array as ma


@ma.jit
def step(params, x):
    value, grads = ma.value_and_grad(lambda p: ma.mean((x @ p["w"] + p["b"]) ** 2))(params)
    return value, ma.tree.map(lambda p, g: p - 0.1 * g, params, grads)


params, x = {"w": np.ones(3), "b": np.zeros(())}, np.arange(6.0).reshape(2, 3)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "step.mlir"
    ma.save(path, step.lower(params, x))
    again = ma.load(path, target="native")
found, expected = again(params, x), step(params, x)
print(found, expected)
