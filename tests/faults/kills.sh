#!/bin/sh
# Processes of run and sim that are killed or stopped at random moments: the command ends soon, with
# a message, and leaves no process. KILLS and STOPS are how often; a stop takes the 20 s after which
# a program counts as stopped.
set -u
. "$(dirname "$0")/../cli/lib.sh"
make_run_profile
commands=
why=$(why_no_sim)
if [ -z "$why" ]; then commands="$commands sim"; else echo "skipped: sim: $why"; fi
why=$(why_no_lab)
if [ -z "$why" ]; then commands="$commands run"; else echo "skipped: run: $why"; fi
[ -n "$commands" ] || finish
case='kills and stops' good=1
: >out
# shellcheck disable=SC2086
python3 - "$program" "${KILLS:-6}" "${STOPS:-1}" $commands <<'P' 2>err || bad 'see above'
import concurrent.futures, os, random, signal, subprocess, sys, time
program, kills, stops, names = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
common = '--net resnet20 --bw 1gbps --profile run.json -q'.split()
words = {'sim': 'sim --workers 8 --steps 60 --scheme fp32,3lc'.split() + common,
         'run': 'run --workers 2 --steps 400 --scheme fp32,3lc'.split() + common}
MOST_S = 40

def stat(pid):
    try:
        text = open(f'/proc/{pid}/stat').read()
    except OSError:
        return None
    return text[text.rindex(')') + 2:].split()

def below(pid):
    found = []
    for name in filter(str.isdigit, os.listdir('/proc')):
        s = stat(name)
        if s and int(s[1]) == pid:
            found += [int(name)] + below(int(name))
    return found

def one(name, number, seed):
    rng = random.Random(seed)
    p = subprocess.Popen([program] + words[name], stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True)
    time.sleep(rng.uniform(0.05, 1.2))
    children = below(p.pid)
    if children:
        try:
            os.kill(rng.choice(children), number)
        except ProcessLookupError:
            pass
    began = time.monotonic()
    try:
        _, err = p.communicate(timeout=MOST_S)
    except subprocess.TimeoutExpired:
        p.kill()
        _, err = p.communicate()
        return f'{name}, seed {seed}: still there after {MOST_S} s', MOST_S
    took = time.monotonic() - began
    for _ in range(40): # a killed process may take a moment to end
        left = [c for c in children if (stat(c) or 'Z')[0] != 'Z']
        if not left:
            break
        time.sleep(0.05)
    for c in left:
        os.kill(c, signal.SIGKILL)
    if left or p.returncode not in (0, 1) or (p.returncode == 1 and not err.strip()):
        return f'{name}, seed {seed}: exit {p.returncode}, {len(left)} processes left: {err}', took
    return None, took

seed = int.from_bytes(os.urandom(4), 'little')
jobs = [(n, signal.SIGKILL) for n in names for _ in range(kills)]
jobs += [(n, signal.SIGSTOP) for n in names for _ in range(stops)]
worst, failed = {signal.SIGKILL: 0, signal.SIGSTOP: 0}, False
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    futures = [(number, pool.submit(one, name, number, seed + i))
               for i, (name, number) in enumerate(jobs)]
    for number, future in futures:
        message, took = future.result()
        worst[number] = max(worst[number], took)
        if message:
            failed = True
            print(message)
print(f'{len(names) * kills} kills, at most {worst[signal.SIGKILL]:.1f} s; '
      f'{len(names) * stops} stops, at most {worst[signal.SIGSTOP]:.1f} s')
sys.exit(failed)
P
finish
