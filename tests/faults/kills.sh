#!/bin/sh
# The commands that start ranks, in every mode: one of their processes is killed or stopped at a
# random moment, or the command itself is killed, terminated or interrupted. It ends soon, with a
# message, and nothing is left of it: no process, hence no namespace, and no file in /dev/shm or TMPDIR.
#
# By default a few of each, within a minute or two; with COMMCOMP_TEST_EVERY=1, 60 kills and 40 stops
# over the modes. Arguments are the modes to test, by default all. Only processes that carry the mark
# of a command started here are ever signalled.
set -u
. "$(dirname "$0")/../cli/lib.sh"
make_run_profile
no_sim=$(why_no_sim) no_lab=$(why_no_lab)
[ -z "$no_sim" ] || echo "skipped: sim: $no_sim"
[ -z "$no_lab" ] || echo "skipped: run: $no_lab"
no_mpi=
for tool in mpirun "$(dirname "$program")/commcomp-rank"; do
    command -v "$tool" >/dev/null || no_mpi="there is no $tool"
done
[ -z "$no_mpi" ] || echo "skipped: run --bw none and --hosts: $no_mpi"
case='kills and stops' good=1
: >out
python3 - "$program" "${no_sim:+1}" "${no_lab:+1}" "${no_mpi:+1}" "$@" <<'P' 2>err || bad 'see above'
import concurrent.futures, os, random, shutil, signal, subprocess, sys, tempfile, time
program, no_sim, no_lab, no_mpi = sys.argv[1:5]
every = os.environ.get('COMMCOMP_TEST_EVERY') == '1'
common = '--net resnet20 --bw 1gbps --profile run.json -q'.split()
train = 'train -q --net mlp:16 --batch 8 --workers 2 --steps 100000 --eval-every 100000 --scheme fp32'
SIM, LAB, MPI = 1, 2, 4
modes = { # what each needs, and its command, which takes some 30 s if nobody ends it
    'sim': (SIM, 'sim --exchange ps --workers 8 --steps 3000 --scheme fp32,3lc'.split() + common),
    'train --on sim': (SIM, (train + ' --on sim --bw 1gbps --compute 2ms').split()),
    'run': (LAB, 'run --exchange ps --workers 2 --steps 1000 --scheme fp32,3lc'.split() + common),
    'run --bw none': (MPI, 'run -q --bw none --exchange ring --workers 3 --values 1M --steps 2000 --warmup 2000 --scheme '
                           'fp32,int8,ternary,3lc'.split()),
    'run --hosts': (MPI, 'run --exchange ps --hosts localhost:3 --workers 2 --steps 1000 --scheme fp32,3lc'.split() + common
                    + ['--mpirun-args', '--allow-run-as-root --mca btl self,vader']),
    'train --on run': (LAB, (train + ' --on run --bw 1gbps --compute 2ms').split()),
    'calibrate': (LAB, 'calibrate -q --bw 20mbps'.split()),
    'validate': (LAB | SIM, 'validate --exchange ps --workers 2 --steps 300 --scheme fp32,3lc'.split() + common),
}
missing = (SIM if no_sim else 0) | (LAB if no_lab else 0) | (MPI if no_mpi else 0)
names = [name for name in sys.argv[5:] or modes if not modes[name][0] & missing]
MOST_S = 40  # from the signal to the end of the command
START_S = 20 # until the first process of the command
ANSWER_S = 25 # until a lab is opened, or given up
LEFT_S = 10  # until a killed command's other processes and files are gone
PAUSE_S = 13 # by which a stopped process ends a run
KILLED, ENDED, STOPPED = 'SIGKILL of a member', 'KILL, TERM, INT of the command', 'SIGSTOP of a member'
PAUSED = 'Ctrl-Z, fg and Ctrl-C'

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
    return [pid for pid in found if pid > 1 and pid != os.getpid()]

def name_of(pid):
    try:
        return open(f'/proc/{pid}/comm').read().strip()
    except OSError:
        return '?'

