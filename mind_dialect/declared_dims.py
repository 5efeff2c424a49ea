"""
What a function declares of the sizes of its dimensions, in its attribute `mind.dims`:

    func.func @f(%x: tensor<?x4xf32, "T,*">) -> ... attributes {mind.dims = ["T in 1..1024", "T % 8 == 0"]}

Each text is a fact about names that dimensions of its arguments have. A call with sizes that break one is refused before anything
runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from .errors import MindError, brief, error
from .extents import Contradiction, Declaration, ExtentSyntaxError, Facts, TooLarge, parse_declaration, substituted_texts
from .extents.dims import dim_texts, is_expression, solutions

DECLARED = "mind.dims"
"""The attribute of a function, a list of texts."""


def declarations_of(func: FuncOp) -> tuple[Declaration, ...]:
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


def declared_facts(func: FuncOp) -> Facts:
    """Return the facts that a function declares; as `declarations_of`, and E8009 for one that contradicts those before it."""
    facts = Facts()
    for found in declarations_of(func):
        try:
            found.assume(facts, found.text)
        except Contradiction as e:
            message = f"{DECLARED}: {e}"
            raise error("E8009", message, claim=e.claim, declared=(*e.earlier, found.text)) from None
    return facts


def undeclarable(func: FuncOp) -> Iterator[MindError]:
    """Yield what is wrong with what a function declares: as `declared_facts`, and E8001 for names that no argument has."""
    try:
        declared_facts(func)
        declared = declarations_of(func)
    except MindError as e:
        yield e.at(func, func.name)
        return
    known = _argument_names(func)
    for found in declared:
        if missing := [name for name in found.names if name not in known]:
            message = f"{DECLARED} says {found.text!r}, and no argument has the dimension {missing[0]}"
            yield error("E8001", message, name=missing[0], extents=()).at(func, func.name)


def _argument_names(func: FuncOp) -> set[str]:
    """The names that dimensions of arguments give their sizes."""
    return names_given(func.function_type.inputs)


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
    """Let a function declare these texts, each once, beside its own; facts about numbers are checked and left out, E8010."""
    given = func.attributes.get(DECLARED)
    stated = dict.fromkeys([] if given is None else _texts(given))
    for text in texts:
        fact = _declaration(text)
        if fact.names:
            stated[text] = None
        elif not fact.holds({}):
            raise error("E8010", f"{DECLARED} says {text!r}, which is not so", declaration=text, sizes={})
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
            message = f"@{func.sym_name.data} declares {found.text!r}, given is {given}"
            raise error("E8010", message, declaration=found.text, sizes=dict(sizes)).at(func, func.name) from None


def keep_declarations(source: FuncOp, made: FuncOp) -> None:
    """Let a function that has the arguments of another declare what that does."""
    if (found := source.attributes.get(DECLARED)) is not None:
        made.attributes[DECLARED] = found


def broken(declared: tuple[Declaration, ...], sizes: Mapping[str, int]) -> Declaration | None:
    """Return the first declaration that sizes break; None if they have all."""
    return next((found for found in declared if not found.holds(sizes)), None)
