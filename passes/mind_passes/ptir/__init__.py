"""The optimiser of PTIR, one pass per file; `mind_lowering.ptir_optimize` runs them in their order."""
