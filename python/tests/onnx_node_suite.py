"""The node tests of the `onnx` package, which generates them on import."""

import functools
import unittest
import warnings
from typing import NamedTuple

import onnx
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

import unishape.onnx
from onnx_compare import APPROXIMATE, NORMALIZED, SUMS, difference, near_one

#: Operators that broadcast.
BROADCASTING = frozenset(
    "Add Sub Mul Div Mod Pow Max Min Sum Mean And Or Xor BitShift BitwiseAnd BitwiseOr BitwiseXor Equal Greater "
    "GreaterOrEqual Less LessOrEqual Where StringConcat Expand PRelu".split()
)
#: Unary element-wise operators and shape operators.
OTHERS = frozenset(
    "Abs Neg Sign Exp Log Sqrt Sigmoid Tanh Floor Ceil Reciprocal Round Erf Sin Cos Tan Asin Acos Atan Sinh Cosh "
    "Asinh Acosh Atanh Relu LeakyRelu Elu Selu HardSigmoid Softplus Softsign Celu ThresholdedRelu HardSwish Mish Gelu "
    "Swish Clip Cast CastLike Not BitwiseNot IsNaN IsInf Identity Constant ConstantOfShape Shape Size Concat Gather "
    "Slice Reshape Squeeze Unsqueeze".split()
)
#: Reductions and normalizations.
REDUCING = frozenset(
    "ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare "
    "ArgMax ArgMin Softmax LogSoftmax LayerNormalization RMSNormalization BatchNormalization InstanceNormalization "
    "GroupNormalization".split()
)
SUPPORTED = BROADCASTING | OTHERS | REDUCING
#: Cases of the training mode of BatchNormalization, which unishape refuses.
TRAINING = frozenset({"test_batchnorm_example_training_mode", "test_batchnorm_epsilon_training_mode"})
#: Models in files of the package.
MODELS = tuple(f"test_expand_shape_model{number}" for number in (1, 2, 3, 4))

#: Tolerance in ulp. The expected outputs come from NumPy, whose SIMD functions have errors of up to 4 ulp; unishape's
#: error is at most 1 ulp (docs/accuracy.md).
ULPS = 4
#: 1 + erf(x) and 1 + tanh(x) cancel near x = -2 and lose up to five bits, in NumPy and in unishape.
MORE_ULPS = {"Gelu": 32}
#: Differences to a mean cancel near 0: normalized elements may differ by this many epsilons, relative to 1.
EPSILONS = 4


class Case(NamedTuple):
    name: str
    op_type: str
    dtype: str


class ExactRunner(Runner):
    """The runner of the onnx package with exact comparisons instead of a tolerance of 1e-3."""

    compared = 0
    ulps = 0
    is_normalized = False

    @classmethod
    def assert_similar_outputs(cls, ref_outputs, outputs, rtol, atol, model_dir=None):
        assert len(outputs) == len(ref_outputs)
        for result, expected in zip(outputs, ref_outputs):
            allowed = near_one(result, expected, EPSILONS) if cls.is_normalized else None
            failure = difference(result, expected, cls.ulps, allowed)
            assert failure is None, failure
        ExactRunner.compared += 1


def elem_name(number):
    return onnx.TensorProto.DataType.Name(number).lower()


def element_type(model):
    """Element type of a case: that of the first input, or of the second for Where."""
    node, inputs = model.graph.node[0], model.graph.input
    if not inputs:
        return elem_name(model.graph.output[0].type.tensor_type.elem_type)
    typed_input = node.input[1 if node.op_type == "Where" else 0]
    value = next((value for value in inputs if value.name == typed_input), inputs[0])
    return elem_name(value.type.tensor_type.elem_type)


def types_of(model):
    """Element types of all inputs and outputs of a model; None for a value that is not a tensor."""
    for value in [*model.graph.input, *model.graph.output]:
        kind = value.type.WhichOneof("value")
        yield elem_name(value.type.tensor_type.elem_type) if kind == "tensor_type" else None


#: Supported element types.
TYPES = tuple(
    "float uint8 int8 uint16 int16 int32 int64 string bool float16 double uint32 uint64 complex64 complex128 "
    "bfloat16".split()
)


@functools.cache
def suite():
    """The runner and all node tests of the package."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # intended overflows in the package's own code
        return ExactRunner(unishape.onnx.UnishapeBackend), load_model_tests(kind="node")


@functools.cache
def cases():
    """The tested cases: models of one node, with a supported operator and supported element types."""
    chosen = []
    for test in suite()[1]:
        nodes = test.model.graph.node
        if len(nodes) != 1 or nodes[0].domain or nodes[0].op_type not in SUPPORTED or test.name in TRAINING:
            continue
        if nodes[0].op_type in BROADCASTING or all(dtype in TYPES for dtype in types_of(test.model)):
            chosen.append(Case(test.name, nodes[0].op_type, element_type(test.model)))
    return chosen + [Case(name, "Expand", "model") for name in MODELS]


@functools.cache
def expanded():
    """Functions of ONNX as graphs of other operators, among them reductions: tests with several supported nodes."""
    chosen = []
    for test in suite()[1]:
        operators = {node.op_type for node in test.model.graph.node}
        if len(test.model.graph.node) > 1 and operators & REDUCING and operators <= SUPPORTED:
            chosen.append(test)
    return chosen


@functools.cache
def functions():
    """Test functions of the suite, by case name."""
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
    """Failure of a case, or None. Cached, because the conformance page uses the results again."""
    is_exact = case.op_type not in APPROXIMATE | SUMS | NORMALIZED
    ExactRunner.ulps = 0 if is_exact else MORE_ULPS.get(case.op_type, ULPS)
    ExactRunner.is_normalized = case.op_type in NORMALIZED
    before = ExactRunner.compared
    try:
        functions()[case.name](None)
    except Exception as error:  # any exception is a failure of the case
        return f"{type(error).__name__}: {error}"
    # The suite counts a case as passed if the backend declares it unsupported.
    return None if ExactRunner.compared > before else "nothing was compared"
