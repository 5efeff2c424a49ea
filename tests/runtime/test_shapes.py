"""Guards, output shapes and programs for bindings: what the host knows of shapes, held against the rules and against NumPy."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

import dynamic_attention
import mind_runtime
from mind_dialect import core, ptir
from mind_dialect.errors import MindError
from mind_dialect.ptir import PtirOp
from mind_dialect.ptir.types import F32, dtype_named, read_type, tensor_type
from mind_dialect.ptir_program import SPEC_VERSION, VERSION_ATTRIBUTE
from mind_dialect.ptir_shapes import UNKNOWN
from mind_dialect.shape import SHAPE_OPS
from mind_dialect.shape.dataflow import Dataflow
from mind_dialect.shape.evaluate import as_shape
from mind_lowering.shape_python import print_shape_functions, shape_source
from mind_lowering.shape_python_ops import ROWS
from mind_passes.shape.emitter import Emitter
from mind_passes.shape.known_sizes import known_sizes
from mind_passes.shape.reify import reify, reify_inline
from mind_passes.shape.rules import emit_shapes
from mind_runtime.shapes import Guard
from programs import parse
from shape_rule_samples import PTIR

HEAD = 'module attributes {ptir.spec_version = "ptir.v0.4"} { func.func @f('
FLOATS = {
    **{op: {1: "si32"} for op in (ptir.TakeOp, ptir.GatherOp, ptir.ScatterAddOp, ptir.ScatterReduceOp)},
    **{op: {1: "si32"} for op in (ptir.GatherWindowsOp, ptir.ScatterWindowsOp)},
    **{op: {0: "cf32"} for op in (ptir.RealOp, ptir.ImagOp, ptir.ConjOp)},
    **{op: {0: "si32"} for op in (ptir.PopcountOp, ptir.CountLeadingZerosOp, ptir.TruncateOp)},
    ptir.DynamicSliceOp: {1: "si32"},
    ptir.DynamicUpdateSliceOp: {2: "si32"},
    ptir.SegmentReduceOp: {1: "si32"},
    ptir.RaggedDotOp: {2: "si32"},
    ptir.SelectOp: {0: "i1"},
    ptir.QuantizeOp: {2: "si8"},
    ptir.DequantizeOp: {0: "si8", 2: "si8"},
    ptir.RequantizeOp: {0: "si8", 2: "si8", 4: "si8"},
    **dict.fromkeys((ptir.AndOp, ptir.OrOp, ptir.XorOp, ptir.NotOp), dict.fromkeys(range(2), "si32")),
    **dict.fromkeys((ptir.ShiftLeftOp, ptir.ShiftRightArithmeticOp, ptir.ShiftRightLogicalOp), dict.fromkeys(range(2), "si32")),
}
"""The dtypes of operands that are not f32, by their numbers."""


def module(body: str, inputs: str, outputs: str) -> ModuleOp:
    return parse(f"{HEAD}{inputs}) -> ({outputs}) {{\n{body}\n}} }}")


def function(m: ModuleOp) -> FuncOp:
    return next(op for op in m.walk() if isinstance(op, FuncOp))


def failure(action: Any, *arguments: Any) -> MindError:
    with pytest.raises(MindError) as caught:
        action(*arguments)
    return caught.value


# The guard of one op, all of whose dimensions are dynamic


def dynamic_function(op: type[PtirOp], shapes: list[tuple[int, ...]], properties: dict[str, Any]) -> FuncOp:
    """A function of that op alone on operands of the same ranks; of a convolution the window is static."""

    dims: list[tuple[Any, ...]] = [(UNKNOWN,) * len(x) for x in shapes]
    if op is ptir.ConvolutionOp:
        dims[1] = (*shapes[1][:-2], UNKNOWN, UNKNOWN)
    dtypes = [dtype_named(FLOATS.get(op, {}).get(i, "f32")) for i in range(len(shapes))]
    types = [tensor_type(d, x) for d, x in zip(dtypes, dims, strict=True)]
    block = Block(arg_types=types)
    made = op(properties["value"]) if op is ptir.ConstantOp else op(*block.args, **properties)
    block.add_ops([made, ReturnOp(*made.results)])
    func = FuncOp("f", FunctionType.from_lists(types, list(made.result_types)), Region(block))
    ModuleOp([func], {VERSION_ATTRIBUTE: StringAttr(SPEC_VERSION)})
    return func


@pytest.mark.exhaustive
@pytest.mark.parametrize("op", PTIR, ids=lambda op: op.name)
def test_the_guard_of_dynamic_operands_is_the_rule_of_static_ones(op: type[PtirOp]) -> None:
    seen: Counter[bool] = Counter()

    @settings(max_examples=25)
    @given(st.data())
    def check(data: Any) -> None:
        shapes, properties = PTIR[op](data.draw)
        try:
            guard = Guard(dynamic_function(op, shapes, properties))
        except MindError:
            return  # wrong whatever the extents
        taken = properties if op.RULE_TAKES is None else {n: properties[n] for n in op.RULE_TAKES}
        try:
            wanted: Any = [properties["value"].spec[1]] if op is ptir.ConstantOp else None
            wanted = wanted or [op.RULE(*shapes, **{n: v for n, v in taken.items() if v is not None})] * len(op.RESULTS or ())
        except MindError as e:
            wanted = e
        seen[isinstance(wanted, MindError)] += 1
        if isinstance(wanted, MindError):
            found = failure(guard, *shapes)
            assert found.message.startswith(op.OPCODE) or found.code == "E3006", found
            assert found.op is None or isinstance(found.op, op)
        else:
            assert list(guard(*shapes)) == wanted, (shapes, properties, guard.source.text)

    check()
    assert seen[False]


@pytest.mark.quick
def test_every_shape_op_has_a_form_in_python() -> None:
    without = {"shape.func", "shape.function_library", "shape.return", "shape.yield", "shape.assuming_yield"}
    assert {op.name for op in SHAPE_OPS} - {op.name for op in ROWS} == without


SHAPE = st.lists(st.sampled_from([0, 1, 1, 2, 3]), max_size=3).map(tuple)


@settings(max_examples=300)
@given(st.lists(SHAPE, min_size=2, max_size=3))
def test_constraints_on_shapes_of_any_rank_are_those_of_numpy(shapes: list[tuple[int, ...]]) -> None:
    names = [f"%s{i}" for i in range(len(shapes))]
    types = ", ".join("!shape.shape" for _ in shapes)
    text = f"""shape.func @f({", ".join(f"{n}: !shape.shape" for n in names)}) -> !shape.shape {{
      %w = shape.cstr_broadcastable {", ".join(names)} : {types}
      %r = shape.broadcast {", ".join(names)} : {types} -> !shape.shape
      shape.return %r : !shape.shape
    }}"""
    run = shape_source(next(iter(parse(text).body.block.ops))).compiled()
    try:
        wanted = np.broadcast_shapes(*shapes)
    except ValueError:
        with pytest.raises(ValueError, match="broadcast") as caught:
            np.empty(shapes[0]) + np.empty(shapes[1]) + (np.empty(shapes[2]) if len(shapes) > 2 else 0)
        found = failure(run, *shapes)
        assert found.code == "E3001"
        if len(shapes) == 2:
            assert found.message == str(caught.value).strip()
    else:
        assert run(*shapes) == (wanted,)


def test_the_wording_is_numpys() -> None:
    body = """%y = ptir.reshape %x new_shape = [4, 2] : tensor<?xf32> -> tensor<4x2xf32>
      func.return %y : tensor<4x2xf32>"""
    program = mind_runtime.compile(module(body, "%x: tensor<?xf32>", "tensor<4x2xf32>"))
    with pytest.raises(ValueError, match="cannot reshape") as caught:
        np.zeros(6).reshape(4, 2)
    found = failure(program, np.zeros(6, np.float32))
    assert (found.code, found.message) == ("E3007", f"reshape %y: {caught.value}")
    assert found.op is not None
    assert found.op.name == "ptir.reshape"


def test_sizes_that_no_expression_holds_are_computed() -> None:
    """A sum of more sizes than a normal form has terms, and a quotient by a size that may be 0."""
    xs, n = ", ".join(f"%x{i}" for i in range(60)), "tensor<?xf32>"
    body = f"%y = ptir.concat {xs} axis = 0 : ({', '.join([n] * 60)}) -> {n}\n  func.return %y : {n}"
    many = module(body, ", ".join(f"%x{i}: {n}" for i in range(60)), n)
    assert mind_runtime.output_shapes(many, *((i,) for i in range(60))) == ((1770,),)
    body = """%y = ptir.reshape %x new_shape = [N, -1] : tensor<?x?xf32, "A,B"> -> tensor<?x?xf32, "N,*">
      func.return %y : tensor<?x?xf32, "N,*">"""
    divided = module(body, '%x: tensor<?x?xf32, "A,B">, %n: tensor<?xf32, "N">', 'tensor<?x?xf32, "N,*">')
    assert mind_runtime.output_shapes(divided, (6, 4), (8,)) == ((8, 3),)
    for size, reason in ((5, "array of size 24 into shape"), (0, "which has no elements")):
        with pytest.raises(MindError, match=reason) as found:
            mind_runtime.output_shapes(divided, (6, 4), (size,))
        assert found.value.code == "E3007"


GENERAL = """shape.func @f(%s: !shape.shape, %t: tensor<?xindex>, %n: !shape.size, %v: tensor<?x4xf32>)
    -> (!shape.shape, !shape.size, !shape.shape, !shape.shape, index) {
  %one = shape.const_size 1
  %p = shape.reduce(%s, %one) : !shape.shape -> !shape.size {
  ^bb0(%i: index, %e: !shape.size, %acc: !shape.size):
    %q = shape.mul %acc, %e : !shape.size, !shape.size -> !shape.size
    shape.yield %q : !shape.size
  }
  %d = shape.div %p, %n : !shape.size, !shape.size -> !shape.size
  %x = shape.shape_of %v : tensor<?x4xf32> -> !shape.shape
  %c = shape.concat %s, %x : !shape.shape, !shape.shape -> !shape.shape
  %u = shape.from_extent_tensor %t : tensor<?xindex>
  %m = shape.meet %c, %u, error = "no \\"meet\\"" : !shape.shape, !shape.shape -> !shape.shape
  %k = shape.const_size 1
  %h, %l = "shape.split_at"(%m, %k) : (!shape.shape, !shape.size) -> (!shape.shape, !shape.shape)
  %w = shape.cstr_eq %c, %u : !shape.shape, !shape.shape
  %r = shape.assuming %w -> (index) {
    %z = shape.rank %t : tensor<?xindex> -> index
    shape.assuming_yield %z : index
  }
  shape.return %c, %d, %h, %l, %r : !shape.shape, !shape.size, !shape.shape, !shape.shape, index
}"""


def test_a_function_of_unknown_ranks() -> None:
    run = shape_source(next(iter(parse(GENERAL).body.block.ops))).compiled()
    assert run((2, 3), (2, 3, 5, 4), 4, (5, 4)) == ((2, 3, 5, 4), 1, (2,), (3, 5, 4), 4)
    assert failure(run, (2, 3), (2, 3, 5, 5), 4, (5, 4)).message == 'no "meet"'
    assert failure(run, (2, 3), (2, 3, 5, 4), 0, (5, 4)).message == "integer division or modulo by zero"
    assert failure(run, (2, 3), (2, 3, 5, 4), 1, (5, 3)).message == "input v has shape (5,3), expected (?, 4)"


def test_names_of_programs_are_only_data() -> None:
    inputs = """%x: tensor<?x?xf32, "if,len"> {mind.name = "x'\\"\\n); raise SystemExit #"},
                %y: tensor<?x?xf32, "fail,__builtins__"> {mind.name = "class"}"""
    body = """%z = ptir.add %x, %y
        : (tensor<?x?xf32, "if,len">, tensor<?x?xf32, "fail,__builtins__">) -> tensor<?x?xf32, "if,len">
      func.return %z : tensor<?x?xf32, "if,len">"""
    m = module(body, inputs, 'tensor<?x?xf32, "if,len">')
    assert Guard(function(m))((2, 3), (2, 3)) == ((2, 3),)
    assert failure(Guard(function(m)), (2, 3), (2, 4)).code == "E3001"
    text = print_shape_functions(m)
    scope: dict[str, Any] = {}
    exec(text, scope)
    assert scope["f_shapes"]((2, 3), (2, 3)) == ((2, 3),)
    assert failure(scope["f_shapes"], (2,), (2, 4)).code == "E9020", "a guard leaves ranks to its callers"


def test_evaluating_the_shape_function_again_gives_what_was_inferred_while_it_was_made() -> None:
    attention = function(dynamic_attention.attention())
    made = reify(attention)
    flow = Dataflow()
    flow.run(made.function.body)
    assert not flow.faults
    returned = made.function.body.block.last_op
    assert [as_shape(flow.of(v)) for v in returned.operands] == [("B", "T", 64)]
    for value, dims in known_sizes(attention).dims.items():
        assert dims == read_type(value.type).shape


def test_inline_constraints_are_those_of_the_function() -> None:
    m = dynamic_attention.attention()
    made = reify(function(m))
    assert reify_inline(function(m)) == []
    m.verify()
    constraints = [op.attributes.get("mind.op") for op in function(m).walk() if op.name.startswith("shape.cstr")]
    assert constraints == [op.attributes.get("mind.op") for op in made.function.walk() if op.name.startswith("shape.cstr")]


# Output shapes


def test_output_shapes_of_modules_and_programs() -> None:
    m = dynamic_attention.attention()
    shapes = [(3, 16, 64)] * 3 + [(16, 16)]
    program = mind_runtime.compile(m)
    for given_ in (m, program):
        assert mind_runtime.output_shapes(given_, *shapes) == ((3, 16, 64),)
    arrays = [np.empty(x, np.float32) for x in shapes]
    assert program.output_shapes(*arrays) == ((3, 16, 64),)
    assert failure(mind_runtime.output_shapes, m, *shapes[1:]).code == "E2007"
    for wrong in (5, (2.0,), (-1, 2, 64), ("a",), None, (1 << 70, 1, 64), (True, 16, 64)):
        assert failure(program.output_shapes, wrong, *shapes[1:]).code == "E7001"
    assert failure(mind_runtime.output_shapes, m, (2, 16), *shapes[1:]).code == "E2001"
    assert failure(mind_runtime.output_shapes, m, (2, 16, 64), *shapes[1:]).code == "E8001"


def test_output_shapes_of_static_programs_of_core_ir_and_of_what_only_a_run_can_tell() -> None:
    core = parse("""func.func @f(%x: tensor<2x3xf32>) -> tensor<f32> {
      %0 = mind.sum %x axes = [] keepdims = false : tensor<2x3xf32> -> tensor<f32>
      func.return %0 : tensor<f32>
    }""")
    assert mind_runtime.output_shapes(core, (2, 3)) == ((),)
    assert mind_runtime.compile(core).output_shapes((2, 3)) == ((),)
    assert failure(mind_runtime.output_shapes, core, (3, 2)).code == "E2001"
    call = """%y = ptir.custom_call %x target = "test.any.v1" attrs = {} : tensor<?xf32, "B"> -> tensor<?x2x?xf32, "B,*,*">
      %z = ptir.neg %y : tensor<?x2x?xf32, "B,*,*">
      func.return %z : tensor<?x2x?xf32, "B,*,*">"""
    m = module(call, '%x: tensor<?xf32, "B">', 'tensor<?x2x?xf32, "B,*,*">')
    assert mind_runtime.output_shapes(m, (7,)) == ((7, 2, "?"),)


# Programs for bindings


LOOP = """%n = ptir.reduce %x kind = sum axes = [1] keepdims = false : tensor<?x?xf32, "B,T"> -> tensor<?xf32, "B">
  %s:2 = ptir.scan %n, %x carry_count = 1 scan_output_count = 1
    : (tensor<?xf32, "B">, tensor<?x?xf32, "B,T">) -> (tensor<?xf32, "B">, tensor<?x?xf32, "B,T">) body {
  ^bb0(%c: tensor<?xf32, "B">, %row: tensor<?xf32, "T">):
    %d = ptir.exp %row : tensor<?xf32, "T">
    ptir.yield %c, %d : tensor<?xf32, "B">, tensor<?xf32, "T">
  }
  %o = ptir.dot_general %s#1, %x batch_lhs = [] batch_rhs = [] contract_lhs = [1] contract_rhs = [1]
    : (tensor<?x?xf32, "B,T">, tensor<?x?xf32, "B,T">) -> tensor<?x?xf32, "B,B">
  func.return %o, %s#0 : tensor<?x?xf32, "B,B">, tensor<?xf32, "B">"""


