"""
Run by `test_sharding.py` in a process with 8 devices of one CPU; prints JSON.

For each layout: collectives and results of our gradient of the unannotated program, and of `jax.grad`'s program.
"""

from __future__ import annotations

import json

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from jax_models import LAYOUTS, NAMES, PARAMETERS, gpt_arguments, gpt_loss
from mind_bridges.jax import from_jax, to_jax
from mind_dialect.errors import MindError
from mind_passes.functional import value_and_grad
from mind_runtime import compile
from mind_runtime.xla.collectives import count_collectives
from mind_runtime.xla.sharding import make_mesh, parse_mesh


def largest_difference(found, wanted):
    pairs = zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True)
    return max(float(np.abs(np.asarray(a) - np.asarray(b)).max() / max(1.0, np.abs(np.asarray(b)).max())) for a, b in pairs)


def layout(name):
    arguments = gpt_arguments()
    text, shardings = LAYOUTS[name]
    module = value_and_grad(from_jax(gpt_loss, *arguments), wrt=PARAMETERS)
    program = compile(module, "main_grad", target="xla", mesh=text, shardings=shardings)
    mesh = make_mesh(parse_mesh(text), None)
    placed = [
        jax.device_put(
            a, NamedSharding(mesh, PartitionSpec(*(None if p == "_" else p for p in shardings.get(n, "_").split(","))))
        )
        for n, a in zip(NAMES, arguments, strict=True)
    ]
    own = jax.jit(jax.value_and_grad(gpt_loss, tuple(range(2, len(NAMES)))))
    through = jax.jit(jax.value_and_grad(to_jax(from_jax(gpt_loss, *arguments)), tuple(range(2, len(NAMES)))))
    wanted = own(*placed)
    return {
        "ours": program.collectives(*arguments),
        "through jax": count_collectives(through.lower(*placed).compile().as_text()),
        "jax": count_collectives(own.lower(*placed).compile().as_text()),
        "difference": largest_difference(program(*arguments), wanted),
        "difference through jax": largest_difference(through(*placed), wanted),
        "explain": program.explain(),
    }


def annotated():
    """A module that states its own mesh and shardings, differentiated, still states them; `mesh="module"` takes them."""
    from mind_tools.frontends import parse

    module = parse("""
        builtin.module attributes {ptir.spec_version = "ptir.v0.4"} {
          "sdy.mesh"() <{sym_name = "mesh", mesh = #sdy.mesh<["data"=8]>}> : () -> ()
          func.func @f(
            %x: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %w: tensor<4xf32>
          ) -> tensor<f32> {
            %b = ptir.broadcast_to %w result_shape = [16, 4] : tensor<4xf32> -> tensor<16x4xf32>
            %y = ptir.mul %x, %b : tensor<16x4xf32>
            %t = ptir.tanh %y : tensor<16x4xf32>
            %s = ptir.reduce %t kind = sum axes = [0, 1] keepdims = false : tensor<16x4xf32> -> tensor<f32>
            func.return %s : tensor<f32>
          }
        }""")
    made = value_and_grad(module, wrt=["w"])
    program = compile(made, "f_grad", target="xla", mesh="module")
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(s).astype(np.float32) for s in ((16, 4), (4,)))
    wanted = jax.value_and_grad(lambda w: jnp.sum(jnp.tanh(x * w)))(w)
    return {
        "explain": program.explain(),
        "collectives": program.collectives(x, w),
        "difference": largest_difference(program(x, w), wanted),
    }


def errors():
    module = from_jax(lambda x, w: x @ w, np.ones((6, 4), np.float32), np.ones((4, 2), np.float32))
    cases = {
        "indivisible": ("data=4", {"x": "data"}),
        "no axis": ("data=2", {"x": "model"}),
        "too many entries": ("data=2", {"w": "data,_,_"}),
        "twice": ("data=2", {"x": "data,data"}),
        "no input": ("data=2", {"y": "data"}),
        "no mesh": ("data=x", {}),
        "too few devices": ("data=16", {}),
        "twice in mesh": ("a=2,a=2", {}),
        "without mesh": (None, {"x": "data"}),
        "stated nowhere": ("module", {}),
        "a number": (4, {}),
        "an entry": ("data=2", {"x": [3]}),
    }
    found = {}
    for name, (mesh, shardings) in cases.items():
        try:
            compile(module, target="xla", mesh=mesh, shardings=shardings)
            found[name] = "nothing"
        except MindError as e:
            found[name] = f"{e.code}: {e.message}"
    return found


def on_device():
    """Arrays of JAX stay where they are, and results are theirs then; a seed and a fault cross the mesh."""
    arguments = gpt_arguments()
    module = from_jax(gpt_loss, *arguments)
    program = compile(module, target="xla", mesh="data=8", shardings={"tokens": "data", "targets": "data"})
    placed = [program.place(i, a) for i, a in enumerate(arguments)]
    found = program(*placed)
    return {"type": isinstance(found, jax.Array), "number": abs(float(found) - float(gpt_loss(*arguments))) < 1e-5}


if __name__ == "__main__":
    assert len(jax.devices()) == 8
    print(json.dumps({**{n: layout(n) for n in LAYOUTS}, "annotated": annotated(), "errors": errors(), "on device": on_device()}))
