"""Arrays that say that they are on a GPU, for tests where there is none; their memory is NumPy's.

They record how the protocols are used. `driver` compiles a driver, and a compiler, that write their calls to a log.
"""

import ctypes
import pathlib
import subprocess

import numpy as np

CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]


class ManagedVersioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", DELETER),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    ]


def capsule_function(name, result, *arguments):
    function = getattr(ctypes.pythonapi, name)
    function.restype, function.argtypes = result, arguments
    return function


new_capsule = capsule_function("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
is_valid = capsule_function("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
get_pointer = capsule_function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
KEPT = []


class Exporter:
    """An array with DLPack on a CUDA device."""

    def __init__(self, array, *, device=0, kind=2, versioned=True, read_only=False, code=None, major=1):
        self.array = np.asarray(array)
        self.device, self.kind, self.versioned = device, kind, versioned
        self.read_only, self.code, self.major = read_only, code, major
        self.streams = []  # the stream of each call of __dlpack__
        self.deleted = 0

    def __dlpack_device__(self):
        return self.kind, self.device

    def __dlpack__(self, *, stream=None, max_version=None):
        self.streams.append(stream)
        array, item = self.array, self.array.itemsize
        shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        strides = (ctypes.c_int64 * array.ndim)(*(stride // item for stride in array.strides))
        code = CODES[array.dtype.kind] if self.code is None else self.code
        tensor = DLTensor(
            array.ctypes.data, self.kind, self.device, array.ndim, code, 8 * item, 1, shape, strides, 0
        )
        deleter = DELETER(self.delete)
        if self.versioned and max_version is not None:
            flags = int(self.read_only)
            managed, name = ManagedVersioned(self.major, 0, None, deleter, flags, tensor), b"dltensor_versioned"
        else:
            managed, name = Managed(tensor, None, deleter), b"dltensor"
        KEPT.append((managed, shape, strides, deleter, name))
        return new_capsule(ctypes.addressof(managed), name, None)

    def delete(self, _):
        self.deleted += 1


class OldExporter(Exporter):
    """One of before DLPack 1.0, whose method has no max_version."""

    def __dlpack__(self, *, stream=None):
        return super().__dlpack__(stream=stream)


class Interface:
    """An array with __cuda_array_interface__ only."""

    def __init__(self, array, **changes):
        self.array = np.asarray(array)
        self.changes = changes

    @property
    def __cuda_array_interface__(self):
        array = self.array
        interface = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (array.ctypes.data, False),
            "strides": array.strides,
            "version": 3,
            "stream": None,
        }
        return interface | self.changes


class ExchangeTable(ctypes.Structure):
    """DLPack's C functions of a class of arrays."""

    DESCRIBE = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("to_managed", ctypes.c_void_p),
        ("from_managed", ctypes.c_void_p),
        ("describe", DESCRIBE),
        ("current_stream", ctypes.c_void_p),
    ]


def fake_torch(*, has_functions=True, major=1):
    """Puts a module in PyTorch's place, and returns its class of tensors, which counts how it is asked."""
    import sys
    import types

    class Tensor:
        requires_grad = False
        is_cuda = True
        is_negative = False
        asked = []  # methods and attributes

        def __init__(self, array):
            self.array = np.asarray(array)
            self.numbers = [(ctypes.c_int64 * self.array.ndim)(*numbers) for numbers in (self.shape, self.stride())]

        def is_neg(self):
            return self.is_negative

        def resolve_neg(self):
            return Tensor(-self.array)

        def new_empty(self, shape, dtype, requires_grad):
            return Tensor(np.empty(shape, {torch.float32: "float32", torch.uint8: "uint8"}[dtype]))

        def get_device(self):
            self.asked.append("get_device")
            return 0

        def data_ptr(self):
            return self.array.ctypes.data

        def stride(self):
            return tuple(stride // self.array.itemsize for stride in self.array.strides)

        @property
        def shape(self):
            return self.array.shape

        @property
        def dtype(self):
            return getattr(torch, self.array.dtype.name)

    def describe(tensor, out):
        tensor.asked.append("describe")
        array, (shape, strides) = tensor.array, tensor.numbers
        code = CODES[array.dtype.kind]
        out[0] = DLTensor(array.ctypes.data, 2, 0, array.ndim, code, 8 * array.itemsize, 1, shape, strides, 0)
        return 0

    torch = types.ModuleType("torch")
    torch.float32, torch.uint8, torch.Tensor = object(), object(), Tensor
    Tensor.__module__ = "torch"
    native = types.ModuleType("torch._C")
    native._cuda_getCurrentRawStream = lambda device: 0
    sys.modules |= {"torch": torch, "torch._C": native}
    if has_functions:
        # One of a later version of DLPack, which points to one that is known.
        table = ExchangeTable(1, 3, None, None, None, None, ExchangeTable.DESCRIBE(describe), None)
        later = ExchangeTable(2, 0, ctypes.addressof(table), None, None, None, ExchangeTable.DESCRIBE(0), None)
        used = table if major == 1 else later
        KEPT.append((table, later))
        Tensor.__dlpack_c_exchange_api__ = new_capsule(ctypes.addressof(used), b"dlpack_exchange_api", None)
    return Tensor


def exported(capsule):
    """The tensor in a capsule, and its flags; None for those that have none."""
    if is_valid(capsule, b"dltensor_versioned"):
        managed = ManagedVersioned.from_address(get_pointer(capsule, b"dltensor_versioned"))
        return managed.tensor, managed.flags
    return Managed.from_address(get_pointer(capsule, b"dltensor")).tensor, None


def compile_library(folder, name, *options):
    source = pathlib.Path(__file__).with_name("fake_cuda.c")
    folder.mkdir(parents=True, exist_ok=True)
    options = ["-shared", "-fPIC", "-w", f"-Wl,-soname,{name}", "-o", str(folder / name), str(source), *options]
    subprocess.run(["cc", *options], check=True)


def driver(folder):
    """Compiles the driver and compilers, and returns the folder for LD_LIBRARY_PATH."""
    folder = pathlib.Path(folder)
    compile_library(folder, "libcuda.so.1")
    # As pip installs the packages for CUDA 13 and 12.
    compile_library(folder / "site-packages/nvidia/cu13/lib", "libnvrtc.so.13")
    compile_library(folder / "site-packages/nvidia/cuda_nvrtc/lib", "libnvrtc.so.12", "-DNVRTC=12")
    return str(folder)
