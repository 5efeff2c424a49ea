"""
A tile of a convolution: some places along one axis by some vectors of columns, summed over the window and the channels.

Long sums are a function of their own, which leaves them in memory: tiles that differ by their epilogues alone share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

from mind_dialect.ptir.types import Kind

from ..failures import Sites
from ..ir import Function
from ..kernel_text import argument, index_of
from ..lanes import register, stored
from ..products.chain import Finish
from ..target_info import TargetInfo
from .convolution import EmittedConvolution
from .padding import Padding, Skips, any_of, has_border, suspect
from .tile_sums import At, ConvolutionTile, TileSums

LONG_SUM = 1024
"""Products that are added up to one result, at least, where sums are a function of their own: memory between costs little."""


def parameters(convolution: EmittedConvolution) -> list[tuple[str, str]]:
    """
    Of every tile: the arguments, where it begins in both operands, its place, and bounds of the window.

    Before the bounds, whether the tile has to look at taps that all of its rows skip, and whether to add to sums in memory.
    """
    found = [("ptr", "args"), ("i64", "a"), ("i64", "b"), *[("i64", f"i{i}") for i in convolution.outer]]
    found += [("i64", "row"), ("i64", "column")]
    found += [("i1", "border")] if has_border(convolution) else []
    found += [("i1", "more")] if convolution.blocks > 1 else []
    return found + [("i64", f"{end}{i}") for i in convolution.bounded for end in ("first", "end")]


def emit_tile(f: Function, host: TargetInfo, convolution: EmittedConvolution, tile: ConvolutionTile, sites: Sites) -> str:
    """
    Add a tile to the module of `f`; the name of its function, which gives a status.

    That is below 0 if taps that the tile uses may be not finite.
    """
    made = f.module.function(f.module.unique(f"window.{tile.rows}x{tile.columns}"), "i64", parameters(convolution))
    made.notes.append(f"{convolution.name}: {tile.rows} by {tile.columns} results")
    _ConvolutionTileBody(made, host, convolution, tile, sites).emit()
    return made.name


class _ConvolutionTileBody(TileSums):
    def __init__(self, f: Function, host: TargetInfo, convolution: EmittedConvolution, tile: ConvolutionTile, sites: Sites):
        super().__init__(f, host, convolution, tile, sites)
        self.sums_apart = convolution.blocks == 1 and prod(one.extent for one in self.sums) >= LONG_SUM
        """True if a function that tiles with other epilogues share leaves the sums in memory."""
        self.finishes_in_loop = (convolution.epilogue.heavy or self.sums_apart) and tile.rows > 1
        """True if a loop over rows hands sums from memory to the epilogue."""

    def emit(self) -> None:
        skips = Skips(self.it, self.tile.taps, self.tile.rows, len(self.masks))
        room = self.room() if skips or self.finishes_in_loop or self.sums_apart else ""
        if self.sums_apart:
            status = self.call_sums(skips, room)
            self.finish_from(room)
        else:
            state, edges, status = self.sums_in_registers(skips)
            self.finish(self.over_padding(skips, state, room, edges) if skips else state, room)
        self.f.ret(status)

    def sums_in_registers(self, skips: Skips) -> tuple[list[str], str, str]:
        """Return the sums, the condition that taps that some rows skip may be not finite, and the status of the tile."""
        state = self.emit_sums()
        edges = suspect(self.f, self.lanes(), skips, state) if skips else "false"
        return state, edges, self.f.op(f"sext i1 {edges} to i64", "status") if has_border(self.it) else "0"

    def call_sums(self, skips: Skips, room: str) -> str:
        """Emit the call of the function that leaves the sums in memory; return the status of the tile."""
        given = ", ".join(f"{type} %{name}" for type, name in parameters(self.it))
        status = self.f.op(f"call i64 @{self.sums_function(skips)}({given}, ptr {room})", "status")
        if self.host.checked:
            self.f.leave(self.f.op(f"icmp sgt i64 {status}, 0", "failed"), lambda: status)
        return status

    def sums_function(self, skips: Skips) -> str:
        """Return the name of the function, new unless an equal one is there, that stores the sums one after the other."""
        module, key = self.f.module, (self.it.sums_key(), self.tile)
        if key in module.shared and not self.host.checked:  # whose functions differ in the numbers of failures
            return module.shared[key]
        name = module.unique(f"sums.{self.tile.rows}x{self.tile.columns}")
        made = module.function(name, "i64", [*parameters(self.it), ("ptr", "room")])
        made.notes.append(f"sums of {self.tile.rows} by {self.tile.columns} results")
        body = _ConvolutionTileBody(made, self.host, self.it, self.tile, self.sites)
        state, edges, status = body.sums_in_registers(skips)
        body.store(state, "%room")
        if skips:
            made.when(body.has_to_pad(skips, edges), lambda: body.add_padding(skips, "%room", edges))
        made.ret(status)
        module.shared[key] = found = module.merge(made)
        return found

    # Padding

    def over_padding(self, skips: Skips, state: Sequence[str], room: str, edges: str) -> list[str]:
        """The sums with what the taps give that rows skip, where these may be not finite; `room` has space for them."""

        def changed() -> list[str]:
            self.store(state, room)
            self.add_padding(skips, room, edges)
            return self.from_rooms(room)

        return self.f.changed(self.has_to_pad(skips, edges), self.typed(state), changed)

    def has_to_pad(self, skips: Skips, edges: str) -> str:
        """Return the condition that taps that rows skip may be not finite, given that of those that some rows skip."""
        return any_of(self.f, ["%border" if skips.bounds else "false", edges if skips.edges else "false"])

    def add_padding(self, skips: Skips, room: str, edges: str) -> None:
        """Emit the call that adds what the taps give that rows skip to the sums in memory."""
        f, border, edges = self.f, "%border" if skips.bounds else "false", edges if skips.edges else "false"
        given = ", ".join(f"{type} %{name}" for type, name in parameters(self.it))
        status = f.op(f"call i64 @{self.padding(skips)}({given}, ptr {room}, i1 {border}, i1 {edges})", "status")
        if self.host.checked:
            f.leave(f.op(f"icmp ne i64 {status}, 0", "failed"), lambda: status)

    def padding(self, skips: Skips) -> str:
        """Return the name of the function, new unless an equal one is there, that adds what rows skip to their sums in memory."""
        module = self.f.module
        given = [*parameters(self.it), ("ptr", "room"), ("i1", "rows"), ("i1", "edges")]
        made = module.function(module.unique(f"padding.{self.tile.rows}x{self.tile.columns}"), "i64", given)
        made.notes.append(f"{self.it.name}: what {self.tile.rows} by {self.tile.columns} results skip")
        tile = _ConvolutionTileBody(made, self.host, self.it, self.tile, self.sites)
        b = made.address(stored(self.it.weights.dtype), argument(made, 1, "rhs"), "%b")
        at = At("", b, "", "%b")
        Padding(made, self.host, skips, partial(tile.weights, at), partial(tile.ask_weights, at)).emit("%room", "%rows", "%edges")
        made.ret("0")
        return module.merge(made)

    def room(self) -> str:
        """The address of space for the sums."""
        count = self.tile.rows * len(self.masks)
        return self.f.op(f"alloca [{count} x {self.lanes().of(register(self.total))}], align 64", "results")

    def store(self, found: Sequence[str], room: str) -> None:
        """Store the sums one after the other."""
        of, type = self.lanes().type(self.total), register(self.total)
        for i, value in enumerate(found):
            self.f.do(f"store {of} {value}, ptr {self.f.address(type, room, str(i * self.width))}, align 64")

    def from_rooms(self, room: str) -> list[str]:
        """Return all vectors that were stored."""
        return [self.from_room(room, str(i * self.width)) for i in range(self.tile.rows * len(self.masks))]

    def from_room(self, room: str, index: str) -> str:
        """The vector at an index of what was stored."""
        lanes, type = self.lanes(), register(self.total)
        return lanes.op(f"load {lanes.of(type)}, ptr {self.f.address(type, room, index)}, align 8")

    # Results

    def finish(self, found: Sequence[str], room: str) -> None:
        """Hand all results to the epilogue; if that is long, from `room` in memory in a loop over rows."""
        f, it = self.f, self.it
        if it.blocks > 1:
            found = f.changed("%more", self.typed(found), lambda: self.added(found))
        if self.finishes_in_loop:
            self.store(found, room)
            self.finish_from(room)
            return
        hand = self.begin_finishing()
        for i, value in enumerate(found):
            r, q = divmod(i, len(self.masks))
            self.hand(hand, str(r), q, value)

    def finish_from(self, room: str) -> None:
        """Hand all results to the epilogue from memory, in a loop over rows."""
        f, vectors, hand = self.f, len(self.masks), self.begin_finishing()
        for r in f.each("0", str(self.tile.rows), hint="r"):
            for q in range(vectors):
                index = f.add(f.mul(r, vectors * self.width), str(q * self.width))
                self.hand(hand, r, q, self.from_room(room, index))

    def begin_finishing(self) -> Finish:
        """Begin the epilogue; return what hands it a vector of results."""
        return self.it.finish(self.f, [argument(self.f, 2 + i, "e") for i in range(len(self.it.epilogue.views))])

    def added(self, found: Sequence[str]) -> list[str]:
        """The results added to the sums of blocks before, which are where results are stored."""
        it, f, vectors = self.it, self.f, len(self.masks)
        base, code = argument(f, 2, "e"), "fadd" if self.total.kind is Kind.FLOAT else "add"
        sums: list[str] = []
        for i, value in enumerate(found):
            r, q = divmod(i, vectors)
            lanes = self.lanes(self.masks[q], "before")
            before = lanes.load(self.total, base, index_of(f, it.out, self.place(str(r), q)), it.out.strides[-1])
            sums.append(lanes.binary(code, register(self.total), before, value))
        return sums

    def place(self, row: str, q: int) -> list[str]:
        """The place in the result of a vector of a row of the tile."""
        it = self.it
        at = [self.f.add("%row", row) if i == it.cut.along else f"%i{i}" for i in range(len(it.out.shape) - 1)]
        return [*at, self.f.add("%column", str(q * self.width))]

    def hand(self, finish: Finish, row: str, q: int, value: str) -> None:
        """One vector of results."""
        it = self.it
        rank = len(it.out.shape)
        at = self.place(row, q)
        if self.host.checked:
            last = min(self.width, self.tile.columns - q * self.width) - 1
            ends = [at, [*at[:-1], self.f.add(at[-1], str(last))]]
            self.inside(it.out, [index_of(self.f, it.out, end) for end in ends])
        finish(self.lanes(self.masks[q]), at, rank - 1, value)
