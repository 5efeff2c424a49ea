"""
Mutation testing: small changes of chosen modules, each of which some test should notice.

    python benchmarks/mutants.py [--count N] [--seed N] [--group NAME] [--workers N] [--again] [--report]

Cosmic Ray makes the mutants and runs the tests; mutmut does not reach tables of lambdas, which derivatives are. A group of
`mutants.toml` is modules and the tests nearest to them. The sample of a group's mutants depends on the seed and the text of the
modules alone. Each worker has its own copy of the checkout. Results are kept in `.mutants`, so that a run that was stopped goes
on where it was. A mutant is tried again once its module has changed, or, if it survived, with `--again`. Survivors are listed
in `results/mutants.md`, each with the reason that `mutants.toml` gives.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import hashlib
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.ast.ast_query import ASTQuery
from cosmic_ray.mutating import mutate_and_test, mutate_code
from cosmic_ray.plugins import get_operator, operator_names
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec, TestOutcome, WorkItem, WorkResult

ROOT = Path(__file__).parents[1]
CONFIG = Path(__file__).with_name("mutants.toml")
SOURCES = (".", "passes", "lowering", "runtime", "translate", "tools")
OPERATORS = re.compile(
    r"core/(NumberReplacer|AddNot|ZeroIterationForLoop|Replace(AndWithOr|OrWithAnd|TrueWithFalse|FalseWithTrue)"
    r"|Replace(BreakWithContinue|ContinueWithBreak)|ReplaceUnaryOperator_(Delete_Not|Delete_USub)"
    r"|ReplaceBinaryOperator_(Add_Sub|Sub_Add|Mul_FloorDiv|FloorDiv_Mul|Div_Mul|Mod_FloorDiv|BitAnd_BitOr|BitOr_BitAnd)"
    r"|ReplaceComparisonOperator_(Lt_LtE|LtE_Lt|Gt_GtE|GtE_Gt|Lt_GtE|Gt_LtE|Eq_NotEq|NotEq_Eq|Is_IsNot|IsNot_Is|In_NotIn|NotIn_In))"
)
"""Edges, signs, polarity, exchanged operations. Any op for any other would mostly be caught by the first test that runs."""
LEAST = 60.0
"""Seconds that the tests of a mutant may take, however quick they are without one."""


@dataclass
class Group:
    """Modules that are mutated together, and what notices."""

    name: str
    modules: list[str]
    tests: list[str]
    filecheck: list[str] = field(default_factory=list)
    """Files or folders of lit's, which run after the tests of pytest."""
    items: list[WorkItem] = field(default_factory=list)
    total: int = 0
    seconds: float = 0.0
    failure: str = ""
    """What the tests print if they fail without a mutant; none is tried then."""

    def files(self) -> list[Path]:
        """The modules, relative to the checkout."""
        return sorted(p.relative_to(ROOT) for pattern in self.modules for p in ROOT.glob(pattern))

    def command(self) -> str:
        """What runs the tests until one fails, with the same random examples each time."""
        options = "-x -q --no-header --durations=0 --durations-min=999 -p no:cacheprovider --hypothesis-seed=0"
        pytest = " ".join((sys.executable, "-m pytest", options, *self.tests))
        if not self.filecheck:
            return pytest
        return f"sh -c '{pytest} && {Path(sys.executable).with_name('lit')} -q -j 1 {' '.join(self.filecheck)}'"


def candidates(path: Path) -> Iterator[MutationSpec]:
    """Every place of a module that some operator can change."""
    tree = get_ast((ROOT / path).read_text(encoding="utf-8"))
    for name in sorted(filter(OPERATORS.fullmatch, operator_names())):
        operator = get_operator(name)()
        places = ((node, *at) for node in ast_nodes(tree) for at in operator.mutation_positions(node))
        for occurrence, (node, start, end) in enumerate(places):
            yield MutationSpec(str(path), name, occurrence, start, end, {}, ASTQuery(node).get_definition_name())


def mutated(spec: MutationSpec) -> str | None:
    """The text of a mutated module; None where only annotations or docstrings are other, or it is no Python."""
    source = (ROOT / spec.module_path).read_text(encoding="utf-8")
    text = mutate_code(source, get_operator(spec.operator_name)(), spec.occurrence)
    meaning = None if text is None else _meaning(text)
    return text if meaning is not None and meaning != _meaning(source) else None


