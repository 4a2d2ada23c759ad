"""Whole models: made explicit they compute the same in ONNX Runtime, and nothing else of them changes."""

import os

import pytest

if "CI" not in os.environ:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import helper, numpy_helper  # noqa: E402

import onnx_models  # noqa: E402
import unishape.onnx  # noqa: E402

NAMES = list(onnx_models.MODELS)
BATCHES = (0, 1, 2, 5)
#: Operators that stretch nothing when all their inputs have one shape.
BROADCASTING = {"Add", "Sub", "Mul", "Div", "Pow", "Max", "Where", "PRelu"}


LEVELS = onnxruntime.GraphOptimizationLevel


def session(model, level=LEVELS.ORT_DISABLE_ALL):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = level
    bytes_ = model if isinstance(model, str) else model.SerializeToString()
    return onnxruntime.InferenceSession(bytes_, options, providers=["CPUExecutionProvider"])


def model_of(name):
    return onnx_models.MODELS[name][0]()


def inputs_of(name, batch, seed=0):
    return onnx_models.MODELS[name][1](np.random.default_rng([seed, batch]), batch)


def same_bits(results, expected):
    for result, wanted in zip(results, expected, strict=True):
        assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
        assert result.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_explicit_is_the_same_model_without_broadcasting(name):
    model = model_of(name)
    assert unishape.onnx.explain(model).broadcasts, "the model is no example"
    explicit = unishape.onnx.explicit(model)
    onnx.checker.check_model(explicit, full_check=True)
    left = unishape.onnx.explain(explicit)
    assert (left.broadcasts, left.conflicts, left.unseen) == ([], [], [])
    assert unishape.onnx.explicit(explicit) == explicit
    # The nodes that were there are there still, in their order.
    kept = [node for node in explicit.graph.node if node.name.startswith(f"/{model.graph.name}/")]
    assert [(node.name, node.op_type, node.output) for node in kept] == [
        (node.name, node.op_type, node.output) for node in model.graph.node
    ]


@pytest.mark.parametrize("name", NAMES)
def test_explicit_gives_the_same_bits_in_onnx_runtime(name):
    model = model_of(name)
    before, after = session(model), session(unishape.onnx.explicit(model))
    for batch in BATCHES:
        for seed in range(5):
            given = inputs_of(name, batch, seed)
            same_bits(after.run(None, given), before.run(None, given))


@pytest.mark.parametrize("name", NAMES)
def test_explicit_is_as_good_when_all_is_optimised(name):
    """Then ONNX Runtime makes one operator of several that it knows the pattern of, such as a layer's normalisation.
    That one rounds otherwise, and with Expands between them they are not known."""
    model = model_of(name)
    before, after = (session(each, LEVELS.ORT_ENABLE_ALL) for each in (model, unishape.onnx.explicit(model)))
    for batch in BATCHES:
        given = inputs_of(name, batch)
        for result, expected in zip(after.run(None, given), before.run(None, given), strict=True):
            assert result.dtype == expected.dtype
            np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5, strict=True)


@pytest.mark.parametrize("name", NAMES)
def test_every_operator_sees_equal_shapes(name):
    """As SONNX wants it: looked at from outside, by what ONNX Runtime says of every value."""
    explicit = unishape.onnx.explicit(model_of(name))
    known = {value.name for value in explicit.graph.input} | {tensor.name for tensor in explicit.graph.initializer}
    asked = [name for node in explicit.graph.node for name in node.input if name and name not in known]
    shown = onnx.ModelProto()
    shown.CopyFrom(explicit)
    del shown.graph.output[:]
    shown.graph.output.extend(onnx.ValueInfoProto(name=name) for name in dict.fromkeys(asked))
    given = inputs_of(name, 3)
    values = dict(zip(dict.fromkeys(asked), session(shown).run(None, given)))
    values.update(given)
    values.update((tensor.name, numpy_helper.to_array(tensor)) for tensor in explicit.graph.initializer)
    for node in explicit.graph.node:
        if node.op_type in BROADCASTING:
            assert len({values[name].shape for name in node.input}) == 1, node.name


