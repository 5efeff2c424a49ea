"""
A fusion as one CUDA kernel: `patterns.choose` finds the row of the table that takes it, whose schedule emits the text.

Schedules are legal by the predicates here (`body.py`, `indexing.py` and the schedules themselves); `scope.py` and `kernel.py`
write statements.
"""
