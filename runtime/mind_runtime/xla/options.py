"""
The options of the target `xla`, in one place.

`compile(module, target="xla{checks=off}")` and `mind-run --target 'xla{precision=high platform=cpu}'` know the same words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mind_dialect.errors import error
from mind_lowering.target_options import ON_OR_OFF

if TYPE_CHECKING:
    from mind_lowering.ptir_to_stablehlo import ExportOptions

PRECISIONS = ("highest", "high", "default")


@dataclass(frozen=True)
class XlaOptions:
    """Options of the export of a program, and of where it runs."""

    precision: str = "highest"
    """Of products of f32: `highest` for all bits, `high` or `default` for what a device does faster."""
    checks: bool = True
    """True if indices out of range and integer divisions by zero are found and raised, as by the other targets."""
    platform: str | None = None
    """One of JAX's platforms, such as `cpu`, `gpu` or `tpu`; by default the one that JAX prefers."""

    @staticmethod
    def of(words: Mapping[str, str]) -> XlaOptions:
        """The options from words such as `{"checks": "off"}`; E7001 for others."""
        known = ("precision", "checks", "platform")
        for word in words:
            if word not in known:
                raise error("E7001", f"option {word!r} of xla is unknown, expected one of {list(known)}", option=word)
        checks = ON_OR_OFF.get(words.get("checks", "on"))
        if checks is None:
            raise error("E7001", f"option checks of xla is {words['checks']!r}, expected on or off", option="checks")
        precision = words.get("precision", "highest")
        if precision not in PRECISIONS:
            message = f"option precision of xla is {precision!r}, expected one of {list(PRECISIONS)}"
            raise error("E7001", message, option="precision")
        return XlaOptions(precision, checks, words.get("platform"))

    def exported(self) -> ExportOptions:
        """The options of the exporter, which is slow to load."""
        from mind_lowering.ptir_to_stablehlo import checked_options

        return checked_options(self.precision, self.checks)


DEFAULT = XlaOptions()