class _Unannotated(ast.NodeTransformer):
    """Drops what never runs: annotations, which every module here postpones, and docstrings."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)


def _meaning(source: str) -> str | None:
    """A text that is equal for sources that do the same by their syntax alone; None for what is no Python."""
    try:
        return ast.dump(_Unannotated().visit(ast.parse(source)))
    except SyntaxError:
        return None


def sample(group: Group, count: int, seed: int) -> None:
    """Choose mutants of a group; the choice and their ids depend on the seed and the texts alone."""
    specs = [spec for path in group.files() for spec in candidates(path)]
    group.total = len(specs)
    random.Random(f"{seed}:{group.name}").shuffle(specs)
    chosen: list[WorkItem] = []
    for spec in specs:
        if len(chosen) == count:
            break
        if (text := mutated(spec)) is not None:
            key = f"{spec.module_path}\0{text}"
            chosen.append(WorkItem.single(hashlib.sha256(key.encode()).hexdigest()[:32], spec))
    found = {item.job_id: item for item in chosen}
    group.items = sorted(found.values(), key=lambda item: (str(_spec(item).module_path), _spec(item).start_pos, item.job_id))


def _spec(item: WorkItem) -> MutationSpec:
    return item.mutations[0]


# Running


def copy_checkout(to: Path) -> None:
    """A copy of the checkout's files, compiled so that a changed file, and no other, is compiled again."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, check=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, to / name)
    for folder in (*SOURCES[1:], "mind_dialect", "tests"):
        compileall.compile_dir(to / folder, quiet=2, invalidation_mode=PycInvalidationMode.CHECKED_HASH)


def _enter(folders: Any) -> None:
    """Make a copy the place where this worker works; whatever it runs imports from there."""
    folder = folders.get()
    os.chdir(folder)
    os.nice(max(0, 15 - os.nice(0)))
    os.environ["PYTHONPATH"] = os.pathsep.join(str(Path(folder, source)) for source in SOURCES)


def _try(item: WorkItem, command: str, limit: float) -> WorkResult:
    return mutate_and_test(item.mutations, command, limit)


def _time(command: str) -> tuple[float, str]:
    """Return how long the tests take where nothing is mutated, and their output if they fail even so."""
    start = time.monotonic()
    done = subprocess.run(shlex.split(command), capture_output=True, text=True, check=False)
    return time.monotonic() - start, "" if done.returncode == 0 else done.stdout[-2000:]


def run(groups: Sequence[Group], database: WorkDB, workers: int, slowest: float) -> None:
    """Try what is pending, in the order of the groups, and keep each result as it comes."""
    pending = {item.job_id for item in database.pending_work_items}
    todo = [(group, item) for group in groups for item in group.items if item.job_id in pending]
    print(f"{len(todo)} mutants to try, {sum(len(g.items) for g in groups) - len(todo)} known", flush=True)
    if not todo:
        return
    context = get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="mutants-") as temporary:
        folders = context.Manager().Queue()
        for i in range(workers):
            copy_checkout(Path(temporary, str(i)))
            folders.put(str(Path(temporary, str(i))))
        with ProcessPoolExecutor(workers, context, _enter, (folders,)) as pool:
            for group, (seconds, failure) in zip(groups, pool.map(_time, [g.command() for g in groups]), strict=True):
                print(f"{seconds:.0f} s without a mutant: {group.name}", flush=True)
                group.seconds, group.failure = seconds, failure
            jobs = {
                pool.submit(_try, item, group.command(), max(LEAST, slowest * group.seconds)): (group, item)
                for group, item in todo
                if not group.failure
            }
            for n, job in enumerate(as_completed(jobs), 1):
                group, item = jobs[job]
                result = job.result()
                database.set_result(item.job_id, result)
                spec, outcome = _spec(item), result.test_outcome
                print(
                    f"{n}/{len(jobs)} {outcome and outcome.value} {spec.module_path}:{spec.start_pos[0]} {spec.operator_name}",
                    flush=True,
                )


# Reporting