def signal_all(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

def shared():
    """Files of Open MPI and of ours in /dev/shm that no process has mapped: other tests may run beside this one."""
    names = os.listdir('/dev/shm') if os.path.isdir('/dev/shm') else []
    names = {n for n in names if n.startswith(('vader_segment', 'commcomp-', 'sm_segment'))}
    for pid in filter(str.isdigit, os.listdir('/proc') if names else []):
        try:
            maps = open(f'/proc/{pid}/maps').read()
        except OSError:
            continue
        names = {n for n in names if f'/dev/shm/{n}' not in maps}
    return names

def wait_until(holds, seconds):
    until = time.monotonic() + seconds
    while not holds() and time.monotonic() < until:
        time.sleep(0.05)

def as_a_shell_does():
    """A group of its own, which a terminal's signals reach. Commands keep signals that are ignored, as a shell's background jobs ignore SIGINT."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP):
        signal.signal(number, signal.SIG_DFL)
    os.setpgid(0, 0)

def one(name, kind, number, seed):
    """Gives the signal to a process of the command, or to the command itself. Returns what is wrong,
    whether the signal was delivered, how long the command took to end, and to whom it was given."""
    rng = random.Random(seed)
    mark = f'KILLS_SH={os.getpid()}.{seed}'
    tmp = tempfile.mkdtemp(dir='.')
    env = dict(os.environ, TMPDIR=os.path.abspath(tmp))
    env.update([mark.split('=')])
    p = subprocess.Popen([program] + modes[name][1], stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=env,
                         preexec_fn=as_a_shell_does)
    def others():
        return [pid for pid in marked(mark.encode()) if pid != p.pid]
    wait_until(lambda: others() or p.poll() is not None, START_S)
    time.sleep(rng.uniform(0, 3))
    delivered, target, paused = False, p.pid, True
    try:
        if kind in (KILLED, STOPPED):
            target = rng.choice(others())
        whom = name_of(target)
        if p.poll() is None and number in (signal.SIGINT, signal.SIGTSTP):
            os.killpg(p.pid, number) # as the terminal does
            delivered = True
        elif p.poll() is None:
            os.kill(target, number)
            delivered = True
        if kind is PAUSED:
            time.sleep(PAUSE_S)
            paused = (stat(p.pid) or '?')[0] == 'T'
            os.killpg(p.pid, signal.SIGCONT)
            time.sleep(3)
            paused = paused and p.poll() is None
            os.killpg(p.pid, signal.SIGINT)
    except (IndexError, ProcessLookupError):
        whom = 'nobody'
    where = f'{name}, {number.name} to {whom}, seed {seed}'
    began = time.monotonic()
    # Nothing waits for the keeper, nor for a lab's first process once the lab is open: the run goes
    # on, and is interrupted here.
    idle_s = 0 if whom == 'commcomp-keep' else ANSWER_S if kind is STOPPED and whom == 'commcomp' else None
    try:
        if idle_s is not None:
            wait_until(lambda: p.poll() is not None, idle_s)
        if idle_s is not None and p.poll() is None:
            began = time.monotonic()
            p.send_signal(signal.SIGINT)
        p.wait(timeout=MOST_S)
    except subprocess.TimeoutExpired:
        signal_all(others() + [p.pid], signal.SIGKILL)
        return f'{where}: still there after {MOST_S} s', delivered, MOST_S, whom
    took = time.monotonic() - began
    wait_until(lambda: not others() and not os.listdir(tmp), LEFT_S)
    left = [name_of(pid) for pid in others()] + os.listdir(tmp)
    signal_all(others(), signal.SIGKILL)
    shutil.rmtree(tmp, ignore_errors=True)
    try:
        _, err = p.communicate(timeout=5)
    except subprocess.TimeoutExpired:
        err = '(stderr is still open)'
    interrupted = kind is PAUSED or idle_s is not None or number in (signal.SIGINT, signal.SIGTERM)
    # validate ends with 1 if a row that was measured before differs from the formulas.
    ends = {0, 1} | ({3} if name == 'validate' else set()) | ({130} if interrupted else set())
    if kind is ENDED and number == signal.SIGKILL and delivered:
        ends = {-signal.SIGKILL}
    wrong = left or p.returncode not in ends or (p.returncode > 0 and not err.strip())
    if kind is PAUSED:
        wrong = wrong or not paused or 'stopped' in err
    if kind is STOPPED and p.returncode in (1, 3) and whom not in ('commcomp', 'commcomp-keep', 'ip', 'tc', 'bridge'):
        wrong = wrong or 'stopped' not in err
    if os.environ.get('KILLS_SHOW'):
        print(f'{where}: {took:.1f} s, exit {p.returncode}, left {left}: {err.strip()[:200]}', flush=True)
    if wrong:
        return f'{where}: exit {p.returncode}, left: {left}: {err}', delivered, took, whom
    return None, delivered, took, whom

seed = int.from_bytes(os.urandom(4), 'little')
kills, stops = (5, 5) if every else (1, 1)
jobs = []
for name in names:
    jobs += [(name, KILLED, signal.SIGKILL)] * kills
    jobs += [(name, ENDED, number) for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)]
    jobs += [(name, STOPPED, signal.SIGSTOP)] * stops
    # It has to go on for some 20 s; calibrate and validate may end before.
    jobs += [(name, PAUSED, signal.SIGTSTP)] * (name in ('sim', 'run', 'run --bw none', 'run --hosts'))
random.Random(seed).shuffle(jobs)
before, failed, table = shared(), False, {}
with concurrent.futures.ThreadPoolExecutor(6) as pool:
    futures = [(job, seed + i, pool.submit(one, *job, seed + i)) for i, job in enumerate(jobs)]
    results = [(job, s, future.result()) for job, s, future in futures]
    for job, s, (message, did, took, whom) in results:
        name, kind = job[:2]
        if message: # the limits of time are those of a machine with six commands: once more, alone
            print(message, flush=True)
            message, did, took, whom = one(*job, s)
            print('again, alone:', message or 'passed', flush=True)
        row = table.setdefault((name, kind), [0, 0, 0.0])
        row[0] += 1
        row[1] += did
        row[2] = max(row[2], took)
        failed = failed or bool(message)
for name in names:
    for kind in (k for k in (KILLED, ENDED, STOPPED, PAUSED) if (name, k) in table):
        n, did, worst = table[name, kind]
        print(f'{name:14}  {kind:30}  {did} of {n} delivered, at most {worst:.1f} s until the end')
count, did = (sum(row[i] for row in table.values()) for i in (0, 1))
if 2 * did < count:
    failed = True
    print(f'{did} of {count} signals were delivered: too few')
wait_until(lambda: not shared() - before, LEFT_S)
left = shared() - before
if left:
    failed = True
    print(f'/dev/shm: left: {sorted(left)}')
sys.exit(failed)
P
finish
