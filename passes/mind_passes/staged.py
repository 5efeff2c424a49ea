"""Passes that run others in a fixed order, which tools can follow stage by stage."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from mind_dialect import register
from mind_dialect.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Stage:
    """A step of a pass; `name` is that of the pass which does the same by itself, where there is one."""

    name: str
    run: Callable[[ModuleOp], object]


@dataclass(frozen=True)
class StagedPass(ModulePass):
    """A pass that is a sequence of stages. `mind-opt` shows the program after each of them, as after a pass."""

    @abstractmethod
    def stages(self) -> Sequence[Stage]:
        """Return what the pass does, in order."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        register(ctx)
        for stage in self.stages():
            stage.run(op)
