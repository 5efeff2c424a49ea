"""
What the native target is measured beside: the same workloads by hand in NumPy, PyTorch, JAX, ONNX Runtime and numba.

    workloads.py   what is computed, on which arrays, and what it must at least move and multiply
    by_*.py        each side: for a workload's name, what makes a call of it out of its arrays
    worker.py      a process of one side, asked for samples
    rounds.py      all sides asked in iteration, and whether the machine was theirs meanwhile
    report.py      the table and the picture
"""
