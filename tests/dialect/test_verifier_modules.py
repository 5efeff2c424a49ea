"""The verifier beyond single ops: order of errors, strictness, profiles, inputs, extents of 0."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from counting import calls
from mind_dialect.core import CoreOp, NegOp, ReluOp
from mind_dialect.errors import MindError
from mind_dialect.profiles import Profile, parse_profile, profile_of
from mind_dialect.program import functions, input_names, state_names
from mind_dialect.types import F32, I32, tensor_type
from mind_dialect.verify import failures, verify
from mixed_programs import codes, first, parse
from verifier_rows import program

X = tensor_type(F32, (2,))


# Order

ORDER = [
    ("definition before arity", "%0 = mind.add %1 : <2xf32>\n%1 = mind.exp %x : <2xf32>", "E4001"),
    ("arity before attributes", '%0 = "mind.sum"(%x, %x) : (<2xf32>, <2xf32>) -> <2xf32>', "E2007"),
    ("attributes before dtype", '%0 = "mind.relu"(%i) <{axes = 1 : i64}> : (<2xi32>) -> <2xi32>', "E4000"),
    (
        "kind of attributes before dtype",
        '%0 = "mind.conv2d"(%x, %i) <{strides = 1 : i64, padding = 1 : i64}> : (<2xf32>, <2xi32>) -> <f32>',
        "E4000",
    ),
    ("dtype before rank", "%0 = mind.matmul %x, %i : (<2xf32>, <2xi32>) -> <2xf32>", "E2004"),
    ("dtype before a dynamic extent", "%0 = mind.add %q, %i : (<?xf32>, <2xi32>) -> <2xf32>", "E2004"),
    ("supported before mixed dtypes", "%0 = mind.relu_grad %i, %x : (<2xi32>, <2xf32>) -> <2xf32>", "E2005"),
    ("rank before shape", "%0 = mind.matmul %m, %y : (<2x3xf32>, <3xf32>) -> <2xf32>", "E3002"),
    ("rank of every operand before any shape", "%0 = mind.conv2d %m, %m strides = [] padding = Valid : <2x3xf32>", "E3002"),
    ("shape before result type", "%0 = mind.add %x, %y : (<2xf32>, <3xf32>) -> <9xf64>", "E3001"),
    ("result type last", "%0 = mind.add %x, %x : (<2xf32>, <2xf32>) -> <9xf64>", "E4015"),
    ("axis range before duplicates", "%0 = mind.sum %x axes = [0, 0, 5] keepdims = true : <2xf32>", "E3004"),
    ("lengths before steps", "%0 = mind.slice %x starts = [0] ends = [2] steps = [0, 0] : <2xf32>", "E4007"),
    ("step before bounds", "%0 = mind.slice %x starts = [-1] ends = [9] steps = [0] : <2xf32>", "E4008"),
    ("leftmost dimension", "%0 = mind.slice %m starts = [0, 0] ends = [9, 3] steps = [1, 0] : <2x3xf32>", "E4012"),
    ("channels before strides", "%0 = mind.conv2d %c, %c strides = [0] padding = Full : <1x2x3x4xf32>", "E4009"),
    (
        "strides before padding",
        "%0 = mind.conv2d %c, %k strides = [0, 1] padding = Full : (<1x2x3x4xf32>, <1x1x4x1xf32>) -> <f32>",
        "E4010",
    ),
    (
        "padding before extents",
        "%0 = mind.conv2d %c, %b strides = [1, 1] padding = Full : (<1x2x3x4xf32>, <9x9x4x1xf32>) -> <f32>",
        "E4013",
    ),
    ("profile before all else", "%0 = mind.div %x : <2xf32>", "E6003"),
]
ARGS = (
    "%x: <2xf32>, %y: <3xf32>, %i: <2xi32>, %m: <2x3xf32>, %q: <?xf32>, %c: <1x2x3x4xf32>, %k: <1x1x4x1xf32>, %b: <9x9x4x1xf32>, "
    "%f: f32"
)


@pytest.mark.parametrize(("name", "body", "code"), ORDER, ids=[row[0] for row in ORDER])
def test_order_within_an_op(name: str, body: str, code: str):
    # the foreign op keeps the function from being Core IR, so that its inputs are not held to the rules of inputs
    assert codes(program(ARGS, "%g = arith.negf %f : f32\n" + body)) == [code]


def test_across_ops_the_order_is_that_of_the_text():
    body = """
    %0 = mind.relu %i : <2xi32>
    %1 = mind.sum %x axes = [4] keepdims = true : <2xf32>
    %2 = mind.neg %x : <2xf32>
    %3 = mind.add %x, %y : (<2xf32>, <3xf32>) -> <2xf32>
    %4 = mind.neg %2 : <2xf32> -> <3xf32>"""
    module = parse(program("%x: <2xf32>, %y: <3xf32>, %i: <2xi32>", body))
    found = list(failures(module))
    assert [e.code for e in found] == ["E2005", "E3004", "E3001", "E4015"]
    assert [e.context["op"] for e in found] == ["Relu %3", "Sum %4", "Add %6", "Neg %7"]
    ops = [op for op in module.walk() if isinstance(op, CoreOp)]
    assert [e.op for e in found] == [ops[0], ops[1], ops[3], ops[4]]
    with pytest.raises(MindError, match="E2005: Relu %3"):
        verify(module)


def test_an_early_use_hides_what_it_would_garble():
    body = "%0 = mind.relu %1 : <2xf32>\n%1 = mind.neg %x : <2xf32>\n%2 = mind.relu %i : <2xi32>\n%3 = mind.exp %3 : <2xf32>"
    found = list(failures(parse(program("%x: <2xf32>, %i: <2xi32>", body))))
    assert [(e.code, e.context["op"], e.context["operand"]) for e in found] == [("E4001", "Relu %2", 0), ("E4001", "Exp %5", 0)]
    assert found[0].message == "Relu %2 uses %3 before its definition, which is Neg %3"


def test_naming_thousands_of_failing_ops_is_linear():
    def work(n: int) -> int:
        block = Block(arg_types=[tensor_type(I32, (2,))])
        block.add_ops(ReluOp.create(operands=[block.args[0]], result_types=[X]) for _ in range(n))
        block.add_op(ReturnOp())
        module = ModuleOp([FuncOp("f", FunctionType.from_lists([block.args[0].type], []), Region(block))])
        found: list[str] = []
        count = calls(lambda: found.extend(e.code for e in failures(module)))
        assert found == ["E2005"] * n
        return count

    assert work(1600) < 9 * work(200), "64 would be quadratic"


# Strictness and profiles

STRICT = [
    ("extension op", "%0 = mind.reciprocal %x : <2xf32>", "%0 = mind.log %x : <2xf32>", "E4000"),
    ("fill", "%0 = mind.constant fill 1.0 : <2xf32>", "%0 = mind.constant [1.0, 1.0] : <2xf32>", "E4000"),
    (
        "slice of no elements",
        "%0 = mind.slice %x starts = [1] ends = [1] steps = [1] : <2xf32> -> <0xf32>",
        "%0 = mind.slice %x starts = [1] ends = [2] steps = [1] : <2xf32> -> <1xf32>",
        "E3006",
    ),
]


@pytest.mark.parametrize(("name", "bad", "good", "code"), STRICT, ids=[row[0] for row in STRICT])
def test_strict(name: str, bad: str, good: str, code: str):
    assert codes(program("%x: <2xf32>", bad), strict=True) == [code]
    assert codes(program("%x: <2xf32>", bad)) == []
    assert codes(program("%x: <2xf32>", good), strict=True) == []


def test_strict_refuses_every_extension_op():
    from mind_dialect.core import EXTENSION_OPS
    from mind_dialect.verify import _check_strict  # pyright: ignore[reportPrivateUsage]

    for op in EXTENSION_OPS:
        with pytest.raises(MindError, match=rf"E4000: {op.OPCODE} is an extension"):
            _check_strict(op.create(result_types=[X]))


DIV = "%0 = mind.div %x, %x : tensor<2xf32>"
AXES = "%0 = mind.sum %x axes = [-1] keepdims = false : tensor<2xf32> -> tensor<f32>"
PROFILES = [
    ("default", "module { func.func @f(%x: tensor<2xf32>) { BODY func.return } }", False),
    (
        "core-v1 said",
        'module attributes {mind.profile = "core-v1"} { func.func @f(%x: tensor<2xf32>) { BODY func.return } }',
        False,
    ),
    ("module", 'module attributes {mind.profile = "core-v1.1"} { func.func @f(%x: tensor<2xf32>) { BODY func.return } }', True),
    ("function", 'func.func @f(%x: tensor<2xf32>) attributes {mind.profile = "core-v1.1"} { BODY func.return }', True),
    (
        "the function wins",
        'module attributes {mind.profile = "core-v1.1"} '
        '{ func.func @f(%x: tensor<2xf32>) attributes {mind.profile = "core-v1"} { BODY func.return } }',
        False,
    ),
    (
        "a nested region",
        'func.func @f(%x: tensor<2xf32>, %c: i1) attributes {mind.profile = "core-v1.1"} { scf.if %c { BODY } func.return }',
        True,
    ),
    (
        "another function's",
        'func.func @g() attributes {mind.profile = "core-v1.1"} { func.return } '
        "func.func @f(%x: tensor<2xf32>) { BODY func.return }",
        False,
    ),
]


@pytest.mark.parametrize(("name", "text", "newest"), PROFILES, ids=[row[0] for row in PROFILES])
def test_profile(name: str, text: str, newest: bool):
    for body, code in ((DIV, "E6003"), (AXES, "E3004")):
        module = parse(text.replace("BODY", body))
        assert [e.code for e in failures(module)] == ([] if newest else [code])
        if newest:
            module.verify()
        else:
            with pytest.raises(MindError, match=code):
                module.verify()


def test_a_misnamed_profile_is_reported_once_where_it_stands():
    body = "func.func @f(%x: tensor<2xf32>) { %0 = mind.exp %x : tensor<2xf32> %1 = mind.exp %0 : tensor<2xf32> func.return }"
    found = list(failures(parse(f"module attributes {{mind.profile = PROFILE}} {{ {body} }}".replace("PROFILE", '"core-v2"'))))
    assert [(e.code, e.context["op"]) for e in found] == [("E4000", "builtin.module")]
    assert found[0].message.endswith("mind.profile is \"core-v2\", expected one of ['core-v1', 'core-v1.1']")
    assert codes(f"module attributes {{mind.profile = 1 : i64}} {{ {body} }}") == ["E4000"]
    with pytest.raises(MindError, match="E7001: unknown profile 'core-v2'"):
        parse_profile("core-v2")


def test_an_op_cannot_choose_its_profile():
    text = program(
        "%x: <2xf32>", '%0 = mind.sum %x axes = [-1] keepdims = true {mind.profile = "core-v1.1"} : <2xf32> -> <1xf32>'
    )
    assert "unknown attribute 'mind.profile'" in first(text).message
    with pytest.raises(MindError, match="E4000"):
        parse(text).verify()
    assert codes(program("%x: <2xf32>", "%0 = mind.exp %x {mind.name = 1 : i64, other.note} : <2xf32>")) == []
    assert codes(program("%x: <2xf32>", "%0 = mind.exp %x {note} : <2xf32>")) == ["E4000"]


def test_profile_of_nothing():
    assert profile_of(None) is Profile.CORE_V1


# Inputs

BODY = "%0 = mind.neg %x : TYPE"
INPUTS = [
    ("extent 0", "%x: <2x0xf32>", "E3006", "input 0 of @f: extent 0 at 1 in [2, 0], expected positive"),
    ("dynamic", "%x: <2x?xf32>", "E3006", "input 0 of @f: extent ? at 1 in [2, '?'], expected static"),
    ("beyond i64", "%x: <9223372036854775808xf32>", "E3006", "expected static, 0 to 2^63 - 1"),
    ("no tensor", "%x: f32", "E2001", "input 0 of @f: expected a tensor, found f32"),
    ("memref", "%x: memref<2xf32>", "E2001", "expected a tensor, found memref<2xf32>"),
    ("vector", "%x: vector<2xf32>", "E2001", "expected a tensor, found vector<2xf32>"),
    ("unranked", "%x: tensor<*xf32>", "E2001", "expected a tensor"),
    ("encoding", '%x: tensor<2xf32, "sparse">', "E2001", "without encoding"),
    ("element type", "%x: <2xf16>", "E2005", "one of ['i32', 'i64', 'f32', 'f64'], found f16"),
    ("boolean", "%x: <2xi1>", "E2005", "found i1"),
    ("unsigned", "%x: tensor<2xui32>", "E2005", "found ui32"),
    ("empty name", '%x: <2xf32> {mind.name = ""}', "E4004", "expected a non-empty string"),
    ("name is no string", "%x: <2xf32> {mind.name = 1 : i64}", "E4004", "expected a non-empty string"),
    (
        "duplicate name",
        '%x: <2xf32> {mind.name = "a"}, %y: <2xf32> {mind.name = "a"}',
        "E4004",
        "input 1 of @f: name 'a' is given twice",
    ),
]


@pytest.mark.parametrize(("name", "args", "code", "says"), INPUTS, ids=[row[0] for row in INPUTS])
def test_input(name: str, args: str, code: str, says: str):
    found = first(program(args, "%0 = mind.const_i64 1 : <i64>"))
    assert (found.code, says in found.message) == (code, True), str(found)


def test_inputs_of_functions_that_are_not_core_ir_are_not_ours():
    assert codes(program("%x: <?xf32>, %y: f32", "")) == []
    assert codes(program("%x: <?xf32>, %y: f32", "%0 = arith.negf %y : f32\n%1 = mind.const_i64 1 : <i64>")) == []


def test_an_op_refuses_what_its_operand_should_not_be():
    for type, code in (("<?xf32>", "E3006"), ("f32", "E2001"), ("<2xf16>", "E2005"), ('tensor<2xf32, "sparse">', "E2001")):
        text = program(f"%x: {type}, %f: f32", f"%g = arith.negf %f : f32\n%0 = mind.neg %x : {type}")
        assert codes(text) == [code]


def test_a_cotangent_may_have_extent_0():
    body = "%0 = mind.neg %x : <0xf32>"
    assert codes(program("%x: <0xf32> {mind.cotangent}", body)) == []
    assert codes(program("%x: <0xf32>", body)) == ["E3006"]
    assert codes(program("%x: <?xf32> {mind.cotangent}", "%0 = mind.const_i64 1 : <i64>")) == ["E3006"]


def test_names_of_inputs():
    module = parse('func.func @f(%x: f32 {mind.name = "y"}, %y: f32, %0: f32, %z: f32 {mind.name = "a\\22b"}) { func.return }')
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    assert input_names(function) == ["y", "y_1", "arg2", 'a"b']
    function.body.block.args[0].name_hint = function.body.block.args[1].name_hint = "arg2"
    function.arg_attrs = None
    assert input_names(function) == ["arg2", "arg2_1", "arg2_2", "z"]


def test_naming_many_inputs_is_linear():
    def work(n: int) -> int:
        block = Block(arg_types=[X] * n)
        for argument in block.args:
            argument.name_hint = "x"
        function = FuncOp("f", FunctionType.from_lists([X] * n, []), Region(block))
        assert len(set(input_names(function))) == n
        return calls(lambda: input_names(function))

    assert work(4000) < 9 * work(500), "64 would be quadratic"


def test_attributes_for_another_number_of_inputs():
    block = Block(arg_types=[X, X])
    block.add_ops([NegOp(block.args[0]), ReturnOp()])
    function = FuncOp("f", FunctionType.from_lists([X, X], []), Region(block))
    function.arg_attrs = ArrayAttr([DictionaryAttr({"mind.name": StringAttr("a")})])
    assert [e.code for e in failures(ModuleOp([function]))] == ["E4004"]


# Extent 0, decision 5

EMPTY = "%e = mind.slice %x starts = [1, 0] ends = [1, 3] steps = [1, 1] : <2x3xf32> -> <0x3xf32>\n"
DERIVED = [
    "%0 = mind.add %e, %e : <0x3xf32>",
    "%0 = mind.relu %e : <0x3xf32>",
    "%0 = mind.sum %e axes = [0] keepdims = true : <0x3xf32> -> <1x3xf32>",
    "%0 = mind.transpose %e permutation = [1, 0] : <0x3xf32> -> <3x0xf32>",
    "%0 = mind.expand_dims %e axes = [0] : <0x3xf32> -> <1x0x3xf32>",
    "%0 = mind.slice %e starts = [0, 0] ends = [0, 1] steps = [1, 1] : <0x3xf32> -> <0x1xf32>",
    "%0 = mind.index %e indices = [0, 0] : <0x3xf32> -> <f32>",
    "%i = mind.constant [0, 1] : <2xi32>\n%0 = mind.gather %e, %i : (<0x3xf32>, <2xi32>) -> <2x3xf32>",
    "%t = mind.transpose %e permutation = [1, 0] : <0x3xf32> -> <3x0xf32>\n"
    "%0 = mind.matmul %t, %e : (<3x0xf32>, <0x3xf32>) -> <3x3xf32>",
    "%0 = mind.broadcast_to %e shape = [2, 0, 3] : <0x3xf32> -> <2x0x3xf32>",
]


@pytest.mark.parametrize("body", DERIVED)
def test_derived_extents_may_be_0(body: str):
    assert codes(program("%x: <2x3xf32>", EMPTY + body)) == []


def test_ops_have_no_regions_and_no_successors():
    value = Block(arg_types=[X]).args[0]
    for extra in ({"regions": [Region()]}, {"successors": [Block()]}):
        with pytest.raises(MindError, match="E4000: Neg: has regions or successors"):
            NegOp.create(operands=[value], result_types=[X], **extra).check()
    NegOp.create(operands=[value], result_types=[X]).check()


def test_names_are_stated_of_inputs_that_have_one_and_state_none():
    text = """func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32> {mind.name = "own"}, %c: tensor<2xf32>, %d: tensor<2xf32>) {
      func.return
    }"""
    (func,) = functions(parse(text))
    a, b, _, d = func.body.block.args
    state_names(func, {a: "first", b: "second", d: "own"})
    assert func.arg_attrs is not None
    stated = [attributes.data.get("mind.name") for attributes in func.arg_attrs.data]
    assert stated == [StringAttr("first"), StringAttr("own"), None, None]
    assert input_names(func) == ["first", "own", "c", "d"]


def test_a_value_behind_a_wall_is_said_to_be_there():
    """The innermost op that hides it is named; a value defined too late is said to be that."""
    text = """builtin.module {
      %x = "test.op"() : () -> tensor<2xf32>
      builtin.module {
        func.func @f() {
          %y = mind.neg %x : tensor<2xf32>
          %z = mind.neg %w : tensor<2xf32>
          %w = mind.neg %y : tensor<2xf32>
          func.return
        }
      }
    }"""
    hidden, early = failures(parse(text))
    assert "uses %x from outside of func.func, whose regions see their arguments only; pass it in" in str(hidden)
    assert "before its definition" in str(early)


@pytest.mark.parametrize("op", ['"scf.if"(%p) ({BODY}, {}) : (i1) -> ()', '"scf.execute_region"() ({BODY}) : () -> ()'])
def test_regions_whose_text_has_no_arguments(op: str):
    """As MLIR has it; xDSL's verifiers look at the ends of the regions alone."""
    text = f"func.func @f(%p: i1) {{\n{op}\nfunc.return\n}}"
    end = '"scf.yield"() : () -> ()'
    assert codes(text.replace("BODY", end)) == []
    (found,) = failures(parse(text.replace("BODY", f"^bb0(%a: i1):\n{end}")))
    assert (found.code, "a region has arguments, expected none" in found.message) == ("E4016", True)


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ('sym_name = "f"', "function_type"),
        ('sym_name = "f", axes = (f32) -> f32', "function_type"),
        ("function_type = () -> ()", "sym_name"),
    ],
)
def test_a_function_without_a_property_is_refused(given: str, missing: str):
    found = first(f'"func.func"() <{{{given}}}> ({{\n"func.return"() : () -> ()\n}}) : () -> ()')
    assert (found.code, found.message) == (
        "E4016",
        f"func.func: does not verify: property '{missing}' expected in operation 'func.func'",
    )


