"""The class of op classes: `isinstance` as of plain classes, which takes half the time of that of abstract ones."""

from __future__ import annotations

from abc import ABCMeta


class OpClass(ABCMeta):
    """
    The class of our op classes.

    Ops of xDSL are abstract base classes, for which `isinstance` also looks for subclasses that were registered. Op classes have
    none, and passes ask it of every op many times.
    """

    __instancecheck__ = type.__instancecheck__
