"""Oracles: ONNX Runtime, and the reference evaluator of the onnx package where it has no implementation."""

import functools

import numpy as np
import onnxruntime
from onnx import helper
from onnx.reference import ReferenceEvaluator

from onnx_cells import DTYPES, schema_of, types_of


def model_of(cell, arrays):
    """A model of one node with inputs of unknown rank; an omitted input has an empty name."""
    names = [f"x{index}" if array is not None else "" for index, array in enumerate(arrays)]
    attributes = dict(cell.attributes)
    if cell.op_type == "Cast":
        attributes["to"] = helper.np_dtype_to_tensor_dtype(DTYPES[cell.other]) if cell.other != "string" else 8
    data_type = lambda dtype: 8 if dtype == object else helper.np_dtype_to_tensor_dtype(dtype)
    values = [
        helper.make_tensor_value_info(name, data_type(array.dtype), None)
        for name, array in zip(names, arrays)
        if array is not None
    ]
    graph = helper.make_graph(
        [helper.make_node(cell.op_type, names, ["y"], **attributes)],
        "corpus",
        values,
        [helper.make_tensor_value_info("y", data_type(output_dtype(cell)), None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", cell.opset)], ir_version=10)


def output_dtype(cell):
    schema = schema_of(cell.op_type, cell.opset)
    if cell.op_type in ("Cast", "CastLike"):
        return DTYPES[cell.other]
    return np.dtype(bool) if types_of(schema, schema.outputs[0]) == ["bool"] else DTYPES[cell.dtype]


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


def by_reference(model):
    evaluator = ReferenceEvaluator(model)

    def run(given):
        try:
            result = np.asarray(evaluator.run(None, given)[0])
        except Exception:  # it does not support all types and shapes
            return None
        return result.astype(object) if result.dtype.kind == "U" else result

    return run


def mean(given):
    """Mean in NumPy; the reference evaluator does not broadcast the first input."""
    arrays = list(given.values())
    return np.asarray(functools.reduce(np.add, arrays) / len(arrays)).astype(arrays[0].dtype)


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
        return result.astype(DTYPES["bfloat16"]) if result.dtype != bool and cell.dtype == "bfloat16" else result

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
    return "reference", by_reference(model)
