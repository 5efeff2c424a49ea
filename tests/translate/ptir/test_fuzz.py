"""What holds for every program and every text: the forms lose nothing and agree; no text ends in anything but a coded error."""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from mind_dialect.errors import CATALOGUE, MindParseError
from mind_dialect.verify import failures, verify
from mind_translate.ptir_json import parse_ptir_json, print_ptir_json
from mind_translate.ptir_text import parse_display, parse_snippet, print_ptir_text
from ptir_programs import regions_module
from ptir_random import ptir_modules
from ptir_texts import BASE, DISPLAY, SNIPPET

SLOW = settings(max_examples=100)


@given(ptir_modules(whole=True))
@SLOW
def test_both_forms_are_lossless(module: ModuleOp):
    verify(module)
    for write, read in ((print_ptir_json, parse_ptir_json), (print_ptir_text, parse_display)):
        text = write(module)
        again = read(text)
        verify(again)
        assert again.is_structurally_equivalent(module)
        assert write(again) == text


@given(ptir_modules())
@SLOW
def test_copies_of_elements_are_made_once(module: ModuleOp):
    """Where an element of a tuple is returned the form needs a copy; from then on nothing changes, and both forms agree."""
    once = parse_ptir_json(print_ptir_json(module))
    verify(once)
    assert print_ptir_json(parse_ptir_json(print_ptir_json(once))) == print_ptir_json(once)
    assert str(parse_display(print_ptir_text(module))) == str(once)


def test_the_generator_makes_all_it_can():
    seen: Counter[str] = Counter()

    @given(ptir_modules())
    @settings(SLOW, max_examples=200)
    def collect(module: ModuleOp):
        seen.update(op.name for op in module.walk())

    collect()
    assert len(seen) > 17
    assert "ptir.top_k" in seen


# Hostile texts

JSON_WORDS: list[object] = [
    *(None, True, -1, 0, 1, 2, 3, 2**31, 2**63, 2**64, 10**30, 0.5, "", "x", "Sum", "F32", "Infinity", "Value", "\ud800"),
    *([], {}, [[]], [0, 0], {"Static": -1}, {"Dynamic": "?"}, {"Value": 4}, {"Tuple": []}, {"kind": "I64"}),
    *({"Float": "NaN"}, {"TupleElement": {"tuple": 9, "index": 1}}, {"Extension": {"name": "not"}}, "Select"),
    {"Tensor": {"dtype": "Cf64", "shape": {"dims": [{"Static": 2**62}, {"Static": 2**62}]}}},
]


def places(node: object) -> list[tuple]:
    """The path to every part of a node."""
    found: list[tuple] = [()]
    for path in found:
        part = node
        for key in path:
            part = part[key]
        if isinstance(part, dict | list):
            found += [(*path, key) for key in (part if isinstance(part, dict) else range(len(part)))]
    return found


REGIONS = json.loads(print_ptir_json(regions_module()))
BASES = {name: (base, places(base)) for name, base in (("base", BASE), ("regions", REGIONS))}


@st.composite
def mutated_json(draw: st.DrawFn) -> str:
    base, paths = BASES[draw(st.sampled_from(sorted(BASES)))]
    node = json.loads(json.dumps(base))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(paths))
        part = node
        try:
            for key in path[:-1]:
                part = part[key]
            what = draw(st.sampled_from(["replace", "delete", "copy"]))
            if not path:
                node = copy.deepcopy(draw(st.sampled_from(JSON_WORDS)))
            elif what == "delete":
                del part[path[-1]]
            elif what == "copy":
                other: object = node
                for key in draw(st.sampled_from(paths)):
                    other = other[key]
                part[path[-1]] = json.loads(json.dumps(other))
            else:
                part[path[-1]] = copy.deepcopy(draw(st.sampled_from(JSON_WORDS)))
        except (KeyError, IndexError, TypeError):
            continue
    return json.dumps(node)


TOKEN = re.compile(r'"[^"]*"|[%@^]?\w+|\s+|.', re.DOTALL)
WORDS = [
    *'[ ] { } ( ) < > = : , -> " \\ // % %0 %1 %2 %99 %arg0 @ @main ^r0 ^r1 -1 0 1 7 1.5 1e999 inf -inf NaN None Some'.split(),
    *"Reduce( ReduceSpec { } Select Take RegionId(0) tensor<F32 x 2x3> tensor<F32 x ?B> tuple< > x [] Sum".split(),
    *"F32 f32 axes[ ] {{a}} return".split(),
    *(
        "9" * 5000,
        "\n",
        "\0",
        "é",
        "\ud800",
        "}\n",
        "{",
        "  }\n",
        f"tensor<F64 x {2**62}x{2**62}>",
        "hints:\n",
        "results:\n",
        "body:\n",
    ),
]


@st.composite
def mutated_text(draw: st.DrawFn, text: str) -> str:
    tokens = TOKEN.findall(text)
    for _ in range(draw(st.integers(1, 4))):
        i = draw(st.integers(0, len(tokens) - 1))
        what = draw(st.sampled_from(["replace", "delete", "insert", "swap", "cut"]))
        if what == "cut":
            tokens = tokens[: i + 1]
        elif what == "delete" and len(tokens) > 1:
            del tokens[i]
        elif what == "insert":
            tokens.insert(i, draw(st.sampled_from([*WORDS, *tokens[:200]])))
        elif what == "swap":
            j = draw(st.integers(0, len(tokens) - 1))
            tokens[i], tokens[j] = tokens[j], tokens[i]
        else:
            tokens[i] = draw(st.sampled_from([*WORDS, *tokens[:200]]))
    return "".join(tokens)


def check(read: Callable[[str], ModuleOp], text: str) -> str:
    """Read a text: a coded error of bounded size, or a module that the verifier takes apart without trouble."""
    raised: MindParseError | None = None
    module: ModuleOp | None = None
    try:
        module = read(text)
    except MindParseError as e:
        raised = e
    if raised is not None:
        assert raised.error.code in CATALOGUE
        assert len(raised.error.message) < 2000
        str(raised).encode()
        return raised.error.code
    assert module is not None
    for failure in failures(module):
        assert failure.code == "E8001", f"only names of dimensions are left to the verifier: {failure}"
    return "read"


SOURCES: dict[str, tuple[Callable[[str], ModuleOp], st.SearchStrategy[str]]] = {
    "json": (parse_ptir_json, mutated_json()),
    "json text": (parse_ptir_json, mutated_text(json.dumps(BASE))),
    "display": (parse_display, mutated_text(DISPLAY)),
    "display of regions": (parse_display, mutated_text(print_ptir_text(regions_module()))),
    "snippet": (parse_snippet, mutated_text(SNIPPET)),
}


@pytest.mark.parametrize("source", SOURCES)
def test_mutations_end_in_coded_errors(source: str):
    read, texts = SOURCES[source]
    codes: Counter[str] = Counter()

    @given(texts)
    @settings(SLOW, max_examples=300)
    def run(text: str):
        codes[check(read, text)] += 1

    run()
    assert len(codes) > 1, "the mutations reach different checks"


@given(st.text(alphabet='{}[]",:%@ \n0x-9aEtensor<>(func)', max_size=60))
@SLOW
def test_any_text(text: str):
    for read in (parse_ptir_json, parse_display, parse_snippet):
        check(read, text)
