"""Fixtures of the Python tests. COMMCOMP is the program; `make check-python` sets it."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def program():
    """The path of the built program."""
    path = pathlib.Path(os.environ.get("COMMCOMP", ROOT / "build/bin/commcomp")).resolve()
    if not path.exists():
        pytest.skip(f"{path} is not built")
    return path


@pytest.fixture(scope="session")
def commcomp(program):
    """Calls the program: commcomp("encode", ..., status=0) returns its standard output, as bytes."""

    def call(*words, status=0):
        done = subprocess.run([program, *map(str, words)], stdin=subprocess.DEVNULL,
                              capture_output=True, check=False)
        assert done.returncode == status, done.stderr.decode()
        return done.stdout if status == 0 else done.stderr

    return call
