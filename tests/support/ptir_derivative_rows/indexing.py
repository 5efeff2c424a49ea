"""Ops that move elements to and from computed places."""

from __future__ import annotations

from .base import Row

ROWS: list[Row] = []
