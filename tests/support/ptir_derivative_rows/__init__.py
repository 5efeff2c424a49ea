"""Every PTIR op that has derivative rules, on shapes worth differentiating: the rows of the derivative tests, by family."""

from __future__ import annotations

from .base import Row
from .complex_numbers import ROWS as COMPLEX
from .control import ROWS as CONTROL
from .elementwise import ROWS as ELEMENTWISE
from .fourier import ROWS as FOURIER
from .indexing import ROWS as INDEXING
from .models import ROWS as MODELS
from .reduction import ROWS as REDUCTION
from .structural import ROWS as STRUCTURAL
from .windows import ROWS as WINDOWS

ROWS: list[Row] = [*ELEMENTWISE, *STRUCTURAL, *INDEXING, *REDUCTION, *WINDOWS, *MODELS, *CONTROL, *COMPLEX, *FOURIER]
