"""
The pool of threads, as LLVM IR: `pool.py` shares and works, `chunks.py` hands chunks out.
"""
