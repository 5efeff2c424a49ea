"""Static arguments are Python values, part of the signature: a depth, the name of a function."""

import numpy as np

import mind_array as ma


@ma.jit(static=("depth", "activation"))
def net(x, w, *, depth, activation):
    for _ in range(depth):
        x = getattr(ma, activation)(x @ w)
    return x


x, w = np.ones((2, 3)), np.full((3, 3), 0.1)
shallow, deep = net(x, w, depth=1, activation="tanh"), net(x, w, depth=3, activation="sin")
print(shallow, deep, net)
