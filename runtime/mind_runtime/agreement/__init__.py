"""
Agreement of executors: one program on the same inputs, compared pair by pair, and its gradient against differences.

    check = run_everywhere(module, "f", executors=["numpy", "native"], arguments=draw_arguments(module, "f", seed=0))
    check.disagreements()       pairs of executors, with the result that differs most
    first_difference(...)       the first op whose operands agree and whose results do not
    compare_adjoints(...)       vector-Jacobian products against those of another system
    check_gradients(...)        vector-Jacobian products against central differences in f64
"""

from .arguments import draw_arguments
from .differences import TOLERANCES, Difference, compare, tolerance_of
from .first_difference import first_difference
from .gradients import GradientCheck, check_gradients, compare_adjoints
from .outcomes import Agreement, Outcome, run_everywhere

__all__ = [
    "TOLERANCES",
    "Agreement",
    "Difference",
    "GradientCheck",
    "Outcome",
    "check_gradients",
    "compare",
    "compare_adjoints",
    "draw_arguments",
    "first_difference",
    "run_everywhere",
    "tolerance_of",
]
