"""The package as pip installs it, without a network, and how it finds the library."""

import importlib.util
import os
import re
import subprocess
import sys
import venv

import numpy
import pytest

from commcomp import _library

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = "import commcomp, numpy; print(commcomp.Codec('int8', 9).encode(numpy.ones(9, 'f')).hex())"


def run(python, **environment):
    """The program with no other way to the package or the library than those named."""
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "COMMCOMP_LIBRARY")}
    return subprocess.run([python, "-c", PROGRAM], env={**kept, **environment}, cwd="/",
                          capture_output=True, text=True, check=False)  # fmt: skip


def test_pip_installs_it_offline(tmp_path, program):
    for module in "pip", "setuptools", "wheel":
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"no {module}")
    copy = tmp_path / "python"  # pip leaves a folder build/ behind
    subprocess.run(["cp", "-RL", os.path.join(ROOT, "python"), copy], check=True)
    venv.create(tmp_path / "venv", system_site_packages=True, symlinks=True)
    python = str(tmp_path / "venv/bin/python")
    offline = ["--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    subprocess.run([python, "-m", "pip", "install", "-q", *offline, copy], check=True, capture_output=True)
    assert list((tmp_path / "venv").rglob("commcomp/py.typed"))
    build = str(program.parent.parent)
    for where in build, os.path.join(build, "libcommcomp.so.0"):
        done = run(python, COMMCOMP_LIBRARY=where)
        assert done.returncode == 0 and len(done.stdout.strip()) == 2 * (4 + 9), done.stderr


def test_a_missing_library_is_named(tmp_path):
    done = run(sys.executable, PYTHONPATH=os.path.join(ROOT, "python"), COMMCOMP_LIBRARY=str(tmp_path))
    assert done.returncode != 0
    assert "Build it with `make`, install it with `make install`, or let COMMCOMP_LIBRARY name" in done.stderr


def test_a_library_of_another_version_is_named(tmp_path):
    """Here one that has none of the functions."""
    (tmp_path / "libcommcomp.so.0").symlink_to(numpy.core._multiarray_umath.__file__)
    done = run(sys.executable, PYTHONPATH=os.path.join(ROOT, "python"), COMMCOMP_LIBRARY=str(tmp_path))
    assert done.returncode != 0
    assert "libcommcomp.so.0 has no commcomp_version: it is not the library of this package's version" in done.stderr


# The letters by which ctypes names types.
LETTERS = {"*": "P", "size_t": "L", "uint64_t": "L", "int64_t": "l", "int": "i", "unsigned": "I", "float": "f", "void": ""}


def letter(words):
    """The letter of a type in C: "const float *x" is a pointer."""
    return LETTERS["*" if re.search(r"[*[]", words) else words.replace("const ", "").split()[0]]


def letters_of(function):
    """The same of a function's arguments and result, as ctypes has them; texts and arrays are pointers."""
    kinds = [getattr(t, "_type_", "") for t in [*function.argtypes, function.restype]]
    return "".join(k.replace("z", "P") if isinstance(k, str) else "P" for k in kinds)


def test_every_function_of_the_header_is_declared_alike():
    """ctypes would call a function with other arguments than it takes."""
    with open(os.path.join(ROOT, "binding/commcomp.h"), encoding="utf-8") as file:
        header = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    declared = {}
    prototype = r"^([a-z_0-9 ]+[ *]+)((?:commcomp|cc)_\w+)\(([^)]*)\);"
    for result, name, arguments in re.findall(prototype, header, flags=re.M):
        declared[name] = "".join(letter(words.strip()) for words in [*arguments.split(","), result])
    ours = {
        name: letters_of(getattr(library, name))
        for library, table in [(_library.codecs(), _library._CODECS), (_library.traces(), _library._TRACES)]
        for name in (key.rstrip("!") for key in table)
    }
    assert len(ours) > 50 and ours == declared
