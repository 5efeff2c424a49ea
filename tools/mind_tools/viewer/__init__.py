"""
One HTML file that shows a program: its text after each pass, its graph of ops, and its memory plan.

    from mind_tools.viewer import view
    view("loss.mlir", "autodiff,ptir-optimize").save("loss.html")

In a notebook the value itself is shown, in a frame of its own. `mind-view` is the same as a tool.
"""

from .view import View, view

__all__ = ["View", "view"]
