"""JAX, imported where it is used: one coded error where it is absent, too old, or does not start."""

from __future__ import annotations

import importlib
from typing import Any

from mind_dialect.errors import MindError, brief, error

LEAST = (0, 10)
"""The oldest version of JAX that is supported; the extra says the same."""
_WITHOUT_JAX = ("numpy", "native", "cupy")


def require() -> Any:
    """The module `jax`; E6002 without it, with another version than the extra asks for, or where it fails to import."""
    try:
        jax: Any = importlib.import_module("jax")
        for name in ("jax.export", "jax.extend.core.primitives", "jax.extend.mlir", "jax.extend.backend"):
            importlib.import_module(name)
    except ImportError as e:
        raise unavailable(f"JAX cannot be imported ({brief(e)}): pip install 'mind-dialect[jax]'") from None
    if jax.__version_info__[:2] < LEAST:
        least = ".".join(map(str, LEAST))
        raise unavailable(f"JAX {jax.__version__} is installed, {least} or newer is needed: pip install 'mind-dialect[jax]'")
    return jax


def mlir(name: str) -> Any:
    """A module of jaxlib's MLIR, such as `ir` or `dialects.stablehlo`; E6002 where there is none."""
    require()
    try:
        return importlib.import_module(f"jaxlib.mlir.{name}")
    except ImportError as e:
        raise unavailable(f"jaxlib has no MLIR ({brief(e)})") from None


def unavailable(issue: str) -> MindError:
    """E6002 for the target `xla`."""
    return error("E6002", f"the target 'xla' runs on JAX; {issue}", requested="xla", available=list(_WITHOUT_JAX))


def devices(platform: str | None = None) -> list[Any]:
    """The devices of JAX, or those of one platform such as `cpu`; E6002 where JAX finds none."""
    jax = require()
    try:
        return list(jax.devices() if platform is None else jax.devices(platform))
    except RuntimeError as e:
        raise unavailable(f"no device: {first_line(e)}") from None


def first_line(e: BaseException) -> str:
    """Return the first line of a message of XLA, without the traces behind it."""
    lines = [line.strip() for line in str(e).splitlines() if line.strip()]
    return brief(lines[0] if lines else type(e).__name__)
