"""One compilation for every size of a batch: the dimension has a name."""

import numpy as np

import mind_array as ma


def forward(x, w, b):
    return ma.nn.softmax(ma.nn.relu(x @ w) @ ma.permute_dims(w, (1, 0)) + b)


predict = ma.jit(forward, sizes={"x": ("B", 8)}, target="native")
rng = np.random.default_rng(0)
w, b = rng.standard_normal((8, 3)), rng.standard_normal(8)
results = [predict(rng.standard_normal((n, 8)), w, b) for n in (1, 5, 32)]
print([r.shape for r in results], predict)
