"""The JSON form of PTIR programs: `print_ptir_json`, `parse_ptir_json`, and what the tools plug in."""

from .reader import parse_ptir_json, read_ptir_json
from .writer import PtirJsonTarget, print_ptir_json, render

__all__ = ["PtirJsonTarget", "parse_ptir_json", "print_ptir_json", "read_ptir_json", "render"]
