"""Updates: `x[i] = v` for concrete arrays, `x.at[i].set(v)` anywhere."""

import numpy as np

import mind_array as ma

x = ma.zeros((6, 6))
x[0, :] = 1.0
rows, columns = np.array([1, 3]), np.array([2, 4])


@ma.jit
def updated(x):
    x = x.at[2:5, ::2].add(1.0)
    x = x.at[rows, columns].set(7.0)
    return x.at[x < 1].set(-1.0)


found = updated(x)
print(found)
