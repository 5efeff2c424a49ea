"""
Fusions over the same rows as one kernel.

    body.py   the ops of a row                    plan.py     in which passes over it, and the values kept between these
    loops.py  the passes                          numbers.py  numbers of rows and columns in lanes
    step.py   its pattern, and its step               columns.py  the passes over rows across the lanes

`mind_passes.fusion.form_rows` decides which fusions become one.
"""
