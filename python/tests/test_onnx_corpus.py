"""All operators against ONNX Runtime, in cases that the node tests of the onnx package do not cover."""

import os

import pytest

if "CI" not in os.environ:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")

import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import helper  # noqa: E402

import onnx_cells  # noqa: E402
import onnx_corpus as corpus  # noqa: E402
import onnx_disagreements  # noqa: E402
import onnx_oracles  # noqa: E402
import unishape.onnx  # noqa: E402
from onnx_node_suite import TYPES  # noqa: E402


@pytest.mark.parametrize("cell", onnx_cells.cells(), ids=str)
def test_cell(cell):
    found = corpus.outcome(cell)
    assert found.failure is None, found.failure
    assert found.cases or found.unchecked


def test_every_operator_and_type_is_covered():
    """Each version of each operator, for each of its element types that unishape supports."""
    for op_type in onnx_cells.OPERATORS:
        for opset in onnx_cells.versions(op_type):
            schema = onnx_cells.schema_of(op_type, opset)
            covered = {cell.dtype for cell in onnx_cells.cells() if (cell.op_type, cell.opset) == (op_type, opset)}
            assert covered == set(onnx_cells.tensor_types(schema, onnx_cells.typed_input(op_type))), (op_type, opset)


def test_shapes_cover_all_kinds():
    for shapes in (onnx_cells.PAIRS, onnx_cells.TRIPLES, onnx_cells.UNIDIRECTIONAL):
        sizes = [size for each in shapes for shape in each for size in shape]
        ranks = {len(shape) for each in shapes for shape in each}
        assert 0 in sizes and 0 in ranks and max(ranks) > 4
        inputs = range(len(shapes[0])) if shapes is not onnx_cells.UNIDIRECTIONAL else [1]
        for index in inputs:
            assert any(each[index] != np.broadcast_shapes(*each) for each in shapes)


def test_no_disagreement_is_stale():
    """Every listed disagreement occurs; a stale one could hide a new error."""
    seen = frozenset().union(*(corpus.outcome(cell).disagreements for cell in onnx_cells.cells()))
    assert [known.subject for known in onnx_disagreements.DISAGREEMENTS if known.subject not in seen] == []


#: Operator, error in ulp, opset and attributes.
WRONG_RESULTS = [
    ("Add", 1, 14, ()),
    ("Exp", 9, 13, ()),
    ("Where", 1, 16, ()),
    ("Sigmoid", 2048, 13, ()),
    ("ReduceMax", 1, 13, (("axes", (1,)),)),
    ("ReduceSum", 2048, 13, (("axes", (1,)),)),
    ("Softmax", 2048, 13, ()),
    ("LayerNormalization", 2048, 17, ()),
]


def test_wrong_results_are_detected(monkeypatch):
    """An error of one ulp in one element, or of a few ulp for approximated functions, is a failure."""
    correct_call = unishape.onnx.Model.__call__

    def wrong_call(self, **inputs):
        outputs = correct_call(self, **inputs)
        if outputs["y"].size > 1:
            outputs["y"].view("i4").flat[1] += error
        return outputs

    monkeypatch.setattr(unishape.onnx.Model, "__call__", wrong_call)
    for op_type, error, opset, attributes in WRONG_RESULTS:
        cell = onnx_cells.Cell(op_type, opset, "float", attributes, None)
        assert cell in onnx_cells.cells()
        found = corpus.outcome.__wrapped__(cell)
        assert found.failure and found.oracle == "ONNX Runtime", op_type


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", ml_dtypes.bfloat16])
def test_max_and_min_return_the_first_of_equal_numbers(dtype):
    """At any position in an array, with and without broadcasting."""
    zeros = np.array([0.0, -0.0] * 50 + [0.0], dtype)
    for op_type in ("Max", "Min"):
        node = helper.make_node(op_type, ["a", "b"], ["y"])
        for other in (-zeros, zeros[:1], zeros[1:2], zeros[1]):
            (result,) = unishape.onnx.run_node(node, [zeros, np.asarray(other)])
            assert np.array_equal(np.signbit(result), np.signbit(zeros))


def test_few_cases_have_no_oracle():
    """Casts between strings and bfloat16, and operators whose reference does not support rank 0."""
    cells = [cell for cell in onnx_cells.cells() if corpus.outcome(cell).unchecked]
    unchecked = {(cell.op_type, cell.dtype, cell.other) for cell in cells}
    casts = {(op, *pair) for op in ("Cast", "CastLike") for pair in (("bfloat16", "string"), ("string", "bfloat16"))}
    rank_0 = {("ReduceLogSumExp", dtype, None) for dtype in ("float16", "float", "double", "bfloat16")}
    assert unchecked == casts | rank_0 | {("Softsign", "double", None)}


