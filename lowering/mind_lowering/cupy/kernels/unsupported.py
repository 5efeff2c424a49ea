"""What the generator of kernels says when a fusion is none that it makes a kernel of."""


class Unsupported(Exception):
    """The fusion runs as calls of array functions; the message says why. Never leaves this package."""
