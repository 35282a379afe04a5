#!/bin/sh
# Processes of run and sim that are killed or stopped at random moments, and run and sim themselves
# that are killed: the command ends soon, with a message, and leaves no process. KILLS and STOPS are
# how often; a stop takes the 20 s after which a program counts as stopped.
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
python3 - "$program" "${KILLS:-4}" "${STOPS:-1}" $commands <<'P' 2>err || bad 'see above'
import concurrent.futures, os, random, signal, subprocess, sys, time
program, kills, stops, names = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
common = '--net resnet20 --bw 1gbps --profile run.json -q'.split()
words = {'sim': 'sim --workers 8 --steps 60 --scheme fp32,3lc'.split() + common,
         'run': 'run --workers 2 --steps 400 --scheme fp32,3lc'.split() + common}
MOST_S = 40

START_S = 20 # the time for the first process of the command

def stat(pid):
    try:
        text = open(f'/proc/{pid}/stat').read()
    except OSError:
        return None
    return text[text.rindex(')') + 2:].split()

def marked(mark):
    """The processes that inherited the mark in their environment and are not zombies."""
    found = []
    for name in filter(str.isdigit, os.listdir('/proc')):
        try:
            env = open(f'/proc/{name}/environ', 'rb').read()
        except OSError:
            continue
        if mark in env.split(b'\0') and (stat(name) or 'Z')[0] != 'Z':
            found.append(int(name))
    return found

def signal_all(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

def one(name, number, itself, seed):
    """Gives the signal to a process of the command, or to the command itself. Returns what is wrong,
    whether the signal was delivered, and how long the command took to end."""
    rng = random.Random(seed)
    mark = f'KILLS_SH={os.getpid()}.{seed}'
    p = subprocess.Popen([program] + words[name], stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True,
                         env=dict([mark.split('=')], **os.environ))
    def others():
        return [pid for pid in marked(mark.encode()) if pid != p.pid]
    until = time.monotonic() + START_S
    while not others() and p.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(rng.uniform(0, 1))
    delivered = False
    try:
        target = p.pid if itself else rng.choice(others())
        if p.poll() is None:
            os.kill(target, number)
            delivered = True
    except (IndexError, ProcessLookupError):
        pass
    where = f'{name}{" itself" if itself else ""}, {number.name}, seed {seed}'
    began = time.monotonic()
    try:
        p.wait(timeout=MOST_S)
    except subprocess.TimeoutExpired:
        signal_all(others() + [p.pid], signal.SIGKILL)
        return f'{where}: still there after {MOST_S} s', delivered, MOST_S
    took = time.monotonic() - began
    for _ in range(100): # a killed process may take a moment to end
        left = others()
        if not left:
            break
        time.sleep(0.05)
    signal_all(left, signal.SIGKILL)
    try:
        _, err = p.communicate(timeout=5)
    except subprocess.TimeoutExpired:
        err = '(stderr is still open)'
    ends = {-signal.SIGKILL} if itself and delivered else {0, 1}
    if left or p.returncode not in ends or (p.returncode == 1 and not err.strip()):
        return (f'{where}: exit {p.returncode}, {len(left)} processes left: {err}', delivered, took)
    return None, delivered, took

seed = int.from_bytes(os.urandom(4), 'little')
jobs = [(n, signal.SIGKILL, False) for n in names for _ in range(kills)]
jobs += [(n, signal.SIGKILL, True) for n in names for _ in range((kills + 1) // 2)]
jobs += [(n, signal.SIGSTOP, False) for n in names for _ in range(stops)]
worst = {signal.SIGKILL: 0, signal.SIGSTOP: 0}
delivered = {signal.SIGKILL: 0, signal.SIGSTOP: 0}
failed = False
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    futures = [(job, pool.submit(one, *job, seed + i)) for i, job in enumerate(jobs)]
    for (_, number, _), future in futures:
        message, did, took = future.result()
        delivered[number] += did
        worst[number] = max(worst[number], took)
        if message:
            failed = True
            print(message)
for number in worst:
    count = sum(job[1] == number for job in jobs)
    print(f'{number.name}: {delivered[number]} of {count} delivered, '
          f'at most {worst[number]:.1f} s until the end')
    if 2 * delivered[number] < count:
        failed = True
        print(f'{number.name}: too few were delivered')
sys.exit(failed)
P
finish
