"""Oracles: ONNX Runtime, and the reference evaluator of the onnx package where it has no implementation."""

import functools

import numpy as np
import onnxruntime
from onnx import helper
from onnx.reference import ReferenceEvaluator

from onnx_cells import DTYPES, schema_of, types_of
from onnx_compare import is_float
from onnx_node_suite import REDUCING
from onnx_reductions import axes_are_input, reduced_axes


def model_of(cell, arrays):
    """A model of one node with inputs of unknown rank; an omitted input has an empty name."""
    names = [f"x{index}" if array is not None else "" for index, array in enumerate(arrays)]
    attributes = dict(cell.attributes)
    if cell.op_type == "Cast":
        attributes["to"] = helper.np_dtype_to_tensor_dtype(DTYPES[cell.other]) if cell.other != "string" else 8
    if axes_are_input(cell.op_type, cell.opset):
        attributes.pop("axes", None)
    # Mean and InvStdDev are after the first output.
    position = [None, "Mean", "InvStdDev"].index(cell.other) if is_layer(cell) else 0
    outputs = [f"unused{index}" for index in range(position)]
    data_type = lambda dtype: 8 if dtype == object else helper.np_dtype_to_tensor_dtype(dtype)
    values = [
        helper.make_tensor_value_info(name, data_type(array.dtype), None)
        for name, array in zip(names, arrays)
        if array is not None
    ]
    graph = helper.make_graph(
        [helper.make_node(cell.op_type, names, [*outputs, "y"], **attributes)],
        "corpus",
        values,
        [helper.make_tensor_value_info("y", data_type(output_dtype(cell)), None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", cell.opset)], ir_version=10)


def is_layer(cell):
    return cell.op_type == "LayerNormalization"


def output_dtype(cell):
    schema = schema_of(cell.op_type, cell.opset)
    if cell.op_type in ("Cast", "CastLike", "RMSNormalization"):
        return DTYPES[cell.other]
    if is_layer(cell) and cell.other:
        return DTYPES["float"]
    allowed = types_of(schema, schema.outputs[0])
    return DTYPES[allowed[0]] if allowed in (["bool"], ["int64"]) else DTYPES[cell.dtype]


def session_options():
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options


OPTIONS = session_options()


#: Error messages of ONNX Runtime for missing implementations.
NOT_IMPLEMENTED = (
    "NOT_IMPLEMENTED",
    "ValidateOpsetForDomain",
    "is not a registered function",
    "is not currently registered or supported",
    "is invalid",
    "bound to different types",
)


def by_runtime(model):
    """Runs a model in ONNX Runtime; None if it has no implementation."""
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), OPTIONS, providers=["CPUExecutionProvider"])
    except Exception as error:
        if any(message in str(error) for message in NOT_IMPLEMENTED):
            return None
        raise
    return lambda given: np.asarray(session.run(None, given)[0])


def by_reference(model, dtype):
    """Runs a model in the reference evaluator, whose reductions may return a wider type than `dtype`."""
    evaluator = ReferenceEvaluator(model)

    def run(given):
        try:
            result = np.asarray(evaluator.run(None, given)[0])
        except Exception:  # it does not support all types and shapes
            return None
        if result.dtype.kind == "U":
            return result.astype(object)
        return result.astype(dtype) if dtype is not None else result

    return run


def mean(given):
    """Mean in NumPy; the reference evaluator does not broadcast the first input."""
    arrays = list(given.values())
    return np.asarray(functools.reduce(np.add, arrays) / len(arrays)).astype(arrays[0].dtype)


def log_of_sum(cell):
    """Logarithms of sums of integers in NumPy, truncated; the reference evaluator rejects them."""

    def run(given):
        x = given["x0"].astype("f8")
        terms = np.exp(x) if cell.op_type == "ReduceLogSumExp" else x
        keepdims = bool(dict(cell.attributes).get("keepdims", 1))
        sums = terms.sum(axis=reduced_axes(cell, x.ndim), keepdims=keepdims)
        return np.asarray(np.log(sums) + 1e-9).astype(DTYPES[cell.dtype])

    return run


def in_float(cell, arrays):
    """bfloat16 computed in float by ONNX Runtime and rounded once."""
    widen_name = lambda name: "float" if name == "bfloat16" else name
    wide = cell._replace(dtype=widen_name(cell.dtype), other=widen_name(cell.other))
    widen = lambda array: array.astype("f4") if array is not None and array.dtype == DTYPES["bfloat16"] else array
    run = by_runtime(model_of(wide, [widen(array) for array in arrays]))
    if run is None:
        return None

    def rounded(given):
        result = run({name: widen(array) for name, array in given.items()})
        return result.astype(output_dtype(cell))

    return rounded


def oracle(cell, arrays):
    """Name of the oracle of a cell, and a function that computes the expected output."""
    model = model_of(cell, arrays)
    is_cast = cell.op_type in ("Cast", "CastLike")
    # ONNX Runtime's Python API does not accept bfloat16.
    if "bfloat16" not in (cell.dtype, cell.other):
        if run := by_runtime(model):
            return "ONNX Runtime", run
    elif not is_cast and (run := in_float(cell, arrays)):
        return "ONNX Runtime in float", run
    if cell.op_type == "Mean":
        return "NumPy", mean
    if cell.op_type.startswith("ReduceLog") and not is_float(DTYPES[cell.dtype]):
        return "NumPy", log_of_sum(cell)
    return "reference", by_reference(model, output_dtype(cell) if cell.op_type in REDUCING else None)