def test_results_are_the_same_to_the_bit_whether_compiled_for_the_sizes_or_not() -> None:
    loop = module(LOOP, '%x: tensor<?x?xf32, "B,T">', 'tensor<?x?xf32, "B,B">, tensor<?xf32, "B">')
    random = np.random.default_rng(0)
    attention = dynamic_attention.attention(), dynamic_attention.inputs(2, 16)
    for m, arguments in ((loop, [random.standard_normal((3, 5), np.float32)]), attention):
        program = mind_runtime.compile(m)
        results = [program(*arguments)]
        assert len(program.by_sizes) == 0
        assert program.by_sizes.compiled(program.open_shapes(arguments)) is not None
        results += [program(*arguments) for _ in range(3)]
        assert len(program.by_sizes) == 1
        first, *others = [found if isinstance(found, tuple) else (found,) for found in results]
        for found in others:
            assert [(a.dtype, a.shape, a.tobytes()) for a in found] == [(a.dtype, a.shape, a.tobytes()) for a in first]


def test_programs_for_sizes_are_as_many_as_the_limit() -> None:
    body = '%y = ptir.neg %x : tensor<?xf32, "B">\nfunc.return %y : tensor<?xf32, "B">'
    m = module(body, '%x: tensor<?xf32, "B">', 'tensor<?xf32, "B">')
    program = mind_runtime.compile(m, specialize={"eager": True, "max_programs": 16})
    for _ in range(2):
        for n in range(40):
            assert program(np.ones(n, np.float32)).tolist() == [-1] * n
        assert len(program.by_sizes) == 16
    never = mind_runtime.compile(m, specialize="eager max_programs=0")
    assert never(np.ones(3, np.float32)).tolist() == [-1] * 3
    assert len(never.by_sizes) == 0


