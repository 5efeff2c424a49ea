"""
Programs on whatever XLA runs on, by way of JAX: `compile(module, target="xla")`.

    session.py   JAX, imported where it is used
    artifact.py  StableHLO text -> an object that JAX calls
    sharding.py  meshes and layouts, from text or from JAX's own objects
    program.py   the callable: a `Program` that XLA runs

It takes JAX, an extra; without it, `compile` is E6002 before anything else happens.
"""