@pytest.mark.parametrize("name", NAMES)
def test_implicit_takes_it_back(name):
    model = model_of(name)
    again = unishape.onnx.implicit(unishape.onnx.explicit(model))
    assert again == model
    assert again.SerializeToString(deterministic=True) == model.SerializeToString(deterministic=True)


@pytest.mark.parametrize("name", [name for name in NAMES if onnx_models.MODELS[name][2]])
def test_run_is_what_onnx_runtime_computes(name):
    """To the bit: these models have nothing that is approximated."""
    model = model_of(name)
    for each in (model, unishape.onnx.explicit(model)):
        ours, theirs = unishape.onnx.load(each), session(model)
        for batch in BATCHES:
            given = inputs_of(name, batch)
            same_bits(list(ours(**given).values()), theirs.run(None, given))


@pytest.mark.parametrize("name", [name for name in NAMES if not onnx_models.MODELS[name][2]])
def test_an_operator_that_is_not_run_is_named_with_its_node(name):
    model = model_of(name)
    first = next(node for node in model.graph.node if node.op_type in ("MatMul", "ReduceMean"))
    with pytest.raises(NotImplementedError, match=f"(?s){first.op_type}.*not run") as told:
        unishape.onnx.load(model)
    assert first.name in str(told.value)


def test_explain_tells_of_a_bias():
    (first, second) = unishape.onnx.explain(model_of("mlp")).broadcasts
    assert (first["op_type"], first["shape"]) == ("Add", ("batch", 8))
    (stretched,) = first["stretched"]
    assert (stretched["input"], stretched["name"]) == (1, "fc1.bias")
    assert (stretched["from"], stretched["to"]) == ((8,), ("batch", 8))
    assert (stretched["dims"], stretched["times"], stretched["certain"]) == ([0], "batch", True)
    assert second["stretched"][0]["input"] == 0


def test_explain_tells_of_masks():
    told = unishape.onnx.explain(model_of("transformer_block"))
    assert told.conflicts == [] and told.unseen == []
    where = next(each for each in told.broadcasts if each["op_type"] == "Where")
    names = {stretched["name"]: stretched["from"] for stretched in where["stretched"]}
    assert names["causal"] == ("seq", "seq") and names["lowest"] == ()
    assert where["shape"] == ("batch", 2, "seq", "seq")


