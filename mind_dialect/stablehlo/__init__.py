"""StableHLO, CHLO and Shardy, the dialects of XLA's programs: one home for what reads them and what writes them."""

from .dialect import ATTRIBUTE_TYPES, DIALECTS, OP_TYPES, Chlo, ForeignAttribute, ForeignOp, Sdy, Stablehlo, Torch

__all__ = ["ATTRIBUTE_TYPES", "DIALECTS", "OP_TYPES", "Chlo", "ForeignAttribute", "ForeignOp", "Sdy", "Stablehlo", "Torch"]
