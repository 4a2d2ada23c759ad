"""Attributes, inputs and tolerances of the reductions and normalizations in the corpus."""

import ml_dtypes
import numpy as np

from onnx_compare import NORMALIZED, is_float

#: Operators that return an element, or its position.
EXTREMES = frozenset("ReduceMax ReduceMin ArgMax ArgMin".split())

#: Rank 3 or more, so that each operator has the axes of its variants; sizes of 0 and 1, short and long rows.
SHAPES = [(2, 3, 4), (1, 5, 1), (3, 1, 40), (2, 40, 3), (3, 2, 700), (0, 3, 2), (2, 0, 3), (2, 1, 3, 2, 2)]
#: For reductions of all axes, or of none.
LOW_RANKS = [(), (3,), (0,), (2, 9)]
#: Shapes with four channels.
CHANNELS = [(2, 4, 3), (1, 4, 1), (3, 4, 2, 5), (2, 4, 60), (2, 4, 1, 2, 3), (0, 4, 2), (2, 4, 0)]


def axes_are_input(op_type, opset):
    """Whether the axes of a reduction are an input; before, they are an attribute."""
    return op_type.startswith("Reduce") and opset >= (13 if op_type == "ReduceSum" else 18)


def variants(op_type, opset):
    """Attribute values to test. `axes` is among them also where it is an input."""
    if op_type.startswith("Reduce"):
        both = [{}, {"axes": (1,)}, {"axes": (0, 2), "keepdims": 0}, {"axes": (-1,)}]
        empty = [{"axes": ()}, {"axes": (), "noop_with_empty_axes": 1}, {"noop_with_empty_axes": 1}]
        return both + empty if axes_are_input(op_type, opset) else both
    if op_type.startswith("Arg"):
        last = [{"axis": 1, "select_last_index": 1}, {"axis": -1, "select_last_index": 1, "keepdims": 0}]
        return [{}, {"axis": 1, "keepdims": 0}, {"axis": -1}] + (last if opset >= 12 else [])
    return {
        "Softmax": [{}, {"axis": 0}, {"axis": 1}, {"axis": -2}],
        "LogSoftmax": [{}, {"axis": 0}, {"axis": 1}, {"axis": -2}],
        "LayerNormalization": [{}, {"axis": 1, "epsilon": 0.1}, {"axis": -3}],
        "RMSNormalization": [{}, {"axis": 1, "epsilon": 0.1}, {"axis": -3}],
        "BatchNormalization": [{}, {"epsilon": 0.1}, *([{"spatial": 0}] if opset < 9 else [])],
        "InstanceNormalization": [{}, {"epsilon": 0.1}],
        "GroupNormalization": [{"num_groups": 1}, {"num_groups": 2, "epsilon": 0.1}, {"num_groups": 4}],
    }[op_type]


def reduced_axes(cell, rank):
    """The reduced axes, as NumPy takes them."""
    attributes = dict(cell.attributes)
    if cell.op_type.startswith("Arg"):
        return (attributes.get("axis", 0),)
    axes = attributes.get("axes") or ()
    return axes if axes or attributes.get("noop_with_empty_axes") else tuple(range(rank))


def is_compared(cell, shape):
    """Whether a shape is in the corpus. Left out is what ONNX does not define, and where ONNX Runtime fails."""
    if 0 not in shape:
        return True
    if cell.op_type in ("LayerNormalization", "RMSNormalization"):
        return 0 not in shape[dict(cell.attributes).get("axis", -1) :]
    # The result of ONNX Runtime has a wrong shape.
    if cell.op_type.startswith("Arg") or any(axis < 0 for axis in reduced_axes(cell, len(shape))):
        return False
    undefined = cell.op_type == "ReduceMean" or cell.dtype == "bool"
    undefined |= cell.op_type in ("ReduceLogSum", "ReduceLogSumExp") and cell.dtype not in FLOATING
    return not (undefined and any(shape[axis] == 0 for axis in reduced_axes(cell, len(shape))))


FLOATING = ("float16", "float", "double", "bfloat16")


