"""The page of mind-view without a browser: its parts, what its data says of a program, and that no text of a program is code."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, OpResult

from mind_dialect.program import functions
from mind_tools.frontends import parse
from mind_tools.memory_report import buffer_plan
from mind_tools.viewer import view
from mind_tools.viewer.page import SCRIPTS, static
from tool_runs import mind_opt, mind_view

ROOT = Path(__file__).parents[2]
LOSS = ROOT / "tests" / "filecheck" / "examples" / "readme.mlir"
PASSES = ("--autodiff", "--lower-to-native", "--convert-ptir-to-launch")
BRANCH = """
func.func @f(%p: tensor<i1>, %x: tensor<3xf32>) -> tensor<3xf32> {
  %y = ptir.cond %p, %x : (tensor<i1>, tensor<3xf32>) -> tensor<3xf32> true {
  ^bb0(%a: tensor<3xf32>):
    %0 = ptir.exp %a : tensor<3xf32>
    ptir.yield %0 : tensor<3xf32>
  } false {
  ^bb0(%b: tensor<3xf32>):
    ptir.yield %b : tensor<3xf32>
  }
  func.return %y : tensor<3xf32>
}
"""


class Parts(HTMLParser):
    """The elements of a page, and the text of those with an id or that are scripts."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.title = ""
        self.policy = ""
        self._open = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self._open = tag
        if tag in ("script", "style"):
            self.scripts.append((dict(attrs) | {"tag": tag}, ""))
        if dict(attrs).get("http-equiv") == "Content-Security-Policy":
            self.policy = dict(attrs)["content"] or ""

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open in ("script", "style"):
            about, text = self.scripts[-1]
            self.scripts[-1] = about, text + data
        if self._open == "title" and "body" not in self.tags:
            self.title += data

    @property
    def data(self) -> Any:
        """What the page's data holds."""
        (text,) = [text for about, text in self.scripts if about.get("id") == "data"]
        return json.loads(text)


def texts(data: Any) -> list[list[str]]:
    """The lines of each step, put together as the page does."""
    every: list[list[str]] = []
    for step in data["steps"]:
        before, lines, old, fresh = every[-1] if every else [], list[str](), 0, iter(step.get("lines", []))
        for kind, removed, added in step.get("runs", [[0, len(before), len(before)]]):
            lines += before[old : old + removed] if kind == 0 else [next(fresh) for _ in range(added)]
            old += removed
        assert old == len(before)
        assert next(fresh, None) is None
        every.append(lines)
    return every


def write(tmp_path: Path, program: str | Path, *arguments: str) -> str:
    """The page that the tool writes."""
    file = program if isinstance(program, Path) else tmp_path / "program.mlir"
    if not isinstance(program, Path):
        file.write_text(program, encoding="utf-8")
    out = tmp_path / "out.html"
    result = mind_view(file, *arguments, "-o", out)
    assert (result.status, result.err) == (0, ""), result.err
    return out.read_text(encoding="utf-8")


def test_each_step_is_what_mind_opt_prints_there(tmp_path: Path) -> None:
    data = Parts(write(tmp_path, LOSS, *PASSES)).data
    printed = mind_opt(LOSS, *PASSES, "--print-ir-after-all").err
    dumps = re.split(r"// -----// IR Dump After (.*) //----- //\n", printed)[1:]
    expected = {name: text.rstrip("\n").split("\n") for name, text in zip(dumps[::2], dumps[1::2], strict=True)}
    found = texts(data)
    names = [step["name"].rpartition(": ")[2] for step in data["steps"]]
    assert names == ["as it is read", *(name for name in expected if name != "mind-lower-to-native")]
    for name, lines in zip(names[1:], found[1:], strict=True):
        assert lines == expected[name], name
    assert found[0] == mind_opt(LOSS).out.rstrip("\n").split("\n")


def _rows(module: ModuleOp) -> list[list[Any]]:
    """What the columns must be: for each op its name, operands as printed types, and types of results."""
    return [[op.name, [str(v.type) for v in op.operands], [str(v.type) for v in op.results]] for op in module.walk()][1:]


