"""All kernels of PTIR over one array namespace, by name: `PtirKernels(numpy).dot_general(...)`."""

from __future__ import annotations

from .elementwise import Elementwise
from .epilogues import Epilogues
from .fourier import Fourier
from .quantized import Quantized
from .random import Random
from .sorting import Sorting
from .window import Windows
from .windows_at import WindowsAt


class PtirKernels(Elementwise, Epilogues, Windows, WindowsAt, Fourier, Sorting, Random, Quantized):
    """
    The kernels over the array namespace `xp`, NumPy or one that does as it does.

    Arrays come first, then the op's properties under the contract's names; dtypes are array dtypes, dimensions are numbers, and a
    rank of 0 may be an array or a scalar. Shapes and dtypes are verified; a kernel checks only what the run alone knows: indices,
    divisors, windows along dynamic dimensions. Operands are never written to, but for the first of those named with `_into`.
    Call them under `errstate(all="ignore")`: overflow, division by zero and NaN are results here, not accidents.
    """
