"""ONNX's own node tests, as the `onnx` package makes them when they are loaded."""

import functools
import unittest
import warnings
from typing import NamedTuple

import onnx
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

import unishape.onnx
from onnx_compare import APPROXIMATE, difference

#: The operators that broadcast, as the project set out to have them.
BROADCASTING = frozenset(
    "Add Sub Mul Div Mod Pow Max Min Sum Mean And Or Xor BitShift BitwiseAnd BitwiseOr BitwiseXor Equal Greater "
    "GreaterOrEqual Less LessOrEqual Where StringConcat Expand PRelu".split()
)
#: The element-wise operators between them, and those that shapes are made with.
OTHERS = frozenset(
    "Abs Neg Sign Exp Log Sqrt Sigmoid Tanh Floor Ceil Reciprocal Round Erf Sin Cos Tan Asin Acos Atan Sinh Cosh "
    "Asinh Acosh Atanh Relu LeakyRelu Elu Selu HardSigmoid Softplus Softsign Celu ThresholdedRelu HardSwish Mish Gelu "
    "Swish Clip Cast CastLike Not BitwiseNot IsNaN IsInf Identity Constant ConstantOfShape Shape Size Concat Gather "
    "Slice Reshape Squeeze Unsqueeze".split()
)
#: Models that the package has as files.
MODELS = tuple(f"test_expand_shape_model{number}" for number in (1, 2, 3, 4))

#: NumPy, which ONNX's expected outputs are computed with, is up to 4 ulp off in its functions of floating point
#: (where it has them vectorised), and ours is at most 1 (docs/accuracy.md).
ULPS = 4
#: 1 + erf(x) and 1 + tanh(x) are near 0 for x about -2, and what is left there has lost up to five bits, in the
#: suite as here.
MORE_ULPS = {"Gelu": 32}


class Case(NamedTuple):
    name: str
    op_type: str
    dtype: str


class OwnRunner(Runner):
    """ONNX's runner, with comparisons that see the last bit. The suite's own let 1e-3 pass."""

    compared = 0

    @classmethod
    def assert_similar_outputs(cls, ref_outputs, outputs, rtol, atol, model_dir=None):
        assert len(outputs) == len(ref_outputs)
        for result, expected in zip(outputs, ref_outputs):
            wrong = difference(result, expected, cls.ulps)
            assert wrong is None, wrong
        OwnRunner.compared += 1


def elem_name(number):
    return onnx.TensorProto.DataType.Name(number).lower()


def deciding_type(model):
    """The type that an operator is said to be run for: that of its first input, or of what Where chooses from."""
    node, inputs = model.graph.node[0], model.graph.input
    if not inputs:
        return elem_name(model.graph.output[0].type.tensor_type.elem_type)
    which = node.input[1 if node.op_type == "Where" else 0]
    value = next((value for value in inputs if value.name == which), inputs[0])
    return elem_name(value.type.tensor_type.elem_type)


def types_of(model):
    """The names of all types in a model's signature; what is no tensor has none."""
    for value in [*model.graph.input, *model.graph.output]:
        kind = value.type.WhichOneof("value")
        yield elem_name(value.type.tensor_type.elem_type) if kind == "tensor_type" else None


#: The types that are computed with; the node tests of others are not for us.
TYPES = tuple(
    "float uint8 int8 uint16 int16 int32 int64 string bool float16 double uint32 uint64 complex64 complex128 "
    "bfloat16".split()
)


@functools.cache
def suite():
    """All that the package has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own, of numbers that are meant to overflow
        return OwnRunner(unishape.onnx.UnishapeBackend), load_model_tests(kind="node")


@functools.cache
def cases():
    """Those that are for us: one node, of an operator of ours, of types that are computed with."""
    chosen = []
    for test in suite()[1]:
        nodes = test.model.graph.node
        if len(nodes) != 1 or nodes[0].domain or nodes[0].op_type not in BROADCASTING | OTHERS:
            continue
        if nodes[0].op_type in BROADCASTING or all(dtype in TYPES for dtype in types_of(test.model)):
            chosen.append(Case(test.name, nodes[0].op_type, deciding_type(test.model)))
    return chosen + [Case(name, "Expand", "model") for name in MODELS]


@functools.cache
def functions():
    """What the suite would run, by name, once it has been told what to include."""
    runner, _ = suite()
    for case in cases():
        runner.include(f"^{case.name}_cpu$")
    tests = {}
    for kind in runner.test_cases.values():
        for name in unittest.defaultTestLoader.getTestCaseNames(kind):
            function = getattr(kind, name)
            if not getattr(function, "__unittest_skip__", False):
                tests[name.removesuffix("_cpu")] = function
    return tests


@functools.cache
def outcome(case):
    """What is wrong with a case, or None. Remembered, so that a table can be made of it without running it again."""
    OwnRunner.ulps = MORE_ULPS.get(case.op_type, ULPS) if case.op_type in APPROXIMATE else 0
    before = OwnRunner.compared
    try:
        functions()[case.name](None)
    except Exception as error:  # whatever it is, it is what is wrong
        return f"{type(error).__name__}: {error}"
    # The suite takes it for a success if a backend says that it is not supposed to implement something.
    return None if OwnRunner.compared > before else "nothing was compared"
