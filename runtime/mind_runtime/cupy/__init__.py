"""
Programs on a GPU: `compile(module, target="cupy")`.

    gpu.py       what is asked of the GPU, by way of CuPy: memory, copies, graphs, products
    tape.py      what is enqueued, in order; sections of it are graphs
    recorder.py  a plan -> its tape on the arrays of one set of addresses
    runner.py    arguments -> a tape for where they are, or for copies of them -> results

`mind_runtime.on_cupy` has the callable. A machine is anything that does what `Gpu` does, as a test's own that is none.
"""
