"""BytePS' compressors (github.com/bytedance/byteps), compiled from a checkout."""

import concurrent.futures
import ctypes
import hashlib
import os
import struct
import subprocess
import tempfile
from ctypes import c_char_p, c_double, c_int, c_size_t, c_uint64, c_void_p
from pathlib import Path

import numpy as np
from commcomp import Codec, Error, _library

from measure import Pair, Side

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SOURCES = "byteps/common"
# The server's build, which needs neither CUDA nor MPI.
FLAGS = ["-std=c++11", "-fPIC", "-fopenmp", "-w", "-DBYTEPS_BUILDING_SERVER"]
ALIGNED = 32  # BytePS pads tensors to a multiple of this

_FUNCTIONS = {
    "peers_byteps_new": (c_void_p, c_char_p, c_size_t, c_int),
    "peers_byteps_free": (None, c_void_p),
    "peers_byteps_encode": (c_double, c_void_p, c_int, c_void_p, c_void_p),
    "peers_byteps_decode": (c_double, c_void_p, c_int, c_void_p),
    "peers_byteps_decode_add": (c_double, c_void_p, c_int, c_void_p),
    "peers_own_encode": (c_double, c_void_p, c_int, c_void_p, c_uint64, c_void_p, c_void_p, c_size_t, c_void_p,
                         c_char_p),
    "peers_own_decode": (c_double, c_void_p, c_int, c_void_p, c_uint64, c_void_p, c_size_t, c_void_p, c_char_p),
    "peers_own_decode_add": (c_double, c_void_p, c_int, c_void_p, c_uint64, c_void_p, c_size_t, c_void_p, c_char_p),
}

# A method's name, BytePS' parameters, and schemes. Dithering goes without error feedback, which qsgd does
# not have; both scale a whole tensor by its largest value.
FEEDBACK = " ef_type vanilla"
METHODS = [
    ("onebit", "compressor_type onebit compressor_onebit_scaling true" + FEEDBACK, ["efsign"]),
    ("topk 5%", "compressor_type topk compressor_k 0.05" + FEEDBACK,
     ["sparse:density=0.05,select=exact,index=u32", "topk:k=26"]),
    ("randomk 1%", "compressor_type randomk compressor_k 0.01 seed 1" + FEEDBACK,
     ["randk:density=0.01", "randk:density=0.01,draw=strata"]),
    ("randomk 5%", "compressor_type randomk compressor_k 0.05 seed 1" + FEEDBACK,
     ["randk:density=0.05", "randk:density=0.05,draw=strata"]),
    ("dithering, 7 levels", "compressor_type dithering compressor_k 7 seed 1",
     ["qsgd:bits=4,bucket=0,code=elias", "qsgd:bits=4,bucket=0"]),
]


def compile_library(checkout, flags, folder):
    """Compiles BytePS' compressors and byteps.cc to a shared library in `folder`, unless it is there, and
    returns its path."""
    common = Path(checkout) / SOURCES
    if not (common / "compressor").is_dir():
        raise SystemExit(f"peers: {checkout} has no {SOURCES}/compressor: --byteps names a checkout of "
                         "github.com/bytedance/byteps")
    sources = sorted([*common.glob("compressor/*.cc"), *common.glob("compressor/impl/*.cc"),
                      common / "common.cc", common / "cpu_reducer.cc", common / "logging.cc", HERE / "byteps.cc"])
    options = FLAGS + flags.split()
    key = hashlib.sha256(" ".join(options).encode())
    for path in [*sources, *sorted(common.rglob("*.h")), ROOT / "binding/commcomp.h"]:
        key.update(path.read_bytes())
    library = Path(folder) / f"byteps-{key.hexdigest()[:16]}.so"
    if library.exists():
        return library
    library.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=library.parent) as objects:
        (Path(objects) / "Python.h").touch()  # common.h includes it, compressors do not use it

        def compile_one(source):
            out = f"{objects}/{source.stem}.o"
            _run("g++", *options, f"-I{objects}", f"-I{common}", f"-I{ROOT}", "-c", source, "-o", out)
            return out

        with concurrent.futures.ThreadPoolExecutor() as pool:
            compiled = list(pool.map(compile_one, sources))
        _run("g++", "-shared", "-fopenmp", *compiled, "-o", f"{objects}/whole.so")
        os.replace(f"{objects}/whole.so", library)
    return library


