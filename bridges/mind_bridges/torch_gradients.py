"""
Ends of gradients in exported programs, which decomposing a program would lose.

Torch computes blocks of `torch.no_grad()` without derivatives, detaches tensors in place, and keeps the derivative of a tensor
that is written to without one: its elements change, and the derivative is that of what was there before.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Generator, Iterator
from contextlib import contextmanager
from typing import Any

from mind_dialect.locations import shown_location
from mind_translate.fx.locations import location_of
from mind_translate.unsupported import Refused, Unsupported

_TWICE = Refused("an input that is written to without a derivative, and again", "write to a copy of it (.clone())")


@contextmanager
def stopped_gradients(torch: Any, program: Any) -> Generator[None]:
    """State in a program, for a while, where gradients stop, by ops that decomposing keeps. Raises E8008."""
    edits = _Edits(torch, program)
    for node in list(program.graph.nodes):
        if node.op != "call_function":
            continue
        if node.target is edits.block and not node.args[0]:
            for result in list(node.users):
                if edits.aliased(result) is None:
                    edits.detach(result)
        for written in edits.written_without_gradient(node):
            edits.keep_gradient(node, written)
        if node.target is torch.ops.aten.detach_.default:
            edits.detach(node, node.args[0])
    try:
        edits.unsupported.raise_if_any()
        program.graph_module.recompile()
        yield
    finally:
        edits.undo()
        program.graph_module.recompile()


def _is_mutable(node: Any) -> bool:
    """Return whether a node is a call of an op that writes to its first argument."""
    schema = getattr(node.target, "_schema", None)
    return node.op == "call_function" and schema is not None and schema.is_mutable and bool(node.args)


def _shown(node: Any) -> str:
    """Return the line of the model that a node comes from, or the line's block."""
    return shown_location(location_of(node)) or shown_location(location_of(next(iter(node.users), node)))


