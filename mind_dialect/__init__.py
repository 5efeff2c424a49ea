"""The dialects: `mind`, Core IR of the MIND language, `ptir`, the tensor backend contract, and `shape`."""

from xdsl.context import Context
from xdsl.ir import Dialect

from .core import CORE_OPS, EXTENSION_OPS
from .errors import MindError, MindParseError
from .literals import LiteralAttr
from .profiles import Profile
from .version import __version__

Mind = Dialect("mind", [*CORE_OPS, *EXTENSION_OPS], [LiteralAttr])


def _ptir() -> Dialect:
    from .ptir import Ptir

    return Ptir


def _shape() -> Dialect:
    from .shape import Shape

    return Shape


def register(ctx: Context) -> None:
    """
    Make our dialects known to `ctx`, `ptir` and `shape` being loaded on first use; safe to call again.

    A dialect that is called `shape` and is there already stays.
    """
    if ctx.get_optional_dialect(Mind.name) is None:
        ctx.load_dialect(Mind)
    known = set(ctx.registered_dialect_names)
    for name, dialect in (("ptir", _ptir), ("shape", _shape)):
        if name not in known:
            ctx.register_dialect(name, dialect)


__all__ = ["LiteralAttr", "Mind", "MindError", "MindParseError", "Profile", "__version__", "register"]