def changed(diff: str | None) -> tuple[str, str]:
    """The line that a mutant changes, before and after."""
    lines = [line for line in (diff or "").splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    was, becomes = ([line[1:].strip() for line in lines if line[0] == sign] for sign in "-+")
    return " ".join(was), " ".join(becomes)


def report(groups: Sequence[Group], database: WorkDB, config: dict[str, Any], seed: int) -> str:
    """The page of results: a row per group, then every survivor with its reason."""
    results = dict(database.results)
    reasons = {(s["module"], s["was"], s["becomes"]): s["reason"] for s in config.get("survivor", [])}
    rows, listed = [], []
    sums = [0, 0, 0, 0]
    for group in groups:
        done = [(item, results[item.job_id]) for item in group.items if item.job_id in results]
        survived = [(item, result) for item, result in done if result.test_outcome is TestOutcome.SURVIVED]
        judged = []
        for item, result in survived:
            path, (was, becomes) = str(_spec(item).module_path), changed(result.diff)
            reason = reasons.get((path, was, becomes), "not judged yet")
            judged.append(reason)
            line = _spec(item).start_pos[0]
            listed.append(f"| `{path}:{line}` | {_code(was)} | {_code(becomes)} | {reason} |")
        equivalent = sum(reason.startswith("equivalent") for reason in judged)
        counts = [len(done), len(done) - len(survived), equivalent, len(survived) - equivalent]
        sums = [a + b for a, b in zip(sums, counts, strict=True)]
        rows.append(_row(f"{group.name} | {group.total}", counts))
    rows.append(_row(f"all | {sum(g.total for g in groups)}", sums))
    head = "# Mutants\n\n"
    head += f"A sample with seed {seed}: small changes of the source, and whether the nearest tests notice.\n"
    head += "`make mutants` writes this page; `benchmarks/mutants.toml` names the modules, the tests and the reasons.\n\n"
    head += (
        "| modules | places | tried | killed | equivalent | left | killed of those that differ |\n|---|---|---|---|---|---|---|\n"
    )
    tail = "\n\n## Survivors\n\n| place | was | becomes | reason |\n|---|---|---|---|\n" if listed else "\n\nNone survived."
    return head + "\n".join(rows) + tail + "\n".join(listed) + "\n"


def _row(name: str, counts: Sequence[int]) -> str:
    differ = counts[0] - counts[2]
    share = f"{100 * counts[1] / differ:.1f} %" if differ else "-"
    return f"| {name} | {' | '.join(map(str, counts))} | {share} |"


def _code(text: str) -> str:
    """A line of source in a cell of a table."""
    return f"`` {text} ``".replace("|", "\\|")


def main(arguments: Sequence[str] | None = None) -> int:
    """Sample, run what is not known yet, and write the page."""
    config = tomllib.loads(CONFIG.read_text(encoding="utf-8"))
    parser = argparse.ArgumentParser(description="mutants of chosen modules against the nearest tests")
    parser.add_argument("--count", type=int, default=config["count"], help="mutants per group")
    parser.add_argument("--seed", type=int, default=config["seed"])
    parser.add_argument("--group", action="append", help="only this group; may be given several times")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--again", action="store_true", help="try survivors again")
    parser.add_argument("--report", action="store_true", help="write the page of what is known and run nothing")
    parser.add_argument("--list", action="store_true", help="print the sample and run nothing")
    parser.add_argument("--session", type=Path, default=ROOT / ".mutants" / "session.sqlite")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results"))
    options = parser.parse_args(arguments)
    groups = [Group(g["name"], g["modules"], g["tests"], g.get("filecheck", [])) for g in config["group"]]
    groups = [g for g in groups if not options.group or g.name in options.group]
    for group in groups:
        sample(group, options.count, options.seed)
        if options.list:
            print(*(f"{_spec(i).module_path}:{_spec(i).start_pos[0]} {_spec(i).operator_name}" for i in group.items), sep="\n")
    if options.list:
        return 0
    options.session.parent.mkdir(parents=True, exist_ok=True)
    with use_db(options.session, WorkDB.Mode.create) as database:
        known = {item.job_id for item in database.work_items}
        database.add_work_items(item for g in groups for item in g.items if item.job_id not in known)
        if options.again:
            forget_survivors(database, {item.job_id for g in groups for item in g.items})
        try:
            if not options.report:
                run(groups, database, options.workers, config["slowest"])
        finally:
            text = report(groups, database, config, options.seed)
            options.out.mkdir(parents=True, exist_ok=True)
            (options.out / "mutants.md").write_text(text, encoding="utf-8")
    print(text)
    for group in groups:
        if group.failure:
            print(f"{group.name}: not tried, its tests fail without a mutant\n{group.failure}", file=sys.stderr)
    return int(any(group.failure for group in groups))


def forget_survivors(database: WorkDB, chosen: Collection[str]) -> None:
    """Make the chosen survivors pending again."""
    items = {item.job_id: item for item in database.work_items}
    results = dict(database.results)
    kept = {i: r for i, r in results.items() if r.test_outcome is not TestOutcome.SURVIVED or i not in chosen}
    database.clear()
    database.add_work_items(items.values())
    for i, result in kept.items():
        database.set_result(i, result)


if __name__ == "__main__":
    sys.exit(main())
