"""A derivative of your own: gradients that never exceed a limit."""

import mind_array as ma


@ma.custom_vjp
def clip_gradient(x, limit):
    return x


clip_gradient.defvjp(lambda x, limit: (x, limit), lambda limit, g: (ma.clip(g, -limit, limit), None))  # forward, backward

gradient = ma.grad(lambda x: ma.sum(clip_gradient(x, 1.0) ** 2))(ma.asarray([0.1, 5.0, -7.0]))
print(gradient)
