"""
The pool of threads, as LLVM IR: `pool.py` shares and works, `chunks.py` hands chunks out, `record.py` says where everything is.
"""
