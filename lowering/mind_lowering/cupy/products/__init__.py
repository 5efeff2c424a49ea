"""Kernels around products of matrices, on tensor cores where the dtype allows; and those that cuBLAS does."""
