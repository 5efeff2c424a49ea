"""
An example of each error that no FileCheck test shows: a command or some Python, and what its message says.

They are on the reference page of the error codes; a test runs them all, and finds a code without an example.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ErrorExample:
    """
    What raises an error: lines of a shell, or of Python that ends in the error.

    `file` is a name and a text that the shell's command reads; `needs` is a module without which it does not run.
    """

    message: str
    shell: str = ""
    python: str = ""
    file: tuple[str, str] | None = None
    needs: str = ""

    def markdown(self, code: str) -> str:
        """Return the blocks of the reference page: the file, the commands or Python, and the message."""
        file = "" if self.file is None else f'```text title="{self.file[0]}"\n{self.file[1].rstrip()}\n```\n\n'
        language, source = ("sh", self.shell) if self.shell else ("python", self.python)
        head = f"error[{code}]" if self.shell else code
        message = self.message.strip(" :")
        dots = "" if self.message[:1].isalnum() and message == self.message else "... "
        return f"{file}```{language}\n{source.rstrip()}\n```\n\n```text\n{head}: {dots}{message}\n```"


def _program(body: str, inputs: str = "%x: tensor<2xf32>", result: str = "tensor<2xf32>", head: str = "") -> str:
    return f"func.func @f({inputs}) -> {result}{head} {{\n{body}\n}}\n"


_TRACED = "import numpy as np\nimport mind_array as ma\n\n"
_LOSS = _program("  %0 = mind.exp %x : tensor<2xf32>\n  func.return %0 : tensor<2xf32>")
_CORE = "%0 = Input {name=x} : tensor<f32[2]>\n%1 = Neg (%0)\n"
_DIMS = _program(
    '  %0 = ptir.exp %x : tensor<?xf32, "T">\n  func.return %0 : tensor<?xf32, "T">',
    '%x: tensor<?xf32, "T">',
    'tensor<?xf32, "T">',
    " attributes {mind.dims = FACTS}",
)
_CALL = _program(
    '  %0 = ptir.custom_call %x target = "my_project.scale.v1" attrs = {} : tensor<2xf32>\n  func.return %0 : tensor<2xf32>'
)
_SIZES = """\
func.func @index(%n: !shape.size) -> index {
  %0 = shape.size_to_index %n : !shape.size
  func.return %0 : index
}
func.func @again(%n: !shape.size) -> !shape.size {
  %0 = func.call @again(%n) : (!shape.size) -> !shape.size
  func.return %0 : !shape.size
}
"""
_WRONG_RULE = """\
from mind_dialect.core import NegOp, SumOp
from mind_passes.autodiff import GradientOptions, differentiate
from mind_passes.derivatives.core import RULES
from mind_tools.frontends import load

RULES[NegOp] = (lambda op, g: SumOp(g, axes=(), keepdims=False),)
differentiate(load("neg.mlir"), options=GradientOptions(seed="ones"))
"""
_BROKEN_TARGET = """\
import numpy as np
from mind_runtime import compile
from mind_runtime.executors import Executor, register_executor
from mind_runtime.translated import TranslatedProgram
from mind_tools.frontends import load

class Broken(TranslatedProgram):
    target = "broken"

    def build(self, func):
        def run(arguments, seed):
            raise RuntimeError("the device is gone")
        return run

register_executor("broken", Executor(lambda request: Broken.of(request)))
compile(load("exp.mlir"), target="broken")(np.ones(2, np.float32))
"""
_LOSSY_OP = """\
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, opt_prop_def
from xdsl.dialects.builtin import IntegerAttr
from mind_tools.roundtrip import check_roundtrip

@irdl_op_definition
class Lossy(IRDLOperation):
    name = "demo.lossy"
    count = opt_prop_def(IntegerAttr)

    def print(self, printer):
        pass

    @classmethod
    def parse(cls, parser):
        return cls()

