"""Lowered programs and arrays in, arrays out."""