def test_what_cannot_be_bound_runs_in_general() -> None:
    """A dimension without a name, and one that only a result names."""
    body = """%c = ptir.concat %x, %x axis = 0 : (tensor<?xf32, "B">, tensor<?xf32, "B">) -> tensor<?xf32, "C">
              func.return %c : tensor<?xf32, "C">"""
    plain = """%y = ptir.concat %x, %x axis = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
               func.return %y : tensor<?xf32>"""
    named = module(body, '%x: tensor<?xf32, "B">', 'tensor<?xf32, "C">')
    for m in (named, module(plain, "%x: tensor<?xf32>", "tensor<?xf32>")):
        program = mind_runtime.compile(m, specialize="eager")
        for _ in range(4):
            assert program(np.ones(3, np.float32)).tolist() == [1] * 6
        assert len(program.by_sizes) == 0
        assert program.output_shapes((3,)) == ((6,),)


def test_a_branch_that_does_not_run_may_be_wrong_for_the_sizes() -> None:
    body = """%y = ptir.cond %p, %x : (tensor<i1>, tensor<?xf32, "B">) -> tensor<4xf32> true {
      ^bb0(%a: tensor<?xf32, "B">):
        %s = ptir.slice %a starts = [0] sizes = [4] : tensor<?xf32, "B"> -> tensor<4xf32>
        ptir.yield %s : tensor<4xf32>
      } false {
      ^bb0(%a: tensor<?xf32, "B">):
        %c = ptir.constant fill 0.0 : tensor<4xf32>
        ptir.yield %c : tensor<4xf32>
      }
      func.return %y : tensor<4xf32>"""
    m = module(body, '%p: tensor<i1>, %x: tensor<?xf32, "B">', "tensor<4xf32>")
    program = mind_runtime.compile(m)
    x = np.ones(3, np.float32)
    for _ in range(3):
        assert program(np.array(False), x).tolist() == [0] * 4
        assert failure(program, np.array(True), x).code == "E4012"
    assert program.output_shapes((), (3,)) == ((4,),)


