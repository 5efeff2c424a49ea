"""Data classes that get their methods with their first instance are those of the standard library in all else."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
import sys
import threading
from dataclasses import FrozenInstanceError, field
from typing import Any

import pytest

from mind_dialect.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Place:
    """Has defaults of all kinds, and values that it computes."""

    name: str
    size: int = 4
    parts: list[int] = field(default_factory=list[int])
    total: int = field(init=False, default=7)
    note: str = field(default="", compare=False, repr=False)
    hint: str = field(default="", hash=False)
    unit: str = field(default="byte", kw_only=True)
    needed: int = field(kw_only=True)


@dataclass
class Base:
    x: int
    seen: list[str] = field(init=False, default_factory=list[str])

    def __post_init__(self) -> None:
        self.seen.append(type(self).__name__)


@dataclass
class Derived(Base):
    y: int = 2


class Plain(Derived):
    """Is no data class, and calls the initializer of its base."""

    def __init__(self, x: int):
        super().__init__(x, y=3)


@dataclass(frozen=True)
class One:
    x: Any


@dataclass(frozen=True)
class Empty:
    pass


@dataclass(eq=False)
class ByIdentity:
    x: int = 0


def standard(cls: type) -> Any:
    """Return the class of the same fields that the decorator of the standard library makes."""
    own = [(f.name, f.type, f) for f in dataclasses.fields(cls)]
    copies = [
        (
            name,
            t,
            field(
                **{
                    k: getattr(f, k)
                    for k in ("default", "default_factory", "init", "repr", "hash", "compare", "kw_only")
                    if getattr(f, k) is not dataclasses.MISSING
                }
            ),
        )
        for name, t, f in own
    ]
    return dataclasses.make_dataclass(cls.__name__, copies, frozen=vars(cls)["__dataclass_params__"].frozen)


def test_signatures_are_those_of_the_standard_library():
    for cls in (Place, Base, Derived):
        ours, theirs = (inspect.signature(c.__init__).parameters.values() for c in (cls, standard(cls)))
        assert [(p.name, p.kind) for p in ours] == [(p.name, p.kind) for p in theirs]
        assert [p.default is p.empty for p in ours] == [p.default is p.empty for p in theirs]


def test_comparisons_hashes_and_texts_are_those_of_the_standard_library():
    both: list[Any] = [Place, standard(Place)]
    for given in ({}, {"size": 9}, {"note": "x"}, {"hint": "x"}, {"unit": "bit"}, {"parts": (1, 2)}):
        ours, other = (cls("a", **{"parts": (), "needed": 1, **given}) for cls in both)
        assert repr(ours) == repr(other)
        assert hash(ours) == hash(other)
        plain = [cls("a", parts=(), needed=1) for cls in both]
        assert (ours == plain[0]) == (other == plain[1])
        assert ours != other
    nan = float("nan")
    assert One(nan) == One(nan)  # the same object, as in a tuple
    assert One(1) != 1
    assert hash(One(1)) == hash((1,))
    with pytest.raises(TypeError, match="unhashable"):
        hash(Base(1))
    assert Empty() == Empty()
    recursive = Base(1)
    recursive.x = recursive  # pyright: ignore[reportAttributeAccessIssue]
    assert repr(recursive) == "Base(x=..., seen=['Base'])"


def test_plain_subclasses_of_frozen_classes_have_attributes_of_their_own():
    class More(One):
        pass

    more: Any = More(1)
    more.other = 2
    del more.other
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        more.x = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del more.x


def test_methods_that_a_class_has_stay():
    @dataclass(frozen=True)
    class New:
        x: int

        def __hash__(self) -> int:
            return 7

        def __repr__(self) -> str:
            return "new"

    assert (hash(New(1)), repr(New(1)), New(1) == New(1)) == (7, "new", True)


def test_instances_have_fields_comparisons_and_a_text():
    a, b = Place("a", needed=1), Place("a", needed=1, note="not compared")
    assert a == b
    assert a != Place("b", needed=1)
    assert a.parts is not b.parts
    assert repr(a) == "Place(name='a', size=4, parts=[], total=7, hint='', unit='byte', needed=1)"
    assert dataclasses.replace(a, size=5) == Place("a", 5, needed=1)
    assert pickle.loads(pickle.dumps(a)) == a
    with pytest.raises(FrozenInstanceError):
        a.size = 3  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(TypeError, match="needed"):
        Place("a")  # pyright: ignore[reportCallIssue]
    assert ByIdentity() != ByIdentity()
    assert len({ByIdentity(), ByIdentity()}) == 2


def test_subclasses_complete_their_bases_and_may_have_their_own_initializer():
    assert Derived(1).seen == ["Derived"]
    assert vars(Plain(1)) == {"x": 1, "seen": ["Plain"], "y": 3}
    assert Derived(1) == Derived(1, 2) != Derived(1, 3)
    assert [f.name for f in dataclasses.fields(Derived)] == ["x", "seen", "y"]


def test_decorators_of_both_kinds_may_be_mixed():
    @dataclass
    class Ours:
        x: int

    @dataclasses.dataclass
    class Theirs(Ours):
        y: int

    @dataclass
    class Last(Theirs):
        z: int

    assert vars(Last(1, 2, 3)) == {"x": 1, "y": 2, "z": 3}
    assert Ours(1) == Ours(1)


def test_the_methods_wait_for_the_first_instance():
    @dataclass(frozen=True)
    class New:
        x: int

    assert "__dataclass_params__" not in vars(New)
    assert hash(New(1)) == hash(New(1))
    assert "__dataclass_params__" in vars(New)


def test_the_fields_are_there_when_they_are_asked_for():
    @dataclass
    class New:
        x: int = 3

    class Sub(New):
        pass

    assert dataclasses.is_dataclass(New)
    assert [f.name for f in dataclasses.fields(Sub)] == ["x"]
    assert vars(Sub()) == {"x": 3}


def test_threads_make_first_instances_at_the_same_time():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(50):

            @dataclass(frozen=True)
            class New:
                x: int
                y: int = 2

            ready, made = threading.Barrier(4), list[New]()

            def run(cls: type[New] = New, ready: threading.Barrier = ready, made: list[New] = made) -> None:
                ready.wait()
                made.append(cls(1))

            threads = [threading.Thread(target=run) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(made) == 4
            assert len(set(made)) == 1
    finally:
        sys.setswitchinterval(before)