class _Edits:
    """Edits of a graph, which can be undone."""

    def __init__(self, torch: Any, program: Any):
        self.torch, self.graph, self.signature = torch, program.graph, program.graph_signature
        self.module = program.graph_module
        self.block = torch.ops.higher_order.wrap_with_set_grad_enabled
        self.buffers = set(program.graph_signature.inputs_to_buffers)
        self.unsupported = Unsupported()
        self.before = [(node, node.args, node.kwargs) for node in program.graph.nodes]
        self.made: list[Any] = []
        self.renamed: list[tuple[str, str]] = []
        self.standing: dict[Any, Any] = {}
        """The replacement of an input that is written to again."""

    def detach(self, result: Any, also: Any = None) -> None:
        """Let users of a node, and later ones of another one, use it without its derivative."""
        made = self._insert(result, self.torch.ops.aten.detach.default, result)
        self._replace(result, made)
        if also is not None:
            self._replace(also, made)

    def written_without_gradient(self, node: Any) -> Iterator[Any]:
        """The nodes, with derivatives, whose elements a call changes without one."""
        if node.target is self.block and not node.args[0]:
            arguments = self._written_arguments(node)
            yield from dict.fromkeys(self._root(argument)[0] for argument in arguments.values())
        elif _is_mutable(node) and node.target is not self.torch.ops.aten.detach_.default:
            root, is_detached = self._root(node.args[0])
            if is_detached:
                yield root

    def keep_gradient(self, node: Any, written: Any) -> None:
        """Let later users use what a node wrote with the derivative of what was there before; of buffers with none."""
        aten, is_buffer = self.torch.ops.aten, written.name in self.buffers
        if not written.meta["val"].is_floating_point():
            return
        is_input = written.op == "placeholder"
        writers: list[Any] = [user for user in self._later(node) if is_input and self._writes_to(user, written)]
        if not is_buffer and any(user.target is not self.block or written not in user.args for user in writers):
            self.unsupported.add("a write without a derivative", _TWICE, place=_shown(node))
            return
        if is_buffer:
            found = self._insert(node, aten.detach.default, written)
        else:
            with self.graph.inserting_before(node):
                old = self.standing.get(written) or self._made(aten.clone.default, written)
            at = self._insert(node, aten.detach.default, old)
            moving = self._insert(at, aten.sub.Tensor, old, at)
            new = self._insert(moving, aten.detach.default, written)
            found = self._insert(new, aten.add.Tensor, new, moving)
        self._replace(written, found, () if is_buffer else writers)
        if written in self.standing:
            self._replace(self.standing[written], found)
        if writers and not is_buffer:
            self.standing[written] = found
        for result in list(node.users) if node.target is self.block else ():
            if (argument := self.aliased(result)) is not None and self._root(argument)[0] is written:
                self._replace(result, found)

    def aliased(self, result: Any) -> Any:
        """The argument of a block whose elements one of its results has, after the block wrote to it; None for other results."""
        node, i = result.args
        outputs = next(n for n in self._body(node).nodes if n.op == "output").args[0]
        return self._written_arguments(node).get(self._root(outputs[i])[0]) if hasattr(outputs[i], "op") else None

    def _body(self, node: Any) -> Any:
        return getattr(self.module, node.args[1].target).graph

    def _written_arguments(self, node: Any) -> dict[Any, Any]:
        """The arguments of a block that it writes to, by the inputs of its graph."""
        nodes = self._body(node).nodes
        roots = {self._root(n.args[0])[0] for n in nodes if _is_mutable(n)}
        inputs = [n for n in nodes if n.op == "placeholder"]
        return {n: argument for n, argument in zip(inputs, node.args[2:], strict=True) if n in roots}

    def _writes_to(self, user: Any, written: Any) -> bool:
        if user.op == "call_function" and user.target is self.block:
            return written in self.written_without_gradient(user)
        return _is_mutable(user) and self._root(user.args[0])[0] is written

    def _root(self, node: Any) -> tuple[Any, bool]:
        """The node of whose elements another one is a view, and whether the view has no derivative."""
        is_detached = False
        while getattr(node, "op", None) == "call_function":  # the operand of some ops is a list
            if node.target is operator.getitem:
                is_of_block = node.args[0].target is self.block and not node.args[0].args[0]
                source = self.aliased(node) if is_of_block else node.args[0]
                if source is None:
                    break
                node = source
                continue
            schema = getattr(node.target, "_schema", None)
            if schema is None or not any(r.alias_info for r in schema.returns) or not node.args:
                break
            is_detached = is_detached or node.target is self.torch.ops.aten.detach.default
            node = node.args[0]
        return node, is_detached

    def _later(self, node: Any) -> Iterator[Any]:
        while (node := node.next).op != "root":
            yield node

    def _insert(self, place: Any, target: Any, *args: Any) -> Any:
        """Insert a call behind a node."""
        with self.graph.inserting_after(place):
            return self._made(target, *args)

    def _made(self, target: Any, *args: Any) -> Any:
        made = self.graph.call_function(target, args)
        made.meta.update(args[0].meta)
        self.made.append(made)
        return made

    def _replace(self, node: Any, made: Any, but: Collection[Any] = ()) -> None:
        """Let later users of a node, but for some, use another one."""
        later = set(self._later(made)).difference(but)
        node.replace_all_uses_with(made, delete_user_cb=later.__contains__)
        if any(node.name == spec.arg.name for spec in self.signature.output_specs):
            self.signature.replace_all_uses(node.name, made.name)
            self.renamed.append((node.name, made.name))

    def undo(self) -> None:
        """Take all edits back."""
        for node, args, kwargs in self.before:
            if node.args != args or node.kwargs != kwargs:
                node.args, node.kwargs = args, kwargs
        for before, after in reversed(self.renamed):
            self.signature.replace_all_uses(after, before)
        for made in reversed(self.made):
            self.graph.erase_node(made)
