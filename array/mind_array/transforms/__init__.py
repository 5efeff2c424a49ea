"""Transformations of functions: compilation, derivatives, batching, checkpoints."""