@pytest.mark.parametrize("passes", [(), PASSES[:1], PASSES[:2]])
def test_the_columns_are_the_ops_of_the_program(tmp_path: Path, passes: tuple[str, ...]) -> None:
    data = Parts(write(tmp_path, LOSS, *passes)).data
    strings, step = data["strings"], data["steps"][-1]
    step = next(s for s in reversed(data["steps"]) if "op" in s) if "op" not in step else step
    module = parse(mind_opt(LOSS, *passes).out)
    rows: list[list[Any]] = []
    for row, name in enumerate(step["op"]):
        if strings[name] != "arguments":
            uses = step["uses"][row]
            operands = [strings[step["types"][a][i]] for a, i in zip(uses[::2], uses[1::2], strict=True)]
            rows.append([strings[name], operands, [strings[t] for t in step["types"][row]]])
    assert rows == _rows(module)
    depth = {-1: 0}
    for row, parent in enumerate(step["parent"]):
        assert parent < row
        depth[row] = depth[parent] + 1
    assert max(depth.values()) == max(_depth(op) for op in module.walk())


def _depth(op: Any) -> int:
    return 0 if op.parent_op() is None else 1 + _depth(op.parent_op())


def test_operands_refer_to_what_defines_them(tmp_path: Path) -> None:
    """By the names that the text gives them."""
    data = Parts(write(tmp_path, LOSS, "--autodiff")).data
    (lines, step) = texts(data)[-1], data["steps"][-1]
    for row, uses in enumerate(step["uses"]):
        if uses:
            text = lines[step["line"][row]]
            named = re.findall(r"%\w+", text.partition(" = ")[2] or text)
            found = [step["values"][a].split(" ")[i] for a, i in zip(uses[::2], uses[1::2], strict=True)]
            assert found == named, text


def test_regions_of_an_op_are_boxes_of_their_own(tmp_path: Path) -> None:
    data = Parts(write(tmp_path, BRANCH, "--lenient")).data
    step, strings = data["steps"][0], data["strings"]
    names = [strings[i] for i in step["op"]]
    branch = names.index("ptir.cond")
    regions = [i for i, parent in enumerate(step["parent"]) if parent == branch]
    assert [names[i] for i in regions] == ["region 1 of 2", "region 2 of 2"]
    assert [[names[i] for i, p in enumerate(step["parent"]) if p == r] for r in regions] == [
        ["arguments", "ptir.exp", "ptir.yield"],
        ["arguments", "ptir.yield"],
    ]


def test_an_op_that_is_not_printed_is_where_its_parent_is(tmp_path: Path) -> None:
    """A terminator without operands, which `shape.assuming` leaves out."""
    program = """
func.func @f(%w: !shape.witness) {
  shape.assuming %w {
  }
  func.return
}"""
    data = Parts(write(tmp_path, program)).data
    names, step = [data["strings"][i] for i in data["steps"][0]["op"]], data["steps"][0]
    outer, inner = names.index("shape.assuming"), names.index("shape.assuming_yield")
    assert step["parent"][inner] == outer
    assert step["line"][inner] == step["line"][outer]


def test_derivatives_and_kernels_are_told_by_location(tmp_path: Path) -> None:
    data = Parts(write(tmp_path, LOSS, *PASSES)).data
    strings, step = data["strings"], data["steps"][1]
    functions_of = {int(row): name for row, name in step["symbol"].items()}
    assert list(functions_of.values()) == ["@loss", "@loss_grad"]
    (grad,) = [row for row, name in functions_of.items() if name == "@loss_grad"]
    assert step["gradient"] == {str(grad): "gradient of @loss with respect to x, w"}
    assert step["primal"]
    for row, primal in step["primal"].items():
        assert step["function"][int(row)] == grad
        assert functions_of[step["function"][primal]] == "@loss"
        assert strings[step["location"][int(row)]] == strings[step["location"][primal]] != ""
    became = {(strings[f], strings[place].rpartition("readme.mlir:")[2]): strings[k] for f, place, k in data["kernels"]["became"]}
    assert data["steps"][data["kernels"]["step"]]["name"] == "mind-convert-ptir-to-launch"
    whole = "launch.kernel @broadcast_to_mul_exp_reduce_mul_mul"
    assert became["@loss_grad", "9:8"] == whole
    assert became["@loss_grad", "8:8"] == f"{whole}, launch.kernel @reduce"
    assert became["@loss", "9:8"] == "launch.kernel @broadcast_to_mul_exp_reduce"