YIELDS_TWICE = """builtin.module attributes {{ptir.spec_version = "ptir.v0.4"}} {{
  func.func @f(%p: tensor<i1>, %x: tensor<2xf32>) -> tensor<2xf32> {{
    %r = ptir.cond %p, %x : (tensor<i1>, tensor<2xf32>) -> tensor<2xf32> true {{
    ^bb0(%a: tensor<2xf32>):
      {early}
      %b = ptir.neg %a : tensor<2xf32>
      ptir.yield %b : tensor<2xf32>
    }} false {{
    ^bb0(%a: tensor<2xf32>):
      ptir.yield %a : tensor<2xf32>
    }}
    func.return %r : tensor<2xf32>
  }}
}}"""


def test_a_terminator_ends_its_block() -> None:
    assert codes(YIELDS_TWICE.format(early="")) == []
    assert codes(YIELDS_TWICE.format(early="ptir.yield %a : tensor<2xf32>")) == ["E4016"]
    assert "is a terminator but is not the last op" in str(first(YIELDS_TWICE.format(early="ptir.yield %a : tensor<2xf32>")))


SYMBOL = """"{op}"() <{{sym_name = "f", sym_visibility = {visibility}, function_type = () -> ()}}> ({{
  "{end}"() : () -> ()
}}) : () -> ()"""