def _run(*words):
    try:
        done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise SystemExit("peers: g++ is missing, which compiles BytePS: install g++") from None
    if done.returncode != 0:
        raise SystemExit(f"peers: {' '.join(map(str, words))}\n{done.stderr}")


def load(path):
    library = ctypes.CDLL(str(path))
    for name, (result, *arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class Native(Side):
    """A side whose calls in a row are made and timed in C++: Python between them would evict code and data."""

    calls = 1

    def __init__(self, library, values):
        super().__init__(values)
        self.lib = library

    def run(self, operation, calls, prepare):
        prepare()
        self.calls = calls
        return getattr(self, operation)()


class Byteps(Native):
    """A compressor with its error feedback."""

    def __init__(self, library, parameters, values, threads):
        padded = -(-values // ALIGNED) * ALIGNED
        super().__init__(library, padded)
        self.room, self.x, self.sum = self.x, self.x[:values], np.zeros(padded, np.float32)
        here = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "lr.s").write_bytes(struct.pack("d", 0.1))
            os.chdir(folder)
            try:
                self.handle = library.peers_byteps_new(parameters.encode(), padded, threads)
            finally:
                os.chdir(here)

    def encode(self):
        used = c_size_t()
        taken = self.lib.peers_byteps_encode(self.handle, self.calls, self.room.ctypes.data, ctypes.byref(used))
        self.bits = 8 * used.value / self.x.size
        return taken

    def decode(self):
        self.at = c_void_p()
        return self.lib.peers_byteps_decode(self.handle, self.calls, ctypes.byref(self.at))

    def decoded(self):
        """The values that the last decode left, until the next call."""
        return np.ctypeslib.as_array(ctypes.cast(self.at, ctypes.POINTER(ctypes.c_float)), self.x.shape)

    def decode_add(self):
        return self.lib.peers_byteps_decode_add(self.handle, self.calls, self.sum.ctypes.data)

    def close(self):
        self.lib.peers_byteps_free(self.handle)


class Own(Native):
    """A codec of libcommcomp."""

    def __init__(self, library, scheme, values, threads):
        super().__init__(library, values)
        self.codec = Codec(scheme, values, threads=threads)
        self.handle, self.number = self.codec._handle, 0
        self.payload = np.zeros(self.codec.bound, np.uint8)
        self.y, self.sum = np.zeros(values, np.float32), np.zeros(values, np.float32)
        self.used, self.error = c_size_t(), ctypes.create_string_buffer(_library.ERROR_BYTES)

    def _call(self, name, *arguments):
        function = ctypes.cast(getattr(_library.codecs(), f"commcomp_{name}"), c_void_p)
        taken = getattr(self.lib, f"peers_own_{name}")(
            function, self.calls, self.handle, self.number, *arguments, self.error)
        if taken < 0:
            raise Error(self.error.value.decode())
        return taken

    def encode(self):
        self.number += 1
        taken = self._call("encode", self.x.ctypes.data, self.payload.ctypes.data, self.payload.size,
                           ctypes.byref(self.used))
        self.bits = 8 * self.used.value / self.x.size
        return taken

    def decode(self):
        return self._call("decode", self.payload.ctypes.data, self.used, self.y.ctypes.data)

    def decode_add(self):
        return self._call("decode_add", self.payload.ctypes.data, self.used, self.sum.ctypes.data)


def pairs(library):
    def make(method, parameters, scheme):
        return Pair("BytePS", method, scheme, lambda n, t: Byteps(library, parameters, n, t),
                    lambda n, t: Own(library, scheme, n, t))

    return [make(method, parameters, scheme) for method, parameters, schemes in METHODS for scheme in schemes]
