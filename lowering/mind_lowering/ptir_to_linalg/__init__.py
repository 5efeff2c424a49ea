"""
From PTIR to tensor, linalg, arith, math and scf, for a foreign flow to go on from.

What these dialects can say is converted with its meaning kept; everything else of a program is named in one error, E8008.
"""

from .convert import ConvertPtirToLinalgPass, LinalgTarget, convert_module, converted, legality
from .legal import REFUSED

__all__ = ["REFUSED", "ConvertPtirToLinalgPass", "LinalgTarget", "convert_module", "converted", "legality"]
