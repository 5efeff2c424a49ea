"""The exception of the generator of kernels for a fusion that it makes no kernel of."""


class Unsupported(Exception):
    """The fusion runs as calls of array functions; the message says why. Never leaves this package."""
