"""
A memory plan as a picture: the blocks of an arena by the time for which they are needed.

    plan = MemoryPlan("@f on native", 4096, (Block("h", 0, 1024, 1, 3), Block("y", 1024, 512, 2, 5)))
    Path("plan.svg").write_text(plan.svg())
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from html import escape

from mind_dialect.lazy_dataclass import dataclass

WIDTH, HEIGHT, MARGIN = 960, 540, 60
"""Of the picture and of its edge, in pixels."""
TICKS = 8
LABELLED = (40, 12)
"""A block of at least this width and height has its name on it; each has it as a tooltip."""
HUES = 12


@dataclass(frozen=True)
class Block:
    """Bytes of an arena that hold one value from one step to another, both included."""

    name: str
    offset: int
    bytes: int
    first: int
    last: int


@dataclass(frozen=True)
class MemoryPlan:
    """The blocks of an arena of so many bytes; `what` is the title: the program, its target, and what the steps are."""

    what: str
    bytes: int
    blocks: tuple[Block, ...]

    @cached_property
    def steps(self) -> int:
        """The number of the last step that needs a block."""
        return max((block.last for block in self.blocks), default=0)

    def svg(self) -> str:
        """Return the picture as SVG: steps to the right, bytes upward, a rectangle for each block."""
        return "\n".join([*self._frame(), *self._rectangles(), "</svg>", ""])

    def _frame(self) -> Iterator[str]:
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'font-family="sans-serif" font-size="11" role="img" aria-label="{escape(self.what)}">'
        )
        yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
        title = f"{self.what}: {self.bytes:,} bytes"
        yield f'<text x="{MARGIN}" y="24" font-size="14">{escape(title)}</text>'
        for i in range(TICKS + 1):
            size, step = self.bytes * i // TICKS, self.steps * i // TICKS
            yield f'<text x="{MARGIN - 6}" y="{self._y(size) + 4:.1f}" text-anchor="end">{_shown(size)}</text>'
            yield f'<line x1="{MARGIN}" x2="{WIDTH - 20}" y1="{self._y(size):.1f}" y2="{self._y(size):.1f}" stroke="#ddd"/>'
            yield f'<text x="{self._x(step):.1f}" y="{HEIGHT - MARGIN + 18}" text-anchor="middle">{step}</text>'
        yield f'<text x="{WIDTH // 2}" y="{HEIGHT - 16}" text-anchor="middle">step</text>'

    def _rectangles(self) -> Iterator[str]:
        for i, block in enumerate(self.blocks):
            x, width = self._x(block.first), self._x(block.last + 1) - self._x(block.first)
            y, height = self._y(block.offset + block.bytes), self._y(block.offset) - self._y(block.offset + block.bytes)
            colour = f"hsl({360 * (i * 5 % HUES) // HUES}, 60%, 75%)"
            tip = f"{block.name}: {block.bytes:,} bytes at {block.offset:,}, steps {block.first} to {block.last}"
            yield f'<g><title>{escape(tip)}</title><rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
            yield f'fill="{colour}" stroke="#555" stroke-width="0.5"/>'
            if width >= LABELLED[0] and height >= LABELLED[1]:
                fits = block.name[: int(width // 7)]
                yield f'<text x="{x + 3:.1f}" y="{y + height / 2 + 4:.1f}">{escape(fits)}</text>'
            yield "</g>"

    def _x(self, step: int) -> float:
        return MARGIN + (WIDTH - MARGIN - 20) * step / (self.steps + 1)

    def _y(self, size: int) -> float:
        return HEIGHT - MARGIN - (HEIGHT - MARGIN - 40) * size / max(1, self.bytes)


def _shown(size: float) -> str:
    """A size in the largest unit in which it is at least 1."""
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:.4g} GiB"