def test_casts_between_bfloat16_and_strings_round_trip():
    """These casts have no oracle."""
    numbers = np.array([1, -0.5, 3.140625, np.inf, np.nan], ml_dtypes.bfloat16)
    to = lambda dtype: helper.make_node("Cast", ["x"], ["y"], to=dtype)
    (strings,) = unishape.onnx.run_node(to(onnx.TensorProto.STRING), [numbers])
    (parsed,) = unishape.onnx.run_node(to(onnx.TensorProto.BFLOAT16), [strings])
    assert parsed.dtype == numbers.dtype and parsed.tobytes() == numbers.tobytes()


@pytest.mark.parametrize("op_type", onnx_cells.OPERATORS)
def test_other_types_are_rejected(op_type):
    """Each version rejects the element types that it does not support; ONNX has no type promotion."""
    for opset in onnx_cells.versions(op_type):
        allowed = onnx_cells.tensor_types(onnx_cells.schema_of(op_type, opset), onnx_cells.typed_input(op_type))
        template = next(cell for cell in onnx_cells.cells() if (cell.op_type, cell.opset) == (op_type, opset))
        for dtype in set(TYPES) - set(allowed):
            cell = template._replace(dtype=dtype)
            arrays = [np.ones(1, onnx_cells.DTYPES[dtype]) for _ in onnx_cells.schema_of(op_type, opset).inputs]
            if op_type == "Where":
                arrays[0] = np.ones(1, bool)
            if op_type == "Expand" or op_type.startswith("Reduce") and len(arrays) > 1:
                arrays[1] = np.zeros(1, "i8")
            if dtype == "string":
                arrays = [array.astype(str).astype(object) if array.dtype == object else array for array in arrays]
            given = {f"x{index}": array for index, array in enumerate(arrays)}
            with pytest.raises(ValueError, match=rf"{op_type}.* supports "):
                unishape.onnx.run(onnx_oracles.model_of(cell, arrays), **given)


UNDEFINED_BY_ONNX = [
    # Integer division by 0, and the one quotient that overflows.
    ("Div", {}, [np.int32([7, -7, 0, -(2**31)]), np.int32([0, 0, 0, -1])], np.int32([0, 0, 0, -(2**31)])),
    ("Div", {}, [np.uint8([7]), np.uint8([0])], np.uint8([0])),
    ("Mod", {"fmod": 0}, [np.int64([7, -7]), np.int64([0, 0])], np.int64([0, 0])),
    ("Mod", {"fmod": 1}, [np.int64([7, -(2**63)]), np.int64([0, -1])], np.int64([0, 0])),
    # Bits that are shifted further than there are any.
    ("BitShift", {"direction": "LEFT"}, [np.uint8([1, 1]), np.uint8([8, 200])], np.uint8([0, 0])),
    ("BitShift", {"direction": "RIGHT"}, [np.uint64([5]), np.uint64([64])], np.uint64([0])),
    # Floating-point numbers out of the range of the integer type.
    ("Cast", {"to": 3}, [np.float32([1e9, -1e9, np.nan, np.inf, 1.9, -1.9])], np.int8([0, 0, 0, 0, 1, -1])),
    ("Cast", {"to": 13}, [np.float64([2.0**64, -1, np.nan])], np.uint64([0, 2**64 - 1, 2**63])),
    # Half-precision sums are rounded once; rounded after each term, 2048 + 1 would stay 2048.
    ("Sum", {}, [np.float16([2048]), np.float16([1]), np.float16([1])], np.float16([2050])),
]


@pytest.mark.parametrize(("op_type", "attributes", "inputs", "expected"), UNDEFINED_BY_ONNX)
def test_undefined_by_onnx(op_type, attributes, inputs, expected):
    """Not compared with ONNX Runtime: undefined behavior in C++, which can abort the process."""
    attributes = dict(attributes)
    if op_type == "Cast":
        attributes["to"] = helper.np_dtype_to_tensor_dtype(expected.dtype)
    names = [f"x{index}" for index in range(len(inputs))]
    (result,) = unishape.onnx.run_node(helper.make_node(op_type, names, ["y"], **attributes), inputs)
    assert result.dtype == expected.dtype and result.tolist() == expected.tolist()
