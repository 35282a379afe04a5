"""The programs of the documentation, as they stand there."""

import os
import pathlib
import re
import socket
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def programs(page):
    """The blocks of Python of a page."""
    return re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / page).read_text(), flags=re.M | re.S)


def test_python(commcomp, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for program in programs("python.md"):
        exec(program, names)  # the second goes on with the gradient of the first
    assert len(names["payload"]) < 100 and names["update"].shape == (64, 3, 3, 3)
    assert list(names["tensors"]) == ["conv.weight"]
    commcomp("bench", "--trace", "captured", "--scheme", "3lc", "--passes", "1")
    commcomp("decode", "step.cc", "step.safetensors")


def test_profile(commcomp, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    (program,) = programs("profile.md")
    exec(program.replace(', device="cuda"', ", sizes=(100, 10_000), seconds=0.01"), {})
    assert b"mine" in commcomp("advise", "--profile", "mine.json", "--scheme", "mine", "--net", "resnet50",
                               "--bw", "10gbps", "--workers", "16", "--device", "a100")  # fmt: skip


def test_trial(commcomp, tmp_path, monkeypatch, capsys):
    """The trial of docs/pytorch.md: its verdicts are those that the page shows."""
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    (program,) = [p for p in programs("pytorch.md") if "torch.trial(" in p]
    exec(program, {})
    shown = re.findall(r"^(\S+) +(keeps|costs|open) ", capsys.readouterr().out, flags=re.M)
    page = re.findall(r"^(\S+) +(keeps|costs|open) ", (ROOT / "docs/pytorch.md").read_text(), flags=re.M)
    assert shown == page and len(shown) == 5
    assert b"qsgd" in commcomp("advise", "--accuracy", "trial.json", "--scheme", "qsgd", "--net", "resnet50",
                               "--bw", "1gbps", "--workers", "8", "--device", "a100")  # fmt: skip


def test_pytorch(commcomp, tmp_path):
    """The script of docs/pytorch.md on two ranks; both end as they should."""
    pytest.importorskip("torch")
    (tmp_path / "train.py").write_text(programs("pytorch.md")[0])
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}/python:{ROOT}/tests/python", "OMP_NUM_THREADS": "1",
                   "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}  # fmt: skip
    ranks = [subprocess.Popen([sys.executable, "train.py"], cwd=tmp_path, env={**environment, "RANK": str(rank)})
             for rank in range(2)]  # fmt: skip
    try:
        assert [rank.wait(120) for rank in ranks] == [0, 0]
    finally:
        for rank in ranks:
            rank.kill()
    files = sorted(path.name for path in (tmp_path / "captured").iterdir())
    assert files == [f"push-step000{step}-rank{r}.safetensors" for step in range(100, 112) for r in range(2)]
    assert b"3lc" in commcomp("bench", "--trace", tmp_path / "captured", "--scheme", "3lc", "--passes", "1")
