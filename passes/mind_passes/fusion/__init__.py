"""Fusion: which ops of PTIR make one kernel, and how fusions are formed, split, merged and changed."""