def test_an_error_of_a_program_for_a_binding_names_the_op_of_the_module() -> None:
    body = """%y = ptir.div %x, %x : tensor<?xsi32, "B">
      func.return %y : tensor<?xsi32, "B">"""
    m = module(body, '%x: tensor<?xsi32, "B">', 'tensor<?xsi32, "B">')
    program = mind_runtime.compile(m, specialize="eager")
    division = next(op for op in m.walk() if op.name == "ptir.div")
    for _ in range(3):
        assert program(np.ones(2, np.int32)).tolist() == [1, 1]
        e = failure(program, np.zeros(2, np.int32))
        assert (e.code, e.op) == ("E8004", division)
    assert len(program.by_sizes) == 1


def test_threads_share_the_programs() -> None:
    program = mind_runtime.compile(dynamic_attention.attention())
    wanted = {b: dynamic_attention.expected(*dynamic_attention.inputs(b, 16)) for b in (1, 2, 3)}
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for i in range(30):
                b = 1 + i % 3
                np.testing.assert_allclose(program(*dynamic_attention.inputs(b, 16)), wanted[b], rtol=2e-4, atol=2e-5)
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_the_demo(capsys: pytest.CaptureFixture[str]) -> None:
    dynamic_attention.main()
    assert capsys.readouterr().out.splitlines() == [
        "for T = 20, at compile time:",
        "  E3001: broadcast_to %near: cannot broadcast [16, 16] to ['B', 20, 20]: 16 and 20 at dimension 1, "
        "expected equal or 1 and any",
        "for two sizes of B, before any kernel:",
        "  E8001: input v of @attention: dimension 0, B, has size 3, elsewhere 2; expected one size",
        "for T = 20, before any kernel:",
        "  E3001: broadcast_to %near: operands could not be broadcast together with shapes (16,16) (2,20,20)"
        "; B is dimension 0 of input q, T is dimension 1 of input q",
        "shapes without running: ((8, 16, 64),)",
        "the results are NumPy's",
    ]


