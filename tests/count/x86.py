#!/usr/bin/env python3
"""How many cycles a value takes on x86, as tables in Markdown: `make count-x86`.

    x86.py STEPS PROGRAM COMMCOMP MCA [SCHEME...]

Two things stand side by side. The bound: the least cycles by the instructions that a call executes.
PROGRAM (instructions.c) runs with the library STEPS (steps.c), which records their addresses. From
these follow the loops: a jump back to an instruction ends an iteration, and each way through the body
counts as a loop of its own, as often as it was taken. llvm-mca tells the cycles of an iteration by the
processor's ports and by what depends on the iteration before, with all data in the first-level cache
and all branches predicted. Instructions outside of loops count as many a cycle as the processor can
begin.

And what `commcomp bench --values l2` measures: in the first-level and in the second-level cache.
"""
import collections
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

CPUS = {"znver4": 6, "icelake-server": 5}  # and the instructions that each can begin in a cycle
ISAS = ("avx512", "avx2")
VALUES = 1 << 14
SCHEMES = """fp32 fp16 bf16 int8 int8:ef=1 natural qsgd qsgd:bits=8 qsgd:code=elias ternary 3lc 3lc:s=1.75
mqe1bit signsgd efsign sparse topk randk threshold dgc fp8 mxfp4 int4""".split()
CALLS = {"encode": "encode", "decode": "decode", "add": "decode_add"}  # and their names in bench
ITERATIONS = 100
REP_BYTES = 32  # that `rep movs` and `rep stos` move in a cycle
ELEMENT = {"movsb": 1, "movsw": 2, "movsl": 4, "movsq": 8, "%al": 1, "%ax": 2, "%eax": 4, "%rax": 8}
SHARE = 0.999  # of the instructions in loops that llvm-mca is asked for, those of the most taken ways


class Code:
    """The instructions of the files that a process has mapped."""

    def __init__(self, maps):
        self.files = {}  # name -> {address: instruction}
        self.maps = []  # (begin, end, name, offset)
        for line in maps.splitlines():
            part = line.split()
            if len(part) == 6 and "x" in part[1] and part[5].startswith("/"):
                begin, end = (int(a, 16) for a in part[0].split("-"))
                self.maps.append((begin, end, part[5], int(part[2], 16)))

    def disassemble(self, name):
        run = subprocess.run(["objdump", "-d", "--no-show-raw-insn", name], check=True, text=True,
                             capture_output=True)
        lines = (re.match(r"\s+([0-9a-f]+):\s+(\S.*)", line) for line in run.stdout.splitlines())
        return {int(m[1], 16): re.sub(r"\s+#.*|\s*<[^>]*>", "", m[2]) for m in lines if m}

    def at(self, address):
        """The instruction; "" of code that no file has. What GNU ld links has code at the addresses
        of its offsets."""
        for begin, end, name, offset in self.maps:
            if begin <= address < end:
                if name not in self.files:
                    self.files[name] = self.disassemble(name)
                return self.files[name].get(address - begin + offset, "")
        return ""


class Mca:
    """llvm-mca and its answers."""

    def __init__(self, program):
        self.program = program
        self.known = {}  # (cpu, body) -> cycles of an iteration
        self.unknown = set()  # instructions that it does not model

    def host(self):
        run = subprocess.run([self.program, "--version"], text=True, capture_output=True)
        found = re.search(r"Host CPU: (\S+)", run.stdout)
        return found and found[1]

    def ask(self, cpu, bodies):
        bodies = [b for b in dict.fromkeys(bodies) if (cpu, b) not in self.known]
        run = None
        while bodies and (run is None or run.returncode != 0):
            text = "".join("# LLVM-MCA-BEGIN\n%s\n# LLVM-MCA-END\n" % self.modelled(b) for b in bodies)
            run = subprocess.run([self.program, "-mtriple=x86_64", "-mcpu=" + cpu,
                                  "-iterations=%d" % ITERATIONS, "-instruction-info=false",
                                  "-resource-pressure=false"], input=text, text=True, capture_output=True)
            if run.returncode != 0:
                self.refuse(run.stderr)
        if bodies:
            cycles = re.findall(r"Total Cycles:\s+(\d+)", run.stdout)
            self.known.update({(cpu, b): int(c) / ITERATIONS for b, c in zip(bodies, cycles, strict=True)})

    def modelled(self, body):
        lines = [line for line in body.split("\n") if line.split()[0] not in self.unknown]
        return "\n".join(lines) or "nop"

    def refuse(self, error):
        m = re.search(r"note: instruction:\s+(\S+)", error)
        if not m or m[1] in self.unknown:
            sys.exit("llvm-mca: " + error)
        self.unknown.add(m[1])


def loops(addresses, text):
    """The ways through loops, each a tuple of addresses, with their numbers; and the number of all
    other instructions."""
    ways, now, last = collections.Counter(), [], {}
    for address, following in zip(addresses, addresses[1:] + (addresses[-1] + 1,)):
        last[address] = len(now)
        now.append(address)
        if following > address or not text[address].startswith("j"):
            continue
        head = last.get(following, len(now))
        if head < len(now) and now[head] == following:
            ways[tuple(now[head:])] += 1
            del now[head:]
    return ways, len(now)


