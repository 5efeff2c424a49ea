"""Names of entry points depend on the program only; targets are found by name; a cache builds once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest
from xdsl.dialects.builtin import ModuleOp

from mind_dialect.errors import MindError, error
from mind_lowering.conversion import (
    ConversionCache,
    ConversionCacheKey,
    ConversionOptions,
    ConversionTarget,
    ConvertedEntrypoint,
    ConvertedIR,
    canonical_text,
    default_entrypoint_name,
    fnv1a_64,
    get_conversion_target,
    list_conversion_targets,
    program_hash,
    register_conversion_target,
    sanitize_symbol,
)
from mind_lowering.conversion.registry import entrypoints, rename_functions
from programs import parse
from ptir_programs import REGIONS, regions_module

PROGRAM = """module attributes {ptir.spec_version = "ptir.v0.4", a.b = {y = 1 : i64, x = 2 : i64}} {
  func.func @main.f(%x: tensor<2xf32>) -> tensor<2xf32> {
    %y = ptir.constant [1.0, nan] : tensor<2xf32>
    %z = ptir.add %x, %y : tensor<2xf32>
    func.return %z : tensor<2xf32>
  }
}"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0xCBF29CE484222325),
        ("a", 0xAF63DC4C8601EC8C),
        ("foobar", 0x85944171F73967E8),
        ("chongo was here!\n", 0x46810940EFF5F915),
    ],
)
def test_fnv_of_its_authors_test_vectors(text: str, expected: int) -> None:
    assert fnv1a_64(text.encode()) == expected


@pytest.mark.parametrize(("given", "expected"), [("a.b-c", "a_b_c"), ("1", "_1"), ("é", "_"), ("", "entry"), ("Ok_9", "Ok_9")])
def test_symbols(given: str, expected: str) -> None:
    assert sanitize_symbol(given) == expected


def test_names_of_values_and_the_order_of_attributes_do_not_count() -> None:
    other = (
        PROGRAM.replace("%y", "%other").replace("%x", "%input").replace("y = 1 : i64, x = 2 : i64", "x = 2 : i64, y = 1 : i64")
    )
    assert canonical_text(parse(PROGRAM)) == canonical_text(parse(other))
    assert program_hash(parse(PROGRAM)) == program_hash(parse(str(parse(PROGRAM))))


@pytest.mark.parametrize(("old", "new"), [("1.0", "2.0"), ("main.f", "main.g"), ("add", "mul"), ("add %x, %y", "add %y, %x")])
def test_what_a_program_means_counts(old: str, new: str) -> None:
    assert program_hash(parse(PROGRAM)) != program_hash(parse(PROGRAM.replace(old, new)))


def test_hashing_leaves_the_program_alone() -> None:
    module = parse(PROGRAM)
    before = str(module)
    program_hash(module)
    assert str(module) == before


def test_the_same_name_in_every_process() -> None:
    name = default_entrypoint_name(parse(REGIONS), "count")
    assert name == f"count__{program_hash(regions_module()):016x}"
    imports = "from ptir_programs import *; from mind_lowering.conversion import *"
    code = f"{imports}; print(default_entrypoint_name(regions_module(), 'count'))"
    support = os.path.join(os.path.dirname(__file__), "..", "..", "support")
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONPATH": support, "PYTHONHASHSEED": seed}
        result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert result.stdout.strip() == name


def test_entry_points() -> None:
    module = parse(PROGRAM)
    hash = program_hash(module)
    assert entrypoints(module, ConversionOptions()) == (ConvertedEntrypoint("main.f", f"main_f__{hash:016x}"),)
    assert entrypoints(module, ConversionOptions("run"))[0].symbol == f"run__{hash:016x}"
    rename_functions(module, entrypoints(module, ConversionOptions("run")))
    assert f"@run__{hash:016x}(" in str(module)


def test_entry_points_that_would_clash() -> None:
    two = parse("func.func @a.b() { func.return }\nfunc.func @a_b() { func.return }")
    with pytest.raises(MindError, match=r"E7001.*'a.b' and 'a_b' would both be called a_b__"):
        entrypoints(two, ConversionOptions())
    with pytest.raises(MindError, match=r"E7001.*expected one function"):
        entrypoints(two, ConversionOptions("x"))


class Printing(ConversionTarget):
    name = "test-printing"
    file_extension = "txt"

    def check(self, module: ModuleOp, options: ConversionOptions) -> None:
        pass

    def convert(self, module: ModuleOp, options: ConversionOptions) -> ConvertedIR:
        return ConvertedIR(str(module), entrypoints(module, options))


def test_registry() -> None:
    assert get_conversion_target("test-printing") is None
    first, second = Printing(), Printing()
    register_conversion_target(first)
    assert get_conversion_target("test-printing") is first
    register_conversion_target(second)
    assert get_conversion_target("test-printing") is second
    names = list_conversion_targets()
    assert names == sorted(names)
    assert {"linalg", "test-printing"} <= set(names)
    assert get_conversion_target("no-such-target") is None


def test_what_a_cache_entry_depends_on() -> None:
    module, target, plain = parse(PROGRAM), Printing(), ConversionOptions()
    key = ConversionCacheKey.of(module, target, plain)
    assert key == ConversionCacheKey.of(parse(PROGRAM.replace("%y", "%w")), target, ConversionOptions())
    newer = Printing()
    newer.version = 1
    others = [
        ConversionCacheKey.of(parse(PROGRAM.replace("1.0", "2.0")), target, plain),
        ConversionCacheKey.of(module, newer, plain),
        ConversionCacheKey.of(module, target, ConversionOptions("x")),
        ConversionCacheKey.of(module, target, plain, device_caps_hash=1),
    ]
    assert len({key, *others}) == 5


def test_a_cache_builds_once_for_many_threads() -> None:
    cache, built = ConversionCache(), list[int]()
    key = ConversionCacheKey.of(parse(PROGRAM), Printing(), ConversionOptions())

    def build() -> ConvertedIR:
        built.append(1)
        time.sleep(0.02)
        return ConvertedIR("x", ())

    threads = [threading.Thread(target=lambda: cache.get_or_convert(key, build)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(built), len(cache)) == (1, 1)
    assert cache.get_or_convert(key, build).module == "x"


def test_a_cache_remembers_coded_errors_and_no_others() -> None:
    cache, tries = ConversionCache(), list[int]()
    key = ConversionCacheKey.of(parse(PROGRAM), Printing(), ConversionOptions())

    def interrupted() -> ConvertedIR:
        raise KeyboardInterrupt

    def refused() -> ConvertedIR:
        tries.append(1)
        raise error("E8008", "no", target="t", diagnostics=())

    with pytest.raises(KeyboardInterrupt):
        cache.get_or_convert(key, interrupted)
    for _ in range(3):
        with pytest.raises(MindError, match="E8008: no"):
            cache.get_or_convert(key, refused)
    assert len(tries) == 1