def test_a_kernel_without_a_body_is_that_of_all_its_locations(tmp_path: Path) -> None:
    """Native launches have no bodies: a kernel has the locations of the ops that it computes."""
    data = Parts(write(tmp_path, LOSS, "--lower-to-native=isa=avx2 launches=true")).data
    strings, last = data["strings"], data["steps"][-1]
    (kernel,) = [row for row, name in enumerate(last["op"]) if strings[name] == "launch.kernel"]
    places = [strings[place].rpartition("readme.mlir:")[2] for place in last["origins"][str(kernel)]]
    assert places == ["8:8", "9:8", "10:8"]
    became = {strings[place].rpartition("readme.mlir:")[2]: strings[k] for _, place, k in data["kernels"]["became"]}
    (symbol,) = set(became.values())
    assert symbol.startswith("launch.kernel @")
    assert list(became) == places


def test_without_kernels_none_is_claimed(tmp_path: Path) -> None:
    data = Parts(write(tmp_path, LOSS)).data
    assert data["kernels"] == {"step": -1, "became": []}
    assert all(data["strings"][k] == "" for k in data["steps"][0]["kernel"])


def test_the_memory_plan_is_that_of_mind_run(tmp_path: Path) -> None:
    text = write(tmp_path, LOSS, "--autodiff", "--function", "loss_grad")
    module = parse(mind_opt(LOSS, "--autodiff").out)
    (func,) = [f for f in functions(module) if f.sym_name.data == "loss_grad"]
    picture = buffer_plan(func, {}).svg()
    (shown,) = re.findall(r"<svg xmlns.*?</svg>\n", text, re.DOTALL)
    rectangle = re.compile(r"<rect [^>]*>")
    assert rectangle.findall(shown) == rectangle.findall(picture)
    assert "<td>1</td>" in text, "values have the names of the text"
    assert "of the program after mind-autodiff</small>" in text


@pytest.mark.parametrize(
    ("rows", "said"), [("tensor<8x64xf32>", "native kernels"), ('tensor<?x64xf32, "B,*">', "compiled for their sizes")]
)
def test_the_plan_of_an_executor_is_its_arena(tmp_path: Path, rows: str, said: str) -> None:
    """With sizes or without, which come from the command line then."""
    pytest.importorskip("llvmlite")
    square = "tensor<64x64xf32>"
    dot = f"batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [0] : ({rows}, {square}) -> {rows}"
    program = f"""
func.func @f(%x: {rows}, %w: {square}) -> {rows} {{
  %0 = ptir.dot_general %x, %w {dot}
  %1 = ptir.sort %0 axis = 0 descending = false : {rows}
  %2 = ptir.dot_general %1, %w {dot}
  func.return %2 : {rows}
}}"""
    text = write(tmp_path, program, "--lenient", "--executor", "native", "--size", "B=8")
    assert "@f on native: " in text
    assert said in text
    assert f"<td>{8 * 64 * 4:,}</td>" in text


def test_a_program_without_a_plan_says_why(tmp_path: Path) -> None:
    text = "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n  func.return %x : tensor<2xf32>\n}"
    assert "nothing but inputs, constants and results" in write(tmp_path, text)
    assert "no memory to plan" in write(
        tmp_path, "func.func @f(%x: i32) -> i32 {\n  %0 = arith.addi %x, %x : i32\n  func.return %0 : i32\n}"
    )


HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    "'\"`${alert(1)}",
    "\\u2028\\u2029]]>--><!--<script>",
    "&lt;b&gt;",
)


@pytest.mark.parametrize("name", HOSTILE)
def test_text_of_a_program_is_no_code(tmp_path: Path, name: str) -> None:
    """As a symbol, an attribute and a location; U+2028 and U+2029 as themselves."""
    raw = name.encode().decode("unicode_escape") if "\\u" in name else name
    quoted = json.dumps(raw, ensure_ascii=False)
    program = f"""
func.func @{quoted}(%x: tensor<4xf32> {{mind.name = {quoted}}}) -> tensor<4xf32> attributes {{a.b = {quoted}}} {{
  %h = mind.exp %x : tensor<4xf32> loc({quoted}({quoted}:1:2))
  %0 = mind.exp %h : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}}"""
    plain = Parts(write(tmp_path, program.replace(quoted, '"f"')))
    parts = Parts(write(tmp_path, program))
    assert parts.tags == plain.tags
    assert not [key for key, _ in parts.attributes if key.startswith("on") or key in ("src", "href")]
    (text,) = [text for about, text in parts.scripts if about.get("id") == "data"]
    assert not set("<>&\u2028\u2029") & set(text)
    assert any(raw in held for held in parts.data["strings"]), "the location, as it is"
    assert [s for s in parts.scripts if s[0].get("id") != "data"] == [s for s in plain.scripts if s[0].get("id") != "data"]


