"""Training: parameters are any nested container, a step is one compiled program that works in place."""

import numpy as np

import mind_array as ma


def init(key, sizes):
    keys = ma.random.split(key, len(sizes) - 1)
    return [
        {"w": ma.random.normal(k, (m, n), dtype=ma.float32) * m**-0.5, "b": ma.zeros(n, dtype=ma.float32)}
        for k, m, n in zip(keys, sizes, sizes[1:], strict=False)
    ]


def loss(params, x, labels):
    *hidden, last = params
    for layer in hidden:
        x = ma.tanh(x @ layer["w"] + layer["b"])
    logits = x @ last["w"] + last["b"]
    return ma.mean(ma.nn.logsumexp(logits, axis=-1) - ma.take_along_axis(logits, labels[:, None])[:, 0])


@ma.jit(target="native", donate="params")
def step(params, x, labels):
    value, grads = ma.value_and_grad(loss)(params, x, labels)
    return value, ma.tree.map(lambda p, g: p - 0.1 * g, params, grads)


rng = np.random.default_rng(0)
x = rng.standard_normal((64, 8), dtype=np.float32)
labels = (x[:, 0] > 0).astype(np.int32) + (x[:, 1] > 0)
params = init(ma.random.key(0), (8, 32, 3))
losses = []
for _ in range(200):
    value, params = step(params, x, labels)
    losses.append(float(value))
print(f"loss {losses[0]:.3f} before, {losses[-1]:.3f} after {len(losses)} steps")