def conflicting():
    b = onnx_models.Builder("conflict")
    fine = b.node("Add", "x", "x")
    b.node("Mul", fine, b.weight("scale", 4), to="y")
    graph = helper.make_graph(
        b.nodes,
        "conflict",
        [helper.make_tensor_value_info("x", onnx_models.FLOAT, ["batch", 3])],
        [helper.make_tensor_value_info("y", onnx_models.FLOAT, None)],
        b.constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_a_conflict_is_reported_at_its_node():
    told = unishape.onnx.explain(conflicting())
    ((node, text),) = told.conflicts
    assert node == 1 and "/conflict/y" in text and "E1" in text and "4" in text
    assert text in repr(told)
    for rewrite in (unishape.onnx.explicit, unishape.onnx.implicit):
        with pytest.raises(ValueError, match="/conflict/y"):
            rewrite(conflicting())
    with pytest.raises(ValueError, match="/conflict/y"):
        unishape.onnx.run(conflicting(), x=np.ones((2, 3), "f4"))


def save(path):
    """A model, and its data in a file beside it. Saving moves them out of the model that is saved."""
    model = model_of("image_normaliser")
    onnx.save_model(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)


def test_data_in_other_files(tmp_path):
    model, given = model_of("image_normaliser"), inputs_of("image_normaliser", 2)
    path = tmp_path / "model.onnx"
    save(path)
    assert (tmp_path / "weights.bin").stat().st_size
    expected = unishape.onnx.run(model, **given)["y"]
    for place in (path, str(path)):
        same_bits([unishape.onnx.run(place, **given)["y"]], [expected])
    # Made explicit it still points to the same data, and lies beside it.
    explicit = unishape.onnx.explicit(path)
    kept = [tensor for tensor in explicit.graph.initializer if tensor.external_data]
    assert {tensor.name for tensor in kept} == {"255", "mean", "std"}
    beside = tmp_path / "explicit.onnx"
    beside.write_bytes(explicit.SerializeToString())
    onnx.checker.check_model(str(beside), full_check=True)
    same_bits(session(str(beside)).run(None, given), session(str(path)).run(None, given))
    # Without a place there is no folder to look in.
    with pytest.raises(TypeError, match="given without a folder"):
        unishape.onnx.run(path.read_bytes(), **given)


def test_data_outside_of_the_folder_is_not_read(tmp_path):
    (tmp_path / "model").mkdir()
    path = tmp_path / "model" / "model.onnx"
    save(path)
    (tmp_path / "model" / "weights.bin").rename(tmp_path / "weights.bin")
    stored = onnx.load(path, load_external_data=False)
    for tensor in stored.graph.initializer:
        next(entry for entry in tensor.external_data if entry.key == "location").value = "../weights.bin"
    path.write_bytes(stored.SerializeToString())
    with pytest.raises(ValueError, match="no place in the model's folder"):
        unishape.onnx.load(path)


def with_extras():
    """A model with what is not about shapes, and with a field that no version of ONNX has."""
    model = model_of("mlp")
    model.doc_string, model.domain, model.model_version = "of the model", "example.org", 7
    helper.set_model_props(model, {"author": "someone", "empty": ""})
    model.graph.doc_string = "of the graph"
    for node in model.graph.node:
        node.doc_string = f"of {node.name}"
        node.metadata_props.add(key="line", value="12")
    model.graph.input[0].doc_string = "of an input"
    model.opset_import.append(helper.make_opsetid("example.org", 1))
    model.graph.value_info.append(helper.make_tensor_value_info("relu_2", onnx_models.FLOAT, ["batch", 8]))
    return model


#: Field 9999, as text: a tag and a length in front of it.
UNKNOWN = bytes([0xFA, 0xF0, 0x04, 5]) + b"hello"


@pytest.mark.parametrize("rewrite", [unishape.onnx.explicit, unishape.onnx.implicit])
def test_what_is_not_known_survives(rewrite):
    model = with_extras()
    model.MergeFromString(UNKNOWN)
    assert UNKNOWN in model.SerializeToString()
    made = rewrite(model)
    assert UNKNOWN in made.SerializeToString()
    new = {node.name for node in made.graph.node} - {node.name for node in model.graph.node}
    assert bool(new) == (rewrite is unishape.onnx.explicit)
    # But for the new nodes and the inputs that come from them nothing is changed.
    before, after = onnx.ModelProto(), onnx.ModelProto()
    before.CopyFrom(model)
    after.CopyFrom(made)
    nodes = [node for node in after.graph.node if node.name not in new]
    for theirs, ours in zip(before.graph.node, nodes, strict=True):
        assert len(theirs.input) == len(ours.input)
        del theirs.input[:], ours.input[:]
        assert theirs == ours
    del before.graph.node[:], after.graph.node[:]
    assert before == after
    assert unishape.onnx.implicit(made) == model


def test_inputs_that_are_wrong_are_named():
    model = unishape.onnx.load(model_of("image_normaliser"))
    assert (model.inputs, model.outputs) == (["image"], ["y"])
    image = inputs_of("image_normaliser", 1)["image"]
    with pytest.raises(TypeError, match="takes 1 inputs, and here are 2"):
        model.run([image, image])
    with pytest.raises((TypeError, ValueError), match="image"):
        model(image=image.astype("f4"))
    with pytest.raises((TypeError, ValueError), match="image"):
        model(image=image[:, :2])
    with pytest.raises((TypeError, ValueError), match="image"):
        model()
    with pytest.raises((TypeError, ValueError), match="other"):
        model(image=image, other=image)