def test_the_name_of_a_file_is_no_code(tmp_path: Path) -> None:
    file = tmp_path / "<b>&amp;$title'.mlir"
    file.write_bytes(LOSS.read_bytes())
    parts = Parts(write(tmp_path, file))
    assert parts.title == f"{file} - mind-view"
    assert "b" not in parts.tags


def test_the_page_asks_for_nothing_and_allows_its_own_scripts_only(tmp_path: Path) -> None:
    parts = Parts(write(tmp_path, LOSS))
    assert not [key for key, _ in parts.attributes if key in ("src", "href", "srcset", "style")]
    run = [text for about, text in parts.scripts if about["tag"] == "style" or "type" not in about]
    hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in run]
    style, *scripts = hashes
    assert parts.policy == f"default-src 'none'; script-src {' '.join(scripts)} blob:; style-src {style}; worker-src blob:"


@pytest.mark.parametrize("name", SCRIPTS)
def test_our_scripts_make_elements_of_text_only(name: str) -> None:
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|setHTML", static(name))


def test_the_layout_library_is_there_with_its_licence() -> None:
    static = ROOT / "tools" / "mind_tools" / "viewer" / "static"
    for name in ("elk-api.js", "elk-worker.min.js"):
        text = (static / name).read_text(encoding="utf-8").lower()
        assert "</script" not in text
        assert "<!--" not in text
    assert (static / "elkjs-LICENSE.md").read_text(encoding="utf-8").startswith("# Eclipse Public License - v 2.0")
    (version,) = re.findall(r"^ELKJS = (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert f"elkjs) {version}," in (static / "README.md").read_text(encoding="utf-8")


def test_the_bytes_do_not_depend_on_the_process(tmp_path: Path) -> None:
    pages: set[bytes] = set()
    for seed in ("0", "12345"):
        command = [sys.executable, "-m", "mind_tools", "view", LOSS, "--autodiff", "--ptir-optimize", "-o", "-"]
        environment = os.environ | {"PYTHONHASHSEED": seed}
        pages.add(subprocess.run(command, env=environment, capture_output=True, check=True, cwd=tmp_path).stdout)
    assert len(pages) == 1
    assert pages.pop().startswith(b"<!doctype html>")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((LOSS, "--no-such-pass"), "E7001"),
        ((LOSS, "-p", "no-such-pass"), "E7003"),
        ((LOSS, "-t", "numpy"), "E7001"),
        ((LOSS, "--split-input-file"), "E7001"),
        ((LOSS, "--size", "B"), "E7001"),
        ((LOSS, "--function", "nothing"), "E7003"),
        ((LOSS, "--executor", "nothing"), "E6002"),
        (("missing.mlir",), "E7002"),
        (("program.unknown",), "E7002"),
        (("-",), "E7001"),
    ],
)
def test_what_cannot_be_shown_has_a_code(arguments: tuple[Any, ...], code: str, tmp_path: Path) -> None:
    out = tmp_path / "out.html"
    given = (*arguments, "-o", out) if arguments != ("-",) else arguments
    result = mind_view(*given)
    assert (result.status, result.out) == (1, "")
    assert result.err.startswith(f"error[{code}]"), result.err
    assert not out.exists()


def test_an_invalid_program_has_the_error_of_mind_opt(tmp_path: Path) -> None:
    file, out = tmp_path / "bad.mlir", tmp_path / "out.html"
    file.write_text("func.func @f(%x: tensor<2xf32>) -> tensor<3xf32> {\n  func.return %x : tensor<2xf32>\n}")
    assert mind_view(file, "-o", out).err == mind_opt(file).err != ""
    assert not out.exists()


def test_the_input_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "page.html").write_bytes(LOSS.read_bytes())
    result = mind_view("page.html", "-f", "mlir")
    assert result.err.startswith("error[E7001]")
    assert (tmp_path / "page.html").read_bytes() == LOSS.read_bytes()


def test_the_default_is_a_file_beside_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = mind_view(ROOT / "examples" / "mlp.coreir", "--canonicalize")
    assert (result.status, result.err) == (0, "")
    assert re.fullmatch(r"mlp\.html: 3 steps, \d+ ops at the end\n", result.out)
    data = Parts((tmp_path / "mlp.html").read_text(encoding="utf-8")).data
    assert [step["name"] for step in data["steps"]] == ["as it is read", "canonicalize", "mind-canonicalize"]


