"""The operators beside ONNX Runtime, where ONNX's own tests do not look."""

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
    assert found.wrong is None, found.wrong
    assert found.cases or found.unasked


def test_every_operator_and_type_is_there():
    """Each version of each operator, for each type that it has in ONNX and that is computed with here."""
    for op_type in onnx_cells.OPERATORS:
        for opset in onnx_cells.versions(op_type):
            schema = onnx_cells.schema_of(op_type, opset)
            here = {cell.dtype for cell in onnx_cells.cells() if (cell.op_type, cell.opset) == (op_type, opset)}
            assert here == set(onnx_cells.tensor_types(schema, onnx_cells.deciding(op_type))), (op_type, opset)


def test_shapes_are_of_every_kind():
    for shapes in (onnx_cells.PAIRS, onnx_cells.TRIPLES, onnx_cells.ONE_WAY):
        sizes = [size for each in shapes for shape in each for size in shape]
        ranks = {len(shape) for each in shapes for shape in each}
        assert 0 in sizes and 0 in ranks and max(ranks) > 4
        inputs = range(len(shapes[0])) if shapes is not onnx_cells.ONE_WAY else [1]
        for at in inputs:
            assert any(each[at] != np.broadcast_shapes(*each) for each in shapes)


def test_no_disagreement_is_stale():
    """What is written down happens: else it would hide what nobody looks for."""
    seen = frozenset().union(*(corpus.outcome(cell).disagreements for cell in onnx_cells.cells()))
    assert [one.what for one in onnx_disagreements.DISAGREEMENTS if one.what not in seen] == []


def test_a_wrong_result_is_seen(monkeypatch):
    """One unit in the last place, in one element, where there is one right result; more where there is none."""
    right = unishape.onnx.Model.__call__

    def wrong(self, **inputs):
        outputs = right(self, **inputs)
        if outputs["y"].size > 1:
            outputs["y"].view("i4").flat[1] += off
        return outputs

    monkeypatch.setattr(unishape.onnx.Model, "__call__", wrong)
    for op_type, off, at in (("Add", 1, 14), ("Exp", 9, 13), ("Where", 1, 16), ("Sigmoid", 2048, 13)):
        cell = onnx_cells.Cell(op_type, at, "float", (), None)
        assert cell in onnx_cells.cells()
        found = corpus.outcome.__wrapped__(cell)
        assert found.wrong and found.oracle == "ONNX Runtime", op_type


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", ml_dtypes.bfloat16])
def test_of_equal_numbers_the_first_is_given(dtype):
    """As it is said of Max and Min: wherever in an array, and broadcast or not."""
    zeros = np.array([0.0, -0.0] * 50 + [0.0], dtype)
    for op_type in ("Max", "Min"):
        node = helper.make_node(op_type, ["a", "b"], ["y"])
        for other in (-zeros, zeros[:1], zeros[1:2], zeros[1]):
            (result,) = unishape.onnx.run_node(node, [zeros, np.asarray(other)])
            assert np.array_equal(np.signbit(result), np.signbit(zeros))


def test_few_are_asked_of_nobody():
    """Text and bfloat16, and one function of the reference, which does not know arrays without dimensions."""
    unasked = {(cell.op_type, cell.dtype, cell.other) for cell in onnx_cells.cells() if corpus.outcome(cell).unasked}
    converted = {(op, *pair) for op in ("Cast", "CastLike") for pair in (("bfloat16", "string"), ("string", "bfloat16"))}
    assert unasked == converted | {("Softsign", "double", None)}


def test_bfloat16_and_text():
    """For which there is nobody to ask."""
    numbers = np.array([1, -0.5, 3.140625, np.inf, np.nan], ml_dtypes.bfloat16)
    to = lambda dtype: helper.make_node("Cast", ["x"], ["y"], to=dtype)
    (words,) = unishape.onnx.run_node(to(onnx.TensorProto.STRING), [numbers])
    (again,) = unishape.onnx.run_node(to(onnx.TensorProto.BFLOAT16), [words])
    assert again.dtype == numbers.dtype and again.tobytes() == numbers.tobytes()


@pytest.mark.parametrize("op_type", onnx_cells.OPERATORS)
def test_other_types_are_refused(op_type):
    """By each version for those that it is not for: ONNX converts by Cast alone."""
    for opset in onnx_cells.versions(op_type):
        allowed = onnx_cells.tensor_types(onnx_cells.schema_of(op_type, opset), onnx_cells.deciding(op_type))
        like = next(cell for cell in onnx_cells.cells() if (cell.op_type, cell.opset) == (op_type, opset))
        for dtype in set(TYPES) - set(allowed):
            cell = like._replace(dtype=dtype)
            arrays = [np.ones(1, onnx_cells.DTYPES[dtype]) for _ in onnx_cells.schema_of(op_type, opset).inputs]
            if op_type == "Where":
                arrays[0] = np.ones(1, bool)
            if op_type == "Expand":
                arrays[1] = np.ones(1, "i8")
            if dtype == "string":
                arrays = [array.astype(str).astype(object) if array.dtype == object else array for array in arrays]
            given = {f"x{at}": array for at, array in enumerate(arrays)}
            with pytest.raises(ValueError, match=rf"{op_type}.* is for "):
                unishape.onnx.run(onnx_oracles.model_of(cell, arrays), **given)


OPEN = [
    # Integers divided by 0, and the one quotient that the type does not hold.
    ("Div", {}, [np.int32([7, -7, 0, -(2**31)]), np.int32([0, 0, 0, -1])], np.int32([0, 0, 0, -(2**31)])),
    ("Div", {}, [np.uint8([7]), np.uint8([0])], np.uint8([0])),
    ("Mod", {"fmod": 0}, [np.int64([7, -7]), np.int64([0, 0])], np.int64([0, 0])),
    ("Mod", {"fmod": 1}, [np.int64([7, -(2**63)]), np.int64([0, -1])], np.int64([0, 0])),
    # Bits that are shifted further than there are any.
    ("BitShift", {"direction": "LEFT"}, [np.uint8([1, 1]), np.uint8([8, 200])], np.uint8([0, 0])),
    ("BitShift", {"direction": "RIGHT"}, [np.uint64([5]), np.uint64([64])], np.uint64([0])),
    # Floating point beyond the range of an integer.
    ("Cast", {"to": 3}, [np.float32([1e9, -1e9, np.nan, np.inf, 1.9, -1.9])], np.int8([127, -128, 0, 127, 1, -1])),
    ("Cast", {"to": 13}, [np.float64([2.0**64, -1, np.nan])], np.uint64([2**64 - 1, 0, 0])),
    # Sums in half precision are rounded once: after each term 2048 + 1 would be 2048 again and again.
    ("Sum", {}, [np.float16([2048]), np.float16([1]), np.float16([1])], np.float16([2050])),
]


@pytest.mark.parametrize(("op_type", "attributes", "inputs", "expected"), OPEN)
def test_what_onnx_leaves_open(op_type, attributes, inputs, expected):
    """Not compared with ONNX Runtime: C++ does not define it, and for some of it the process ends."""
    attributes = dict(attributes)
    if op_type == "Cast":
        attributes["to"] = helper.np_dtype_to_tensor_dtype(expected.dtype)
    names = [f"x{at}" for at in range(len(inputs))]
    (result,) = unishape.onnx.run_node(helper.make_node(op_type, names, ["y"], **attributes), inputs)
    assert result.dtype == expected.dtype and result.tolist() == expected.tolist()
