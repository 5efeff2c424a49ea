"""The same networks written by hand in NumPy and in PyTorch: what the programs must agree with, and are timed beside."""
