"""Whole PTIR programs: the version they state, dimension names, malformed types."""

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, UnregisteredOp
from xdsl.dialects.func import Func
from xdsl.dialects.test import Test
from xdsl.parser import Parser

from mind_dialect import register
from mind_dialect.errors import MindError
from mind_dialect.verify import failures, verify


def parse(text: str):
    ctx = Context(allow_unregistered=True)
    for dialect in (Builtin, Func, Test):
        ctx.load_dialect(dialect)
    register(ctx)
    register(ctx)
    return Parser(ctx, text).parse_module()


ADD = """
  func.func @f(%x: tensor<?x4xf32, "B,*">) -> tensor<?x4xf32, "B,*"> {
    %y = ptir.neg %x : tensor<?x4xf32, "B,*">
    %z = ptir.exp %y : tensor<?x4xf32, "B,*">
    func.return %z : tensor<?x4xf32, "B,*">
  }"""


def module(attributes: str, body: str = ADD) -> str:
    return f"builtin.module {f'attributes {{{attributes}}}' if attributes else ''} {{{body}}}"


def test_the_version_is_stated():
    verify(parse(module('ptir.spec_version = "ptir.v0.4"')))


@pytest.mark.parametrize("attributes", ["", 'ptir.spec_version = "ptir.v0.3"', "ptir.spec_version = 4", 'ptir.spec_version = ""'])
def test_a_missing_or_other_version_is_refused_once(attributes: str):
    (found,) = failures(parse(module(attributes)))
    assert (found.code, found.category) == ("E8006", "SpecVersionMismatch")
    assert found.context["expected"] == "ptir.v0.4"


def test_lenient_lets_a_missing_version_pass_but_no_other():
    verify(parse(module("")), lenient=True)
    with pytest.raises(MindError, match="E8006"):
        verify(parse(module('ptir.spec_version = "ptir.v0.5"')), lenient=True)


def test_a_module_around_states_it_for_those_inside():
    inner = module("", ADD)
    verify(parse(module('ptir.spec_version = "ptir.v0.4"', inner)))
    assert [e.code for e in failures(parse(module("", inner + inner)))] == ["E8006", "E8006"]


def test_a_module_without_ptir_needs_no_version():
    verify(parse("builtin.module { func.func @f(%x: tensor<2xf32>) { %y = mind.neg %x : tensor<2xf32> func.return } }"))


def test_a_fragment_needs_no_version():
    function = next(iter(parse(module("")).ops))
    function.detach()
    verify(function)


VERSION = 'ptir.spec_version = "ptir.v0.4"'
BROADCAST = '%y = ptir.broadcast_to %x result_shape = [{0}, 4] : tensor<4xf32> -> tensor<?x4xf32, "{0},*">'


def function(arguments: str, *lines: str) -> str:
    return module(VERSION, f"func.func @f({arguments}) {{ {' '.join(lines)} func.return }}")


def test_a_name_that_an_input_has_may_be_used():
    verify(parse(function('%x: tensor<4xf32>, %b: tensor<?xf32, "B">', BROADCAST.format("B"))))


def test_a_name_that_an_earlier_value_was_given_may_be_used():
    named = '%n = ptir.reshape %u new_shape = [-1] : tensor<?x2xf32> -> tensor<?xf32, "T">'
    verify(parse(function("%x: tensor<4xf32>, %u: tensor<?x2xf32>", named, BROADCAST.format("T"))))
    (found,) = failures(parse(function("%x: tensor<4xf32>, %u: tensor<?x2xf32>", BROADCAST.format("T"), named)))
    assert (found.code, found.category, found.context["name"]) == ("E8001", "DynamicDimensionMismatch", "T")


def test_names_are_those_of_one_function():
    bound = 'func.func @g(%b: tensor<?xf32, "B">) { func.return }'
    used = f"func.func @f(%x: tensor<4xf32>) {{ {BROADCAST.format('B')} func.return }}"
    (found,) = failures(parse(module(VERSION, bound + used)))
    assert found.code == "E8001"


@pytest.mark.parametrize(
    ("type", "code"),
    [
        ('tensor<?x4xf32, "B">', "E2001"),
        ('tensor<?x4xf32, "B,C">', "E2001"),
        ('tensor<?x4xf32, "*,*">', "E2001"),
        ('tensor<?x4xf32, "2B,*">', "E2001"),
        ('tensor<4xf32, "*">', "E2001"),
        ("tensor<4xf32, 3 : i32>", "E2001"),
        ("tensor<*xf32>", "E2001"),
        ("memref<4xf32>", "E2001"),
        ("f32", "E2001"),
        ("tensor<4xi32>", "E2005"),
        ("tensor<4xindex>", "E2005"),
        ("tensor<4xf8E4M3>", "E2005"),
        ("tensor<4xcomplex<f16>>", "E2005"),
    ],
)
def test_types_outside_the_contract_are_refused(type: str, code: str):
    text = f'%x = "test.op"() : () -> {type}\n%y = ptir.neg %x : {type}'
    (found,) = failures(parse(text), lenient=True)
    assert found.code == code


def test_unregistered_ops_around_do_not_matter():
    source = parse('%x = "foreign.op"() : () -> tensor<?xf32, "B">\n%y = ptir.neg %x : tensor<?xf32, "B">')
    assert isinstance(next(iter(source.ops)), UnregisteredOp)
    verify(source, lenient=True)