def test_a_hole_in_a_shape_of_no_elements_is_refused_as_numpy_does() -> None:
    """The name that cancels may be 0; then any number would do for the hole."""
    body = """%y = ptir.reshape %x new_shape = [B, 2, -1] : tensor<?x6xf32, "B,*"> -> tensor<?x2x3xf32, "B,*,*">
      func.return %y : tensor<?x2x3xf32, "B,*,*">"""
    program = mind_runtime.compile(module(body, '%x: tensor<?x6xf32, "B,*">', 'tensor<?x2x3xf32, "B,*,*">'))
    assert program.output_shapes((4, 6)) == ((4, 2, 3),)
    with pytest.raises(ValueError, match="cannot reshape"):
        np.zeros((0, 6)).reshape(0, 2, -1)
    assert failure(program.output_shapes, (0, 6)).code == "E3007"


def test_no_updates_reach_nowhere() -> None:
    for n, fits in ((0, True), (1, False)):
        block = Block(arg_types=[tensor_type(F32, (n,))])
        made = core.SliceScatterOp.create(
            operands=block.args,
            properties=core.SliceScatterOp.store_properties({"shape": [4], "starts": [9], "steps": [1]}),
            result_types=[tensor_type(F32, (4,))],
        )
        e = Emitter(block)
        emit_shapes(e, made, [e.shape_of(block.args[0], 1)])
        assert (not e.faults) == fits


def test_holes_between_no_elements_of_what_was_made_equal_are_none() -> None:
    """One place less than none is no size; there are no holes then."""
    body = """%c = ptir.constant "0x" : tensor<4x0xf32>
      %d = ptir.broadcast_to %c result_shape = [N, 4, 0] : tensor<4x0xf32> -> tensor<?x4x0xf32, "N,*,*">
      %m = ptir.maximum %x, %d : tensor<?x4x0xf32, "N,*,*">
      %y = ptir.pad %m low = [0, 0, 1] high = [0, 1, 3] interior = [0, 2, 2] pad_value = 2.0 : f32
          : tensor<?x4x0xf32, "N,*,*"> -> tensor<?x11x4xf32, "N,*,*">
      func.return %y : tensor<?x11x4xf32, "N,*,*">"""
    program = mind_runtime.compile(module(body, '%x: tensor<?x4x0xf32, "N,*,*">', 'tensor<?x11x4xf32, "N,*,*">'))
    assert program(np.zeros((2, 4, 0), np.float32)).tolist() == np.full((2, 11, 4), 2.0).tolist()
    assert program.output_shapes((3, 4, 0)) == ((3, 11, 4),)