@pytest.mark.parametrize(("op", "end", "code"), [("func.func", "func.return", "E4016"), ("shape.func", "shape.return", "E9007")])
def test_visibilities(op: str, end: str, code: str) -> None:
    for visibility in ("public", "private", "nested"):
        assert codes(SYMBOL.format(op=op, end=end, visibility=f'"{visibility}"')) == []
    for visibility in ('""', '"secret"', "1 : i64"):
        assert codes(SYMBOL.format(op=op, end=end, visibility=visibility)) == [code], visibility


def test_what_returns_from_a_function_without_a_name_is_not_at_fault() -> None:
    text = """"shape.func"() <{function_type = (!shape.size) -> !shape.shape}> ({
    ^bb0(%x: !shape.size):
      "shape.return"(%x) : (!shape.size) -> ()
    }) : () -> ()"""
    assert codes(text) == ["E9007"]


NESTED = """"builtin.module"() ({{
  "{outer}"() <{{sym_name = "outer", function_type = () -> ()}}> ({{
    "{inner}"() <{{sym_name = "inner", function_type = () -> ()}}> ({{
      "{end}"() : () -> ()
    }}) : () -> ()
    "{outer_end}"() : () -> ()
  }}) : () -> ()
}}) : () -> ()"""
ENDS = {"func.func": "func.return", "shape.func": "shape.return"}


@pytest.mark.parametrize("inner", ENDS)
@pytest.mark.parametrize("outer", ENDS)
def test_a_symbol_is_in_an_op_that_holds_symbols(outer: str, inner: str) -> None:
    text = NESTED.format(outer=outer, inner=inner, outer_end=ENDS[outer], end=ENDS[inner])
    (found,) = failures(parse(text))
    assert (found.code, f"is a symbol in {outer}, expected an op that holds symbols" in found.message) == ("E4016", True)


def test_modules_hold_modules_and_functions_hold_modules_without_a_name() -> None:
    assert codes("builtin.module { builtin.module @inner { func.func @f() { return } } }") == []
    assert codes("func.func @f() {\nbuiltin.module { func.func @g() { return } }\nreturn }") == []