def test_long_constants_have_no_numbers_unless_asked_for(tmp_path: Path) -> None:
    numbers = ", ".join(f"{i}.5" for i in range(100))
    program = f"""func.func @f() -> tensor<100xf32> {{
  %0 = arith.constant dense<[{numbers}]> : tensor<100xf32>
  func.return %0 : tensor<100xf32>
}}"""
    elided, whole = (
        texts(Parts(write(tmp_path, program, *more)).data)[0] for more in ((), ("--elide-elementsattrs-if-larger=100",))
    )
    assert "__elided__" in elided[2]
    assert "98.5" not in elided[2]
    assert "98.5" in whole[2] or "9.850000e+01" in whole[2]


def test_in_python_and_in_notebooks() -> None:
    module = parse(LOSS.read_text(encoding="utf-8"))
    before = str(module)
    found = view(module, "autodiff,ptir-optimize")
    assert str(module) == before
    assert found.steps == ("as it is read", "mind-autodiff", "mind-ptir-optimize")
    shown = found._repr_html_()
    frame = Parts(shown)
    assert frame.tags == ["iframe"]
    assert dict(frame.attributes)["sandbox"] == "allow-scripts"
    assert dict(frame.attributes)["srcdoc"] == found.html
    assert view(LOSS).steps == ("as it is read",)


def test_every_value_is_defined_by_a_row(tmp_path: Path) -> None:
    """Arguments of blocks by the row of their block, results by that of their op."""
    step = Parts(write(tmp_path, BRANCH, "--lenient")).data["steps"][0]
    module = parse(BRANCH, lenient=True)
    values = [v for op in module.walk() for v in op.operands]
    assert sum(len(uses) for uses in step["uses"]) == 2 * len(values)
    assert {type(v) for v in values} == {BlockArgument, OpResult}


def event(**changed: Any) -> dict[str, Any]:
    """A measured step of a trace."""
    place = f"{LOSS}:9:8"
    return {"name": "xp.exp", "dur": 2.5, "args": {"bytes": 48, "locations": [place]}} | changed


def traced(path: Path, *events: Any, **other: Any) -> Path:
    """A trace in a file."""
    about = {"function": "loss", "machine": "NumPy"} | other
    path.write_text(json.dumps({"traceEvents": events, "otherData": about}))
    return path


def test_a_profile_is_data_of_the_page(tmp_path: Path) -> None:
    page = view(LOSS, profile=traced(tmp_path / "t.json", event(name="</script>")))
    data = json.loads(next(text for about, text in Parts(page.html).scripts if about.get("id") == "data"))
    assert data["profile"]["function"] == "@loss"
    ((name, time, size, places),) = data["profile"]["steps"]
    assert (name, time, size) == ("</script>", 2.5, 48)
    assert [data["strings"][i] for i in places] == [f"{LOSS}:9:8"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "[" * 100_000,
        json.dumps({"traceEvents": [], "otherData": {}}),
        json.dumps({"traceEvents": 3, "otherData": {"function": "f", "machine": "m"}}),
        *(
            json.dumps({"traceEvents": [event(**changed)], "otherData": {"function": "f", "machine": "m"}})
            for changed in (
                *({"dur": "1"}, {"dur": -1}, {"dur": float("nan")}, {"dur": True}, {"args": {}}, {"name": 3}),
                {"args": {"bytes": 1, "locations": [3]}},
            )
        ),
    ],
)
def test_what_is_no_trace_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(text)
    result = mind_view(LOSS, "--profile", tmp_path / "t.json", "-o", tmp_path / "out.html")
    assert result.status == 1
    assert f"error[E7002]: {tmp_path / 't.json'}: expected a trace of mind-run --trace, found " in result.err
    assert not (tmp_path / "out.html").exists()


def test_a_profile_of_another_program_or_of_no_file_is_refused(tmp_path: Path) -> None:
    other = traced(tmp_path / "t.json", event(args={"bytes": 0, "locations": ["other.mlir:1:2"]}))
    result = mind_view(LOSS, "--profile", other, "-o", "-")
    assert result.status == 1
    assert "error[E7001]" in result.err
    assert "such as 'other.mlir:1:2', belong to no op here" in result.err
    result = mind_view(LOSS, "--profile", tmp_path / "none.json", "-o", "-")
    assert f"error[E7002]: {tmp_path / 'none.json'}: No such file or directory" in result.err
