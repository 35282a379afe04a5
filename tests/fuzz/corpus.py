#!/usr/bin/env python3
"""The seeds of the fuzz targets: tests/fuzz/corpus/TARGET.txt has one on each line, its name and its bytes.

    corpus.py unpack FOLDER          writes every seed to FOLDER/TARGET/NAME; what was there goes
    corpus.py add TARGET FOLDER      adds those files of FOLDER whose bytes the target's seeds lack

Bytes that are not printable, and backslashes, are escaped as in Python. The name "-" is that of libFuzzer,
the SHA-1 of the bytes. Lines are sorted, so that a new seed is one new line."""
import hashlib
import pathlib
import shutil
import sys

ARCHIVES = pathlib.Path(__file__).resolve().parent / "corpus"


def read(archive):
    """The seeds of an archive: a list of names and bytes."""
    seeds = []
    for number, line in enumerate(archive.read_text("ascii").splitlines(), 1):
        name, space, text = line.partition(" ")
        if not name or not space or "/" in name:
            sys.exit(f"{archive}:{number}: a line is NAME BYTES, with one space between")
        seeds.append((name, text.encode("ascii").decode("unicode_escape").encode("latin-1")))
    return seeds


def escaped(content):
    return content.decode("latin-1").encode("unicode_escape").decode("ascii")


def unpack(folder):
    for archive in sorted(ARCHIVES.glob("*.txt")):
        target = folder / archive.stem
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        seeds = read(archive)
        for name, content in seeds:
            (target / (hashlib.sha1(content).hexdigest() if name == "-" else name)).write_bytes(content)
        if len(list(target.iterdir())) != len(seeds):
            sys.exit(f"{archive}: two seeds have the same name or, named \"-\", the same bytes")


def add(target, folder):
    archive = ARCHIVES / f"{target}.txt"
    seeds = read(archive) if archive.exists() else []
    known = {content for _, content in seeds}
    for file in folder.iterdir():
        content = file.read_bytes()
        if content not in known:
            found = file.name == hashlib.sha1(content).hexdigest()
            seeds.append(("-" if found else file.name, content))
    archive.parent.mkdir(exist_ok=True)
    archive.write_text("".join(f"{name} {escaped(content)}\n" for name, content in sorted(seeds)), "ascii")


if len(sys.argv) == 3 and sys.argv[1] == "unpack":
    unpack(pathlib.Path(sys.argv[2]))
elif len(sys.argv) == 4 and sys.argv[1] == "add":
    add(sys.argv[2], pathlib.Path(sys.argv[3]))
else:
    sys.exit(__doc__)
