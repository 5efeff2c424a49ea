"""Norms of per-example gradients: axes are a prefix of the containers."""

import numpy as np

import mind_array as ma


def loss(params, x, y):
    return ma.mean((ma.tanh(x @ params["w"]) @ params["v"] - y) ** 2)


norms = ma.jit(ma.vmap(lambda p, x, y: ma.tree.norm(ma.grad(loss)(p, x[None], y[None])), in_axes=(None, 0, 0)))
rng = np.random.default_rng(0)
params = {"w": rng.standard_normal((4, 5)), "v": rng.standard_normal(5)}
x, y = rng.standard_normal((6, 4)), rng.standard_normal(6)
found = norms(params, x, y)
print(found)
