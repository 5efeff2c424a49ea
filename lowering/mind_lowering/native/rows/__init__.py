"""
Fusions over the same rows as one kernel.

    body.py   the ops of a row                    plan.py     in which passes over it, and the values kept between these
    loops.py  the passes                          along.py    with lanes along each row
    step.py   its pattern, and its step           columns.py  with lanes from row to row

`mind_passes.fusion.form_rows` decides which fusions become one.
"""
