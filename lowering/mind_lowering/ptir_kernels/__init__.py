"""The reference kernels of PTIR: `table.py` says which op calls what, `kernels.py` holds them over an array namespace."""