def without_rep(addresses, text):
    """Repeated string instructions stop after each element: once each, and the bytes that they move."""
    kept, moved = [], 0
    for address, following in zip(addresses, addresses[1:] + (0,)):
        if text[address].startswith("rep"):
            moved += ELEMENT[re.search("movs[bwlq]|%[er]?a[lx]", text[address])[0]]
        if address != following or not text[address].startswith("rep"):
            kept.append(address)
    return tuple(kept), moved


def least_cycles(code, mca, addresses):
    """Of the instructions at these addresses, by processor."""
    text = {a: code.at(a) for a in set(addresses)}
    addresses, moved = without_rep(addresses, text)
    ways, rest = loops(addresses, text)
    left = SHARE * sum(len(way) * n for way, n in ways.items())
    bodies = collections.Counter()
    for way, n in sorted(ways.items(), key=lambda item: -len(item[0]) * item[1]):
        lines = [text[a] for a in way if text[a] and not re.match("call|ret|j|.*nop", text[a])]
        if left > 0 and n > 1 and lines:
            bodies["\n".join(lines)] += n
        else:
            rest += len(way) * n
        left -= len(way) * n
    cycles = {}
    for cpu, width in CPUS.items():
        mca.ask(cpu, bodies)
        cycles[cpu] = rest / width + moved / REP_BYTES + sum(mca.known[cpu, b] * n for b, n in bodies.items())
    return cycles


def records(pipe):
    """The texts and lists of numbers that steps.c writes."""
    def block(size):
        length = struct.unpack("Q", pipe.read(8) or bytes(8))[0]
        return pipe.read(size * length)
    yield block(1).decode()
    while data := block(8):
        yield struct.unpack("%dQ" % (len(data) // 8), data)


def bounds(isa, schemes, steps, program, mca):
    """{(scheme, call): {cpu: cycles of a value}}; None if the machine lacks the instruction set."""
    out, to = os.pipe()
    with tempfile.TemporaryFile("w+") as said:
        env = dict(os.environ, LD_PRELOAD=steps, STEPS_FD=str(to), COMMCOMP_ISA=isa)
        process = subprocess.Popen([program, str(VALUES), *schemes], env=env, pass_fds=[to], stderr=said)
        os.close(to)
        with open(out, "rb") as pipe:
            record = records(pipe)
            code = Code(next(record))
            cycles = [least_cycles(code, mca, addresses) for addresses in record]
        process.wait()
        said.seek(0)
        text = said.read()
    if process.returncode != 0 and "this machine has no" in text:
        return None
    if process.returncode != 0:
        sys.exit(text or "%s: exit %d" % (program, process.returncode))
    calls = [tuple(line.split()[0:3:2]) for line in text.splitlines()]
    return {call: {cpu: c / VALUES for cpu, c in of.items()} for call, of in zip(calls, cycles, strict=True)}


def measured(isa, schemes, commcomp):
    """{(scheme, call): (cycles of a value in L1, in L2)}"""
    run = subprocess.run([commcomp, "bench", "-q", "--values", "l2", "--passes", "1", "--samples", "20", "--scheme",
                          ",".join(schemes), "--format", "json"], env=dict(os.environ, COMMCOMP_ISA=isa), check=True,
                         text=True, capture_output=True)
    result = {}
    for scheme, row in zip(schemes, json.loads(run.stdout)["rows"], strict=True):
        for call, name in CALLS.items():
            in_l1, in_l2 = row[name + "_l1_gb_per_s"], row[name + "_gb_per_s"]
            result[scheme, call] = (in_l1 and 4 * row["clock_ghz"] / in_l1, 4 * row["clock_ghz"] / in_l2)
    return result


def print_table(isa, schemes, bound, times, host):
    heads = [head for call in CALLS for head in (call + ": " + next(iter(CPUS)), *list(CPUS)[1:], "L1", "L2")]
    print("| %s | %s |" % (isa, " | ".join(heads)))
    print("|---" * (1 + len(heads)) + "|")
    for scheme in schemes:
        cells = []
        for call in CALLS:
            in_l1, in_l2 = times[scheme, call]
            cells += ["%.2f" % bound[scheme, call][cpu] for cpu in CPUS]
            cells.append("%.2f" % in_l1 if in_l1 else "-")
            share = " (%.2f)" % (bound[scheme, call][host] / in_l2) if host in CPUS else ""
            cells.append("%.2f%s" % (in_l2, share))
        print("| `%s` | %s |" % (scheme, " | ".join(cells)))


def main():
    steps, program, commcomp, mca_program, *schemes = sys.argv[1:]
    mca, schemes = Mca(mca_program), schemes or SCHEMES
    for isa in ISAS:
        bound = bounds(isa, schemes, steps, program, mca)
        if bound is None:
            print("%s: skipped, as this machine does not have it" % isa)
        else:
            print_table(isa, schemes, bound, measured(isa, schemes, commcomp), mca.host())
        print()
    if mca.unknown:
        print("not known to llvm-mca, and without cycles: %s" % ", ".join(sorted(mca.unknown)))


main()
