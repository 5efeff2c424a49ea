"""Ops with regions."""

from __future__ import annotations

from .base import Row

ROWS: list[Row] = []
