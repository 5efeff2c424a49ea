"""The CuPy target: fusions as CUDA kernels of our own, everything else as calls over CuPy's array namespace."""
