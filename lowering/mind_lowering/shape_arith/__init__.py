"""Ranked shapes as straight-line arithmetic: an index per extent, a truth for what may be invalid."""
