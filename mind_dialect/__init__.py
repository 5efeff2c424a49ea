"""The dialects: `mind`, Core IR of the MIND language, and `ptir`, the tensor backend contract, with spec-exact verifiers."""

from xdsl.context import Context
from xdsl.ir import Dialect

from .core import CORE_OPS, EXTENSION_OPS
from .errors import MindError
from .literals import LiteralAttr
from .profiles import Profile

Mind = Dialect("mind", [*CORE_OPS, *EXTENSION_OPS], [LiteralAttr])


def _ptir() -> Dialect:
    from .ptir import Ptir

    return Ptir


def register(ctx: Context) -> None:
    """Make our dialects known to `ctx`, `ptir` being loaded on first use; safe to call again."""
    if ctx.get_optional_dialect(Mind.name) is None:
        ctx.load_dialect(Mind)
    if "ptir" not in set(ctx.registered_dialect_names):
        ctx.register_dialect("ptir", _ptir)


__all__ = ["LiteralAttr", "Mind", "MindError", "Profile", "register"]
