"""An LSTM: the weights are captured by the scanned function, no carry is threaded by hand."""

import mind_array as ma


def lstm(w, u, b, xs):
    def cell(carry, x):
        h, c = carry
        i, f, g, o = ma.split(x @ w + h @ u + b, 4, axis=-1)
        c = ma.nn.sigmoid(f) * c + ma.nn.sigmoid(i) * ma.tanh(g)
        h = ma.nn.sigmoid(o) * ma.tanh(c)
        return (h, c), h

    zero = ma.zeros((xs.shape[1], u.shape[0]), dtype=xs.dtype)
    return ma.scan(cell, (zero, zero), xs)


keys = ma.random.split(ma.random.key(0), 3)
w, u = (ma.random.normal(k, shape) * 0.3 for k, shape in zip(keys, ((3, 16), (4, 16)), strict=False))
b, xs = ma.zeros(16), ma.random.normal(keys[2], (10, 2, 3))
gradients = ma.jit(ma.grad(lambda *weights: ma.sum(lstm(*weights, xs)[1] ** 2), (0, 1, 2)), target="native")(w, u, b)
print([g.shape for g in gradients])
