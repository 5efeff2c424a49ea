"""
NumPy-style arrays that compute at once, or record into PTIR: `import mind_array as ma`.

The namespace follows the Python array API standard 2024.12, and has many functions of NumPy under their names. Concrete arrays
run the kernels of the `numpy` target; inside of `ma.jit`, `ma.grad`, `ma.vmap` and `ma.trace` the same functions append ops.
"""

from __future__ import annotations

import math as _math
import sys as _sys
from importlib import import_module as _import
from types import ModuleType as _Module
from typing import Any as _Any

from . import dtypes as _dtypes
from . import ptir as ptir
from . import random as random
from . import tree as tree
from .array import Array as Array
from .dim import Dim as Dim
from .dtypes import complex64 as complex64
from .dtypes import complex128 as complex128
from .dtypes import float16 as float16
from .dtypes import float32 as float32
from .dtypes import float64 as float64
from .dtypes import int8 as int8
from .dtypes import int16 as int16
from .dtypes import int32 as int32
from .dtypes import int64 as int64
from .dtypes import uint8 as uint8
from .dtypes import uint16 as uint16
from .dtypes import uint32 as uint32
from .dtypes import uint64 as uint64
from .faults import similar as _similar
from .programs import from_module as from_module
from .programs import load as load
from .programs import save as save
from .programs import spec as spec
from .programs import trace as trace
from .table import BY_NUMPY as _BY_NUMPY
from .table import TABLE as _TABLE
from .transforms.batching import vmap as vmap
from .transforms.branches import cond as cond
from .transforms.branches import switch as switch
from .transforms.custom import checkpoint as checkpoint
from .transforms.custom import custom_vjp as custom_vjp
from .transforms.derivatives import grad as grad
from .transforms.derivatives import hvp as hvp
from .transforms.derivatives import jvp as jvp
from .transforms.derivatives import value_and_grad as value_and_grad
from .transforms.derivatives import vjp as vjp
from .transforms.jacobians import hessian as hessian
from .transforms.jacobians import jacfwd as jacfwd
from .transforms.jacobians import jacrev as jacrev
from .transforms.jit import jit as jit
from .transforms.loops import fori_loop as fori_loop
from .transforms.loops import scan as scan
from .transforms.loops import while_loop as while_loop

__array_api_version__ = "2024.12"
bool = _dtypes.bool_
e, pi, inf, nan = _math.e, _math.pi, _math.inf, _math.nan
newaxis = None


for _name in (
    "operators",
    "numpy_protocols",
    "rows.fft",
    "rows.linalg",
    "rows.linalg_rules",
    "rows.factors",
    "rows.pseudo_inverse",
    "rows.trigonometry_rules",
    "rows.nn",
    "rows.numpy_indices",
    "rows.numpy_linalg",
    "rows.numpy_mathematics",
    "rows.numpy_products",
    "rows.numpy_shapes",
    "rows.numpy_statistics",
):  # they fill the table and the class
    _import(f"{__name__}.{_name}")


def _modules() -> dict[str, _Module]:
    """The modules of the namespace, filled from the table."""
    made: dict[str, _Module] = {}
    for name in ("linalg", "fft", "nn"):
        module = made[name] = _Module(f"{__name__}.{name}", f"The functions of `{name}`.")
        _sys.modules[module.__name__] = module
    for row in _TABLE.values():
        target = globals() if not row.module else made[row.module].__dict__
        target[row.name] = row.function
    for name, row in _BY_NUMPY.items():
        if "." not in name:
            globals().setdefault(name, row.function)
    return made


linalg, fft, nn = _modules().values()
for _module in (linalg, fft, nn):
    _module.__dict__["__all__"] = sorted(r.name for r in _TABLE.values() if f"{__name__}.{r.module}" == _module.__name__)
del _module
if "IPython" in _sys.modules:
    _import(f"{__name__}.notebook").show_in_notebooks()

__all__ = sorted(n for n in globals() if not n.startswith("_") and n not in ("annotations",))  # pyright: ignore


def __getattr__(name: str) -> _Any:
    """The dtypes that need `ml_dtypes`, and an error that names similar attributes."""
    if name in _dtypes.EXTRA:
        return _dtypes.named(name)
    other = next((f"; there is {r.module}.{name}" for r in _TABLE.values() if r.module and r.name == name), None)
    message = f"module {__name__!r} has no attribute {name!r}{other or _similar(name, __all__)}"
    raise AttributeError(message)
