"""The version of the package, for code that runs from a checkout too."""

__version__ = "0.1.0"
