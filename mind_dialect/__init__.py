"""The `mind` dialect: Core IR of the MIND language as xDSL ops, with a spec-exact verifier."""

from xdsl.context import Context
from xdsl.ir import Dialect

from .core import CORE_OPS, EXTENSION_OPS
from .errors import MindError
from .literals import LiteralAttr
from .profiles import Profile

Mind = Dialect("mind", [*CORE_OPS, *EXTENSION_OPS], [LiteralAttr])


def register(ctx: Context) -> None:
    """Make the dialect known to `ctx`; safe to call again."""
    if ctx.get_optional_dialect(Mind.name) is None:
        ctx.load_dialect(Mind)


__all__ = ["LiteralAttr", "Mind", "MindError", "Profile", "register"]
