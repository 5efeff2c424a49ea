"""Passes on the shape dialect."""
