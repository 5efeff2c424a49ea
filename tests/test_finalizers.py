"""What runs when an object goes uses no name of its module: at the end of the interpreter these are None."""

from __future__ import annotations

import ast
import builtins
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("mind_dialect", "passes", "lowering", "runtime", "translate", "tools")


def global_names(function: ast.FunctionDef) -> set[str]:
    """The names that a function reads and does not assign."""
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    own = {a.arg for a in function.args.args} | {n.id for n in names if isinstance(n.ctx, ast.Store)}
    parts = [node for statement in function.body for node in ast.walk(statement)]
    read = {n.id for n in parts if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return read - own - set(dir(builtins))


def finalizers() -> list[tuple[str, ast.FunctionDef]]:
    """Every `__del__` of the packages, with its file."""
    found: list[tuple[str, ast.FunctionDef]] = []
    for file in sorted(p for folder in FOLDERS for p in (ROOT / folder).rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if "def __del__" in text:
            functions = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef))
            found += [(str(file.relative_to(ROOT)), node) for node in functions if node.name == "__del__"]
    return found


def test_finalizers_use_no_names_of_their_modules() -> None:
    assert finalizers()
    assert {file: global_names(function) for file, function in finalizers() if global_names(function)} == {}


def test_such_a_name_would_be_seen() -> None:
    (function,) = ast.parse("def __del__(self) -> None:\n    x = self.y\n    if x[_ARENA]:\n        int(x)").body
    assert isinstance(function, ast.FunctionDef)
    assert global_names(function) == {"_ARENA"}
