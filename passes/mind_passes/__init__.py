"""Rewrite passes on the dialects: canonical form and autodiff."""
