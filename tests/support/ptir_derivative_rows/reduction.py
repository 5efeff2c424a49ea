"""Reductions and contractions."""

from __future__ import annotations

from .base import Row

ROWS: list[Row] = []
