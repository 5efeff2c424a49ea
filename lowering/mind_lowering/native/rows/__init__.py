"""
Fusions over the same rows as one kernel.

    form.py   which fusions become one            body.py     what is to be done with a row
    plan.py   in which passes, and what is kept   numbers.py  numbers of rows and columns in lanes
    loops.py  the passes                          step.py     a step of the planner
"""
