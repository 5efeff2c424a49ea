"""Random numbers come from explicit keys: the same bits on every target, in every order of compilation."""

import mind_array as ma

key = ma.random.key(0)
key, sub = ma.random.split(key)
x = ma.random.normal(sub, (4, 3), dtype=ma.float32)
mask = ma.random.bernoulli(key, 0.9, x.shape)
noisy = ma.jit(lambda k, x: ma.nn.dropout(x, k, rate=0.5), target="native")(key, x)
print(x, mask, noisy)
