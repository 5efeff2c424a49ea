"""
Declarations about the sizes of dimensions, in the attribute `mind.dims` of a function:

    func.func @f(%x: tensor<?x4xf32, "T,*">) -> ... attributes {mind.dims = ["T in 1..1024", "T % 8 == 0"]}

Each text is a fact about names that dimensions of its arguments have. A call with sizes that break one is refused before anything
runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import cast
from weakref import WeakKeyDictionary

from xdsl.dialects.builtin import ArrayAttr, FunctionType, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from .errors import MindError, brief, error
from .extents import (
    Contradiction,
    Declaration,
    Extent,
    ExtentSyntaxError,
    Facts,
    TooLarge,
    parse_declaration,
    parse_extent,
    substituted_texts,
)
from .extents.dims import dim_texts, is_expression
from .extents.solutions import solutions

DECLARED = "mind.dims"
"""The attribute of a function, a list of texts."""


def declarations_of(func: Operation) -> tuple[Declaration, ...]:
    """Return what a function declares; E4000 for an attribute that is no list of facts, which names the text and the column."""
    given = func.attributes.get(DECLARED)
    return () if given is None else tuple([_declaration(text) for text in _texts(given)])


def _texts(given: Attribute) -> list[str]:
    """Return the texts of the attribute; E4000 for another one."""
    found = cast("ArrayAttr[Attribute]", given).data if isinstance(given, ArrayAttr) else ()
    texts = [text.data for text in found if isinstance(text, StringAttr)]
    if not texts or len(texts) != len(found):
        shown, expected = brief(cast(Attribute, given)), 'a list of texts such as "T in 1..1024"'
        raise error("E4000", f"{DECLARED} is {shown}, expected {expected}", given=shown, expected=expected)
    return texts


def _declaration(text: str) -> Declaration:
    try:
        return parse_declaration(text)
    except (ExtentSyntaxError, TooLarge) as e:
        expected = "a range, a relation or a remainder of sizes"
        raise error("E4000", f"{DECLARED} says {brief(text)}: {e}", given=brief(text), expected=expected) from None


MAX_IMPLIED = 64
"""Of so many expressions that are dimensions of arguments it is known that they are at least 0; more would take longer."""
NO_FACTS = Facts()
_Cache = WeakKeyDictionary[Operation, tuple[Attribute | None, Attribute | None, Facts]]
_FACTS: tuple[_Cache, _Cache] = WeakKeyDictionary(), WeakKeyDictionary()
"""By whether declarations count."""


def function_facts(func: Operation, declared: bool = True) -> Facts:
    """
    Return what holds of sizes throughout a function: what it declares, and that dimensions of arguments are at least 0.

    A call that breaks it is refused before anything runs. The store is made once for a function and is not to be changed; `copy`
    it. What is contradictory or malformed, which the verifier reports, gives no facts. Without `declared`, types alone count.
    """
    stated = func.attributes.get(DECLARED) if declared else None
    type, cache = func.properties.get("function_type"), _FACTS[declared]
    if (known := cache.get(func)) is not None and known[0] is stated and known[1] is type:
        return known[2]
    try:
        facts = _facts(stated, argument_types(func))
    except MindError:
        facts = NO_FACTS
    cache[func] = stated, type, facts
    return facts


def facts_around(op: Operation, declared: bool = True) -> Facts:
    """Return what holds of sizes throughout the function that an op is in; `declared` as of `function_facts`."""
    outer = op
    while (above := outer.parent_op()) is not None and "function_type" not in outer.properties:
        outer = above
    return function_facts(outer, declared)


def _facts(declared: Attribute | None, arguments: Iterable[Attribute]) -> Facts:
    """Assume what a list of texts declares, then what types of arguments imply; E8009 for what contradicts that before it."""
    texts = () if declared is None else _texts(declared)
    implied = _implied(arguments)
    if not texts and not implied:
        return NO_FACTS
    facts = Facts()
    for text in texts:
        fact = _declaration(text)
        _assumed(facts, fact.assume, text)
    for dim, source in implied.items():
        _assumed(facts, lambda f, s, e=dim: f.assume_ge(e, 0, s), source)
    return facts


def _implied(arguments: Iterable[Attribute]) -> dict[Extent, str]:
    """Return the expressions that are dimensions of arguments and might be below 0, with the first argument that has each."""
    found: dict[Extent, str] = {}
    for i, type in enumerate(arguments):
        if not isinstance(type, TensorType) or not isinstance(type.encoding, StringAttr):
            continue
        for axis, dim in enumerate(dim_texts(type.encoding.data)):
            if dim == "*" or not is_expression(dim):
                continue
            try:
                e = parse_extent(dim)
            except (ExtentSyntaxError, TooLarge):  # which is reported of the type
                continue
            if not e.is_nonnegative and len(found) < MAX_IMPLIED:
                found.setdefault(e, f"{dim} as dimension {axis} of argument {i}")
    return found


def _assumed(facts: Facts, assume: Callable[[Facts, str], None], source: str) -> None:
    try:
        assume(facts, source)
    except Contradiction as e:
        raise error("E8009", f"{DECLARED}: {e}", claim=e.claim, declared=(*e.earlier, source)) from None


def undeclarable(func: Operation) -> Iterator[MindError]:
    """
    Yield what is wrong with what a function declares.

    E4000 for an attribute that is no list of facts, which names the text and the column, E8009 for facts that contradict each
    other or the arguments' types, E8001 for names that no argument has.
    """
    inputs = argument_types(func)
    try:
        _facts(func.attributes.get(DECLARED), inputs)
        declared = declarations_of(func)
    except MindError as e:
        yield e.at(func, func.name)
        return
    known = names_given(inputs)
    for found in declared:
        if missing := [name for name in found.names if name not in known]:
            message = f"{DECLARED} says {found.text!r}, and no argument has the dimension {missing[0]}"
            yield error("E8001", message, name=missing[0], extents=()).at(func, func.name)


def argument_types(func: Operation) -> tuple[Attribute, ...]:
    """The types of the arguments of a function of any dialect."""
    type = func.properties.get("function_type")
    return type.inputs.data if isinstance(type, FunctionType) else ()


def names_given(types: Iterable[Attribute]) -> set[str]:
    """The names that are dimensions of tensors by themselves, or that expressions among these are solved for."""
    tensors = [cast("TensorType[Attribute]", t) for t in types if isinstance(t, TensorType)]
    shapes = [dim_texts(t.encoding.data) for t in tensors if isinstance(t.encoding, StringAttr)]
    found = {dim for dims in shapes for dim in dims if dim != "*" and not is_expression(dim)}
    try:
        return {*found, *(s.name for s in solutions([[d for d in dims if d != "*"] for dims in shapes]))}
    except (ExtentSyntaxError, TooLarge):  # which is reported of the type
        return found


def state_declarations(func: FuncOp, texts: Iterable[str]) -> None:
    """Add these declarations to those of a function, each once; facts about numbers are checked and left out, E8010."""
    given = func.attributes.get(DECLARED)
    stated = dict.fromkeys([] if given is None else _texts(given))
    for text in texts:
        fact = _declaration(text)
        if fact.names:
            stated[text] = None
        elif not fact.holds({}):
            raise error("E8010", f"{DECLARED} says {text!r}, which is false", declaration=text, sizes={})
    if stated:
        func.attributes[DECLARED] = ArrayAttr([StringAttr(text) for text in stated])


def bind_declarations(func: FuncOp, sizes: Mapping[str, int | str]) -> None:
    """Put sizes or expressions in the place of names in what a function declares, in place; E8010 for what they break."""
    declared = declarations_of(func)
    func.attributes.pop(DECLARED, None)
    for found in declared:
        try:
            state_declarations(func, substituted_texts(found.text, sizes))
        except MindError as e:
            if e.code != "E8010":
                raise
            given = ", ".join(f"{name} = {sizes[name]}" for name in found.names if name in sizes)
            message = f"@{func.sym_name.data} declares {found.text!r}, found {given}"
            raise error("E8010", message, declaration=found.text, sizes=dict(sizes)).at(func, func.name) from None


def keep_declarations(source: Operation, made: Operation) -> None:
    """Let a function that has the arguments of another declare what that does."""
    if (found := source.attributes.get(DECLARED)) is not None:
        made.attributes[DECLARED] = found


def broken(declared: tuple[Declaration, ...], sizes: Mapping[str, int]) -> Declaration | None:
    """Return the first declaration that sizes break; None if they have all."""
    return next((found for found in declared if not found.holds(sizes)), None)
