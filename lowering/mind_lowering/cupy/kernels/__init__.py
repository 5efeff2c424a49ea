"""A fusion as the text of one CUDA kernel, by what it does: `patterns.make_kernel`."""