def terms(rng, cell, dtype, shape):
    """Terms of a sum or product, or elements to be normalized.

    Of sums that overflow or cancel, the result depends on the order of the terms: there are few infinities, no largest
    numbers, and no large ones.
    """
    if not is_float(dtype):
        lowest = 1 if cell.op_type == "ReduceLogSum" else max(np.iinfo(dtype).min, -9)
        return np.asarray(rng.integers(lowest, 99, shape)).astype(dtype)
    elements = np.asarray(rng.normal(size=shape) * 3)
    if cell.op_type == "ReduceProd":
        elements = 1 + elements / 32
    if cell.op_type == "ReduceLogSum":
        elements = np.abs(elements)
    specials = np.array([0.0, -0.0, np.inf, -np.inf, np.nan])
    return np.where(rng.random(shape) < 0.01, rng.choice(specials, shape), elements).astype(dtype)


def inputs(cell, rng, dtypes, random_array):
    """All inputs of a cell."""
    name, op_type, attributes = cell.dtype, cell.op_type, dict(cell.attributes)
    dtype = dtypes[name]
    if op_type in EXTREMES or op_type.startswith("Reduce"):
        axes = attributes.get("axes")
        shapes = SHAPES + (LOW_RANKS if not axes and not op_type.startswith("Arg") else [])
        shapes = [shape for shape in shapes if is_compared(cell, shape)]
        if op_type in EXTREMES:
            arrays = [random_array(rng, name, shape) for shape in shapes]
            if is_float(dtype):
                # One of the arrays has NaN: oracles disagree about its position.
                arrays[1:] = [np.where(np.isnan(array), dtype.type(1), array) for array in arrays[1:]]
            # Ties.
            arrays.append((np.arange(24).reshape(2, 3, 4) % 2).astype(dtype))
        else:
            arrays = [terms(rng, cell, dtype, shape) for shape in shapes]
        given = [np.array(axes, "i8")] if axes is not None and axes_are_input(op_type, cell.opset) else []
        return [[array, *given] for array in arrays]
    x = lambda shape: terms(rng, cell, dtype, shape)
    parameter = lambda shape, of=name: np.asarray(rng.normal(size=shape)).astype(dtypes[of])
    if op_type in ("Softmax", "LogSoftmax"):
        return [[x(shape)] for shape in SHAPES]
    shapes = [shape for shape in SHAPES if is_compared(cell, shape)]
    if op_type == "RMSNormalization":
        return [[x(shape), parameter(shape[-1:], cell.other)] for shape in shapes]
    if op_type == "LayerNormalization":
        both = [[x(shape), parameter(shape[-1:]), parameter(shape[-1:])] for shape in shapes]
        # Without a bias, and with parameters of other shapes that can be broadcast.
        more = [[x((2, 3, 4)), parameter((4,))], [x((2, 3, 4)), parameter((3, 1)), parameter((2, 1, 1))]]
        return both + more
    if op_type == "BatchNormalization":
        is_spatial = attributes.get("spatial", 1)
        of = lambda shape: parameter(shape[1:2] if is_spatial else shape[1:])
        lists = [[x(shape), of(shape), of(shape), of(shape), np.abs(of(shape))] for shape in CHANNELS]
        return lists + [[x((3, 4)), *(np.abs(parameter((4,))) for _ in range(4))]]
    # ONNX Runtime fails or aborts if there are no elements.
    shapes = [shape for shape in CHANNELS if 0 not in shape]
    count = 4 if op_type == "InstanceNormalization" or cell.opset >= 21 else attributes["num_groups"]
    return [[x(shape), parameter((count,)), parameter((count,))] for shape in shapes]


def magnitude(cell, arrays, expected):
    """What rounding errors are relative to, by element: the sum of the absolute terms, or the largest result."""
    x = np.abs(arrays[0].astype("f8"))
    if cell.op_type in NORMALIZED or cell.op_type == "RMSNormalization":
        finite = np.abs(expected.astype("f8"))[np.isfinite(expected)]
        return max(1.0, finite.max(initial=0))
    axes = reduced_axes(cell, x.ndim)
    keepdims = bool(dict(cell.attributes).get("keepdims", 1))
    if cell.op_type in ("ReduceSum", "ReduceL1"):
        return x.sum(axis=axes, keepdims=keepdims)
    if cell.op_type == "ReduceMean":
        return x.mean(axis=axes, keepdims=keepdims) if x.size else 1.0
    return np.maximum(1, np.abs(np.nan_to_num(expected.astype("f8"), posinf=1, neginf=1)))


def close(cell, arrays, result, expected, epsilons):
    """Which elements differ by rounding errors only."""
    epsilon = float(ml_dtypes.finfo(result.dtype).eps)
    error = np.abs(result.astype("f8") - expected.astype("f8"))
    return error <= epsilons * epsilon * magnitude(cell, arrays, expected)
