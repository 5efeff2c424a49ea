"""PTIR programs as records, which the serialised forms write and read, and their way to the dialect and back."""