context = Context()
context.load_dialect(Builtin)
context.load_dialect(Dialect("demo", [Lossy]))
check_roundtrip(ModuleOp([Lossy(properties={"count": IntegerAttr(1, 32)})]), context)
"""

EXAMPLES: dict[str, ErrorExample] = {
    "E1001": ErrorExample("invalid UTF-8 at offset 0: [0xFF]", shell="printf '\\xff' > bad.coreir\nmind-opt bad.coreir"),
    "E1002": ErrorExample("invalid character '$'", shell="mind-opt bad.coreir", file=("bad.coreir", "%0 = Neg (%$a)\n")),
    "E1003": ErrorExample("unterminated string", shell="mind-opt bad.coreir", file=("bad.coreir", '# @f {a.b="text}\n')),
    "E1004": ErrorExample(
        "unknown escape \\q, expected one of JSON's",
        shell="mind-opt bad.coreir",
        file=("bad.coreir", '%0 = Input {name="a\\q"} : tensor<f32[2]>\n'),
    ),
    "E1101": ErrorExample(
        "it has no elements while the function is traced; use ma.where(c, x, y) for elements",
        python=_TRACED + "ma.jit(lambda x: -x if x.sum() > 0 else x)(np.ones(3, np.float32))\n",
        needs="optree",
    ),
    "E1102": ErrorExample(
        "left the function traced at ",
        python=_TRACED + "kept = []\nma.jit(lambda x: kept.append(x) or x)(np.ones(3, np.float32))\nma.exp(kept[0])\n",
        needs="optree",
    ),
    "E1103": ErrorExample(
        "an array is not assigned to while a function is traced; write x = x.at[0].set(value)",
        python=_TRACED + "def f(x):\n    x[0] = 1.0\n    return x\n\nma.jit(f)(np.ones(3, np.float32))\n",
        needs="optree",
    ),
    "E1104": ErrorExample(
        "cond: the branches return (*, *)",
        python=_TRACED + "x = np.ones(3, np.float32)\nma.jit(lambda x: ma.cond(x[0] > 0, lambda: (x, x), lambda: x))(x)\n",
        needs="optree",
    ),
    "E1105": ErrorExample(
        "x is a str, expected an array or a number; make the argument static: jit(static=...)",
        python=_TRACED + 'ma.jit(lambda x: x)("text")\n',
        needs="optree",
    ),
    "E1106": ErrorExample(
        " calls itself with the signature ",
        python=_TRACED + "@ma.jit\ndef f(x):\n    return f(x + 1)\n\nf(np.ones(3, np.float32))\n",
        needs="optree",
    ),
    "E1107": ErrorExample(
        "float32 and int32 do not promote to one dtype; cast one of them with ma.astype(x, ma.float32)",
        python=_TRACED + "ma.jit(lambda x, n: x + n)(np.ones(2, np.float32), np.ones(2, np.int32))\n",
        needs="optree",
    ),
    "E1108": ErrorExample(
        "unique_values: the size of the result depends on data, and the array is traced",
        python=_TRACED + "ma.jit(lambda x: ma.unique_values(x))(np.ones(3, np.float32))\n",
        needs="optree",
    ),
    "E1109": ErrorExample(
        "dimension 'B' has no size while the function is traced",
        python=_TRACED + 'ma.jit(lambda x: [0.0] * x.shape[0], sizes={"x": ("B",)})(np.ones(3, np.float32))\n',
        needs="optree",
    ),
    "E1110": ErrorExample(
        "conv: padding is 'full', expected 'same', 'valid', an integer, or 2 integers",
        python=_TRACED + 'ma.nn.conv(np.ones((1, 4, 4, 1)), np.ones((2, 2, 1, 1)), padding="full")\n',
        needs="optree",
    ),
    "E2002": ErrorExample(
        "ptir.entry is \"g\", expected one of ['f']",
        shell="mind-run --lenient bad.mlir x=[1,2]",
        file=("bad.mlir", 'builtin.module attributes {ptir.entry = "g"} {\n' + _LOSS.replace("mind.exp", "ptir.exp") + "}\n"),
    ),
    "E2003": ErrorExample(
        "the type of Input %0 is missing", shell="mind-opt bad.coreir", file=("bad.coreir", "%0 = Input {name=x}\n")
    ),
    "E4003": ErrorExample(
        "output 1 is %2, which is not defined", shell="mind-opt bad.coreir", file=("bad.coreir", _CORE + "outputs: %1, %2\n")
    ),
    "E5002": ErrorExample(
        "Neg %0: the adjoint of an operand of type tensor<2xf32> has type tensor<f32>",
        python=_WRONG_RULE,
        file=("neg.mlir", _LOSS.replace("exp", "neg")),
    ),
    "E5003": ErrorExample(
        "axis 3 is out of range for rank 2, expected -2 <= axis < 2",
        shell="mind-opt bad.mlir --disable-verify --autodiff='seed=ones verify=false'",
        file=(
            "bad.mlir",
            _program(
                "  %0 = mind.sum %x axes = [3] keepdims = false : tensor<2x2xf64> -> tensor<2xf64>\n"
                "  func.return %0 : tensor<2xf64>",
                "%x: tensor<2x2xf64>",
                "tensor<2xf64>",
            ),
        ),
    ),
    "E6001": ErrorExample(
        "Gather %0: index [5] is out of bounds for shape [2], expected 0 <= index < extent",
        shell="mind-run take.mlir --all fill:5",
        file=(
            "take.mlir",
            _program(
                "  %0 = mind.gather %x, %i : (tensor<2xf32>, tensor<1xi32>) -> tensor<1xf32>\n  func.return %0 : tensor<1xf32>",
                "%x: tensor<2xf32>, %i: tensor<1xi32>",
                "tensor<1xf32>",
            ),
        ),
    ),
    "E6002": ErrorExample(
        "target 'tpu' is not available, expected one of ['numpy', 'native', 'cupy', 'xla', 'onnx', 'iree']",
        shell="mind-run exp.mlir --all fill:1 --target tpu",
        file=("exp.mlir", _LOSS),
    ),
    "E6004": ErrorExample(
        "cannot allocate f32[] on numpy: ",
        shell="mind-run big.mlir --all fill:1",
        file=(
            "big.mlir",
            _program(
                "  %0 = mind.add %x, %y : (tensor<4000000x1xf32>, tensor<1x4000000xf32>) -> tensor<4000000x4000000xf32>\n"
                "  %1 = mind.sum %0 axes = [] keepdims = false : tensor<4000000x4000000xf32> -> tensor<f32>\n"
                "  func.return %1 : tensor<f32>",
                "%x: tensor<4000000x1xf32>, %y: tensor<1x4000000xf32>",
                "tensor<f32>",
            ),
        ),
    ),
    "E6006": ErrorExample(
        "Div %0: division of the integer 7 by 0, expected another divisor",
        shell="mind-run --lenient ratio.mlir a=[7] b=[0]",
        file=(
            "ratio.mlir",
            _program(
                "  %0 = mind.div %a, %b : tensor<1xi32>\n  func.return %0 : tensor<1xi32>",
                "%a: tensor<1xi32>, %b: tensor<1xi32>",
                "tensor<1xi32>",
                ' attributes {mind.profile = "core-v1.1"}',
            ),
        ),
    ),
    "E6007": ErrorExample(
        "the call took longer than 0.2 s, which is its limit",
        shell="mind-run --lenient long.mlir --all fill:1 --time-limit 0.2",
        file=(
            "long.mlir",
            _program(
                "  %0 = ptir.while %x : (tensor<f32>) -> tensor<f32> cond {\n  ^bb0(%a: tensor<f32>):\n"
                "    %t = ptir.compare %a, %a kind = equal : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
                "    ptir.yield %t, %a : tensor<i1>, tensor<f32>\n"
                "  } body {\n  ^bb0(%b: tensor<f32>):\n    %c = ptir.sin %b : tensor<f32>\n    ptir.yield %c : tensor<f32>\n  }\n"
                "  func.return %0 : tensor<f32>",
                "%x: tensor<f32>",
                "tensor<f32>",
            ),
        ),
    ),
    "E6008": ErrorExample("@f failed in broken: the device is gone", python=_BROKEN_TARGET, file=("exp.mlir", _LOSS)),
    "E7002": ErrorExample("none.mlir: No such file or directory", shell="mind-opt none.mlir"),
    "E7003": ErrorExample(
        "wrt=y names no value of @f, expected an id below 2 or one of ['x']",
        shell="mind-opt exp.mlir --autodiff=wrt=y",
        file=("exp.mlir", _LOSS),
    ),
    "E7004": ErrorExample(
        "pass apply-pdl-interp: AssertionError: matcher function not found",
        shell="mind-opt exp.mlir -p apply-pdl-interp",
        file=("exp.mlir", _LOSS),
    ),
    "E7005": ErrorExample(
        "the expected error 'E3007' on line 1 was not produced",
        shell="mind-opt exp.mlir --verify-diagnostics",
        file=("exp.mlir", "// expected-error {{E3007}}\n" + _LOSS),
    ),
    "E7006": ErrorExample("the text of demo.lossy reads as something else", python=_LOSSY_OP),
    "E8004": ErrorExample(
        "div %0: division of the integer 7 by 0, expected another divisor",
        shell="mind-run --lenient ratio.mlir a=[7] b=[0]",
        file=(
            "ratio.mlir",
            _program(
                "  %0 = ptir.div %a, %b : tensor<1xsi32>\n  func.return %0 : tensor<1xsi32>",
                "%a: tensor<1xsi32>, %b: tensor<1xsi32>",
                "tensor<1xsi32>",
            ),
        ),
    ),
    "E8007": ErrorExample(
        "custom call 'my_project.scale.v1' is not registered",
        shell="mind-run --lenient call.mlir --all fill:1",
        file=(
            "call.mlir",
            _CALL,
        ),
    ),
    "E8008": ErrorExample(
        "onnx cannot express 1 thing of this program",
        shell="mind-opt --lenient call.mlir -t onnx -o call.onnx",
        file=(
            "call.mlir",
            _CALL,
        ),
        needs="onnx",
    ),
    "E8009": ErrorExample(
        "func.func: mind.dims: T >= 8 (T >= 8) contradicts T in 1..4",
        shell="mind-opt --lenient dims.mlir",
        file=("dims.mlir", _DIMS.replace("FACTS", '["T in 1..4", "T >= 8"]')),
    ),
    "E8010": ErrorExample(
        "input x of @f has size 3 as dimension 0, T; declared is 'T % 2 == 0'",
        shell="mind-run --lenient dims.mlir 'x=[1, 2, 3]'",
        file=("dims.mlir", _DIMS.replace("FACTS", '["T % 2 == 0"]')),
    ),
    "E9021": ErrorExample(
        "size_to_index: the result is ?, which index cannot hold",
        shell="mind-run sizes.mlir --function index n=?",
        file=("sizes.mlir", _SIZES),
    ),
    "E9022": ErrorExample(
        "functions call each other too deep, or for ever",
        shell="mind-run sizes.mlir --function again n=1",
        file=("sizes.mlir", _SIZES),
    ),
}
