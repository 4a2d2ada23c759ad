"""Who says what is right: ONNX Runtime, and where it has no implementation, ONNX's own reference."""

import functools

import numpy as np
import onnxruntime
from onnx import helper
from onnx.reference import ReferenceEvaluator

from onnx_cells import DTYPES, schema_of, types_of


def model_of(cell, arrays):
    """A model of the one node, whose inputs may have any shapes; an input that is left out has no name."""
    names = [f"x{at}" if array is not None else "" for at, array in enumerate(arrays)]
    attributes = dict(cell.attributes)
    if cell.op_type == "Cast":
        attributes["to"] = helper.np_dtype_to_tensor_dtype(DTYPES[cell.other]) if cell.other != "string" else 8
    number = lambda dtype: 8 if dtype == object else helper.np_dtype_to_tensor_dtype(dtype)
    values = [
        helper.make_tensor_value_info(name, number(array.dtype), None)
        for name, array in zip(names, arrays)
        if array is not None
    ]
    graph = helper.make_graph(
        [helper.make_node(cell.op_type, names, ["y"], **attributes)],
        "corpus",
        values,
        [helper.make_tensor_value_info("y", number(output_dtype(cell)), None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", cell.opset)], ir_version=10)


def output_dtype(cell):
    schema = schema_of(cell.op_type, cell.opset)
    if cell.op_type in ("Cast", "CastLike"):
        return DTYPES[cell.other]
    return np.dtype(bool) if types_of(schema, schema.outputs[0]) == ["bool"] else DTYPES[cell.dtype]


def options():
    chosen = onnxruntime.SessionOptions()
    chosen.intra_op_num_threads = chosen.inter_op_num_threads = 1
    chosen.log_severity_level = 4
    chosen.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return chosen


OPTIONS = options()


#: What ONNX Runtime says where it has no implementation.
NOT_THERE = (
    "NOT_IMPLEMENTED",
    "ValidateOpsetForDomain",
    "is not a registered function",
    "is not currently registered or supported",
    "is invalid",
)


def by_runtime(model):
    """ONNX Runtime's session of a model, or None if it has no implementation for it."""
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), OPTIONS, providers=["CPUExecutionProvider"])
    except Exception as error:
        if any(told in str(error) for told in NOT_THERE):
            return None
        raise
    return lambda given: np.asarray(session.run(None, given)[0])


def by_reference(model):
    evaluator = ReferenceEvaluator(model)

    def run(given):
        try:
            result = np.asarray(evaluator.run(None, given)[0])
        except Exception:  # it has no implementation for all of its own types and shapes
            return None
        return result.astype(object) if result.dtype.kind == "U" else result

    return run


def mean(given):
    """The reference adds to its first input in place, which has to be as large as the result then."""
    arrays = list(given.values())
    return np.asarray(functools.reduce(np.add, arrays) / len(arrays)).astype(arrays[0].dtype)


def in_float(cell, arrays):
    """bfloat16 as it is to be: computed in float, rounded once."""
    wider = lambda name: "float" if name == "bfloat16" else name
    wide = cell._replace(dtype=wider(cell.dtype), other=wider(cell.other))
    widen = lambda array: array.astype("f4") if array is not None and array.dtype == DTYPES["bfloat16"] else array
    run = by_runtime(model_of(wide, [widen(array) for array in arrays]))
    if run is None:
        return None

    def rounded(given):
        result = run({name: widen(array) for name, array in given.items()})
        return result.astype(DTYPES["bfloat16"]) if result.dtype != bool and cell.dtype == "bfloat16" else result

    return rounded


def oracle(cell, arrays):
    """Who says what is right, and how."""
    model = model_of(cell, arrays)
    converts = cell.op_type in ("Cast", "CastLike")
    # ONNX Runtime takes no bfloat16 of Python.
    if "bfloat16" not in (cell.dtype, cell.other):
        if run := by_runtime(model):
            return "ONNX Runtime", run
    elif not converts and (run := in_float(cell, arrays)):
        return "ONNX Runtime in float", run
    if cell.op_type == "Mean":
        return "NumPy", mean
    return "reference", by_reference(model)
