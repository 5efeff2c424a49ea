"""Normalisation, windows, sorting and what else models are made of."""

from __future__ import annotations

from .base import Row

ROWS: list[Row] = []
