"""
The CuPy target: fusions as CUDA kernels of our own, everything else as calls over CuPy's array namespace.

    lower.py         a module as calls and launches, after forms/: which ops and fusions are one kernel, and what they take in
    kernels/         a fusion -> one kernel: elements, maps, reductions, scans, updates, sorts, draws
        patterns.py  the table of kernel patterns, and the choice of a row               <- kernels plug in here
    products/        those that multiply matrices: convolutions, attention and its gradient; and cuBLAS
    cuda_cpp/        the CUDA C++ that kernels call, and NVRTC
    planning/        a lowered function -> what runs on a GPU step by step, and where in memory everything is
    source.py        the Python and the kernels as text      launching.py   what that Python calls
    options.py       what can be asked of the target         reasons.py     what `--explain` says
"""
