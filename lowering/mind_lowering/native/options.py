"""The options of the target `native`, in one place."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..target_options import Switches
from .host import detect
from .target_info import TargetInfo


@dataclass(frozen=True)
class NativeOptions(Switches):
    """Each is on or off."""

    target = "native"

    flush_subnormals: bool = False
    """
    Floats below the least normal number may count as 0, as operands and as results: f32 below 2^-126, f64 below 2^-1022.

    Programs of XLA for CPUs always do so. Processors take up to 150 times as long for an instruction that meets such a number.
    """

    def host(self) -> TargetInfo:
        """Return this machine for programs with these options; E7001 as of `detect`."""
        return self.of_target(detect())

    def of_target(self, target: TargetInfo) -> TargetInfo:
        """Return a target for programs with these options."""
        return replace(target, flushes=self.flush_subnormals)


DEFAULT = NativeOptions()
