"""Imports go one way, and the plug-in file of every xdsl-opt stays light."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "mind_dialect": (ROOT / "mind_dialect", set[str]()),
    "mind_passes": (ROOT / "passes/mind_passes", {"mind_dialect"}),
    "mind_lowering": (ROOT / "lowering/mind_lowering", {"mind_dialect", "mind_passes"}),
    "mind_runtime": (ROOT / "runtime/mind_runtime", {"mind_dialect", "mind_passes", "mind_lowering"}),
    "mind_translate": (ROOT / "translate/mind_translate", {"mind_dialect"}),
    "mind_array": (ROOT / "array/mind_array", {"mind_dialect", "mind_passes", "mind_lowering", "mind_runtime"}),
    "mind_bridges": (
        ROOT / "bridges/mind_bridges",
        {"mind_dialect", "mind_passes", "mind_lowering", "mind_runtime", "mind_translate"},
    ),
    "mind_tools": (
        ROOT / "tools/mind_tools",
        {"mind_dialect", "mind_passes", "mind_lowering", "mind_runtime", "mind_translate", "mind_array", "mind_bridges"},
    ),
}
"""Each package, where it lies, and which of ours it may import."""


def imported(file: Path, *, nested: bool = True) -> set[str]:
    """The top-level packages that a file imports absolutely; with `nested`, also inside functions."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    found = set[str]()
    for node in ast.walk(tree) if nested else tree.body:
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.partition(".")[0])
    return found


@pytest.mark.quick
@pytest.mark.parametrize("name", PACKAGES)
def test_direction(name: str):
    folder, allowed = PACKAGES[name]
    files = sorted(folder.rglob("*.py"))
    assert files
    for file in files:
        wrong = (imported(file) & PACKAGES.keys()) - allowed - {name}
        assert not wrong, f"{file.relative_to(ROOT)} imports {sorted(wrong)}"


@pytest.mark.quick
def test_the_dialect_needs_xdsl_only():
    for file in sorted(PACKAGES["mind_dialect"][0].rglob("*.py")):
        foreign = imported(file) - set(sys.stdlib_module_names) - {"xdsl", "typing_extensions", "mind_dialect"}
        assert not foreign, f"{file.relative_to(ROOT)} imports {sorted(foreign)}"


def imports_within(folder: Path) -> dict[str, set[str]]:
    """The modules of a package, and which of them each imports, inside of functions and for types alone too."""
    files = {
        ".".join(f.relative_to(folder.parent).with_suffix("").parts).removesuffix(".__init__"): f for f in folder.rglob("*.py")
    }
    found: dict[str, set[str]] = {}
    for name, file in files.items():
        package = name.split(".") if file.name == "__init__.py" else name.split(".")[:-1]
        targets: set[str] = set()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                targets |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                start = package[: len(package) - node.level + 1] if node.level else []
                module = ".".join([*start, *([node.module] if node.module else [])])
                targets |= {f"{module}.{a.name}" if f"{module}.{a.name}" in files else module for a in node.names}
        found[name] = (targets & files.keys()) - {name}
    return found


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The sets of modules that import one another: what is left when modules that nobody imports, or that import none, go."""
    left = {name: set(targets) for name, targets in graph.items()}
    while ends := [name for name in left if not left[name] or not any(name in targets for targets in left.values())]:
        for name in ends:
            del left[name]
        for targets in left.values():
            targets.difference_update(ends)
    return [sorted(left)] if left else []


def test_what_circles_are():
    assert circles({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]


@pytest.mark.parametrize("name", sorted(PACKAGES))
def test_modules_import_one_another_one_way(name: str):
    graph = imports_within(PACKAGES[name][0])
    assert sum(map(len, graph.values())) > len(graph) / 2, "the imports were found"
    assert circles(graph) == []


def floors(graph: dict[str, set[str]]) -> int:
    """The number of modules on the longest path of imports of a graph without circles."""
    left, count = {name: targets & graph.keys() for name, targets in graph.items()}, 0
    while left:
        ground = {name for name, targets in left.items() if not targets}
        assert ground, f"circles: {circles(graph)}"
        left, count = {name: targets - ground for name, targets in left.items() if name not in ground}, count + 1
    return count


def test_what_floors_are():
    assert floors({"a": {"b", "c", "elsewhere"}, "b": {"c"}, "c": set(), "d": {"c"}}) == 3


@pytest.mark.quick
def test_native_has_at_most_ten_floors():
    """Emission and planning stay apart: each imports a short chain of what is below it, and neither the other."""
    native = "mind_lowering.native."
    graph = imports_within(PACKAGES["mind_lowering"][0])
    assert floors({name: targets for name, targets in graph.items() if name.startswith(native)}) <= 10


def test_emitters_loaded_on_first_use_import_no_code_generation():
    from mind_lowering.native.codegen import EMIT

    native = "mind_lowering.native."
    graph = imports_within(PACKAGES["mind_lowering"][0])
    emitters = {native + name.rpartition(".")[0] for name in EMIT.values()}
    assert emitters <= graph.keys()
    graph[f"{native}codegen"] |= emitters
    assert circles(graph) == []


def test_the_plug_in_imports_nothing_heavy():
    file = PACKAGES["mind_tools"][0] / "universe.py"
    assert imported(file, nested=False) <= {"__future__", "collections", "functools", "importlib", "typing", "xdsl"}
    assert imported(PACKAGES["mind_tools"][0] / "__init__.py") <= {"__future__"}
    heavy = ["numpy", "cupy", "mind_dialect", "mind_passes", "mind_lowering", "mind_runtime", "mind_translate"]
    code = f"import sys, mind_tools.universe\nprint([m for m in {heavy} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout.strip() == "[]"


def test_the_runtime_loads_no_network_and_no_metadata():
    """What NumPy and xDSL load apart, of the standard library's slow packages."""
    heavy = ["email", "http", "importlib.metadata", "ssl", "urllib.request", "xml"]
    code = "import sys, numpy, xdsl.pattern_rewriter, xdsl.parser\nbefore = set(sys.modules)\nimport mind_runtime\n"
    code += f"print([m for m in {heavy} if m in sys.modules and m not in before])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout.strip() == "[]"


def test_a_native_program_from_disk_needs_no_lowering_and_a_static_one_no_shape_dialect():
    code = "import sys, mind_runtime.native.program\nprint([m in sys.modules for m in {}])"
    named = ["mind_lowering.native.program", "mind_dialect.shape", "xdsl.dialects.arith"]
    result = subprocess.run([sys.executable, "-c", code.format(named)], capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout.strip() == "[False, False, False]"


@pytest.mark.quick
def test_class_names_are_unique_within_the_passes():
    files = sorted(PACKAGES["mind_passes"][0].rglob("*.py"))
    names = [(node.name, file.name) for file in files for node in ast.parse(file.read_text(encoding="utf-8")).body
             if isinstance(node, ast.ClassDef)]  # fmt: skip
    found = Counter(name for name, _ in names)
    assert not [(name, file) for name, file in names if found[name] > 1]


@pytest.mark.quick
@pytest.mark.parametrize("name", PACKAGES)
def test_class_names_are_unique(name: str):
    """Ops are apart: they are called after what dialects call them, and dialects share names."""
    folder, _ = PACKAGES[name]
    found: dict[str, list[str]] = {}
    for file in sorted(folder.rglob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.endswith("Op"):
                found.setdefault(node.name, []).append(str(file.relative_to(folder)))
    assert found
    assert not {c: files for c, files in found.items() if len(files) > 1}
