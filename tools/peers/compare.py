#!/usr/bin/python3
"""Times other libraries' gradient compression and commcomp's codecs beside it, in one process and in turn.

  make && tools/peers/compare.py --byteps DIR --grace DIR -o peers.csv
  tools/peers/compare.py --values 1000000 --only PowerSGD      PyTorch's hooks alone, one of them

DIR is a checkout of github.com/bytedance/byteps, whose compressors are compiled (g++), and of
github.com/sands-lab/grace; PyTorch's hooks and GRACE need python3-torch. A ratio is the peer's time
divided by commcomp's: above 1, commcomp is faster. docs/peers.md says what is compared with what.
"""
import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "python")]

import commcomp  # noqa: E402
import measure  # noqa: E402


def number(text):
    """A whole number above 0."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def numbers(text):
    """Whole numbers above 0, with commas between them."""
    return [number(word) for word in text.split(",")]


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--byteps", metavar="DIR", help="the folder that has byteps/common")
    parser.add_argument("--grace", metavar="DIR", help="the folder that has grace_dl")
    parser.add_argument("--values", metavar="N,...", type=numbers, default=[65536, 1048576, 25000000],
                        help="lengths of the tensor; those above 2^20 do not stay in the cache (default: "
                             "65536,1048576,25000000)")
    parser.add_argument("--threads", metavar="N,...", type=numbers, default=[1, 2], help="default: 1,2")
    parser.add_argument("--only", metavar="TEXT", default="", help="pairs that have this in their names or schemes")
    parser.add_argument("--rounds", type=number, default=15, help="at most (default: 15)")
    parser.add_argument("--seconds", type=float, default=0.5,
                        help="after which a pair ends, but for 3 rounds at least (default: 0.5)")
    parser.add_argument("--flags", default="-Ofast -march=native",
                        help="for compiling BytePS, as in --flags='-O2 -g' (default: -Ofast -march=native)")
    parser.add_argument("--build", metavar="DIR", default=ROOT / "build/peers",
                        help="where the compiled BytePS is kept (default: build/peers)")
    parser.add_argument("-o", "--output", metavar="FILE", help="also write all figures as CSV")
    options = parser.parse_args(words)
    if options.output and not Path(options.output).resolve().parent.is_dir():
        parser.error(f"-o {options.output}: there is no such folder")
    return options


def commit(folder):
    """The commit of a checkout; without one, nothing."""
    done = subprocess.run(["git", "-C", folder, "log", "-1", "--format=%h of %cs"], capture_output=True,
                          text=True, check=False)
    return f" ({done.stdout.strip()})" if done.returncode == 0 and (Path(folder) / ".git").exists() else ""


def machine():
    """The processor's name and how many of them there are."""
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        names = [line.split(":")[1].strip() for line in f if line.startswith("model name")]
    return f"{names[0] if names else 'a processor'}, {os.cpu_count()} processors"


def collect(options):
    """The pairs that can be measured, and lines about who takes part."""
    try:
        found, about = [], [f"commcomp {commcomp.version()}", machine()]
    except ImportError as error:
        raise SystemExit(f"peers: {error}") from None
    if options.byteps:
        import byteps
        found += byteps.pairs(byteps.load(byteps.compile_library(options.byteps, options.flags, options.build)))
        about.append(f"BytePS{commit(options.byteps)}, compiled with {options.flags}")
    try:
        import torch
        import pytorch
    except ImportError:
        if options.grace:
            raise SystemExit("peers: GRACE needs PyTorch: install python3-torch") from None
        about.append("without PyTorch's hooks: PyTorch is not installed (python3-torch)")
    else:
        found += pytorch.pairs()
        about.append(f"PyTorch {torch.__version__}")
        if options.grace:
            import grace
            found += grace.pairs(options.grace)
            about.append(f"GRACE{commit(options.grace)}")
    chosen = [p for p in found if options.only.lower() in f"{p.library} {p.method} {p.scheme}".lower()]
    if not chosen:
        raise SystemExit("peers: " + (f"--only {options.only!r} leaves no pair" if found else
                         "there is nothing to compare with: name checkouts by --byteps and --grace, or "
                         "install python3-torch"))
    return chosen, about


def main(words=None):
    options = parse(words)
    chosen, about = collect(options)
    print("\n".join(about), flush=True)
    gradients = {n: measure.Gradients(n) for n in options.values}
    rows = []
    for pair in chosen:
        print(f"\n{pair.library}: {pair.method} | commcomp: {pair.scheme}\n{measure.HEADING}", flush=True)
        for values in options.values:
            for threads in options.threads:
                for row in measure.compare(pair, gradients[values], values, threads, options.rounds, options.seconds):
                    print(measure.line(row), flush=True)
                    rows.append(row)
    print(f"\nratios: {' / '.join(measure.OPERATIONS[:3])}, or the whole step\n\n{measure.summary(rows)}")
    slower = [row for row in rows if row["ratio_median"] < 1]
    print(f"\n{len(rows)} ratios, {len(slower)} below 1" + (":" if slower else ""))
    for row in slower:
        print(f"  {row['peer']}: {row['method']} | {row['scheme']}, {row['operation']} of {row['values']} values, "
              f"{row['threads']} threads: {row['ratio_median']:.2f}")
    if options.output:
        measure.write_csv(options.output, rows)


if __name__ == "__main__":
    main()
