#!/bin/sh
# Memory runs out at one allocation: a preloaded library makes the k-th fail, for k = 1, 2, ... of
# every command. Each time the command ends with exit 1 and a message, and an earlier result is as it
# was or, where the command had rows by then, replaced by the new one or its first lines; or the
# command does without and prints and writes all that it does otherwise. It leaves no temporary file.
#
# ALLOCATIONS=all tries every k; otherwise the first 4 and then about fifteen more of each command.
set -u
. "$(dirname "$0")/../cli/lib.sh"

if ! ${CC:-cc} -O1 -shared -fPIC -o shim.so "$tests/faults/fail_allocation.c" 2>/dev/null; then
    echo 'skipped: no compiler for the preloaded library'
    exit 0
fi
if sanitized; then
    echo 'skipped: the sanitizer has an allocator of its own'
    exit 0
fi
make_profile
q 0 trace synth small --values 2k --steps 2
q 0 encode --scheme 3lc small/push-step000000-rank0.safetensors x.cc
t 0 model --net resnet20 --bw 1gbps,100mbps --scheme fp32,3lc --profile profile.json -o model.csv
t 0 model --net resnet20 --bw 1gbps,100mbps --scheme fp32,3lc --profile profile.json -o a.json
t 0 model --net resnet20 --bw 1gbps,50mbps --scheme fp32,3lc --profile profile.json -o b.json
export XDG_CACHE_HOME="$PWD/cache"
t 0 model --net resnet20 --bw 1gbps --scheme fp32,int8
end_case
case='every command, with one failed allocation' good=1
python3 - "$program" "$(why_no_sim)" <<'P' 2>err || bad 'see above'
import concurrent.futures, os, re, shutil, subprocess, sys
program, no_sim = sys.argv[1:]
step = 'small/push-step000000-rank0.safetensors'
model = 'model --net resnet20 --bw 1gbps --scheme fp32,3lc --profile profile.json '
commands = [
    'schemes', 'nets', 'nets resnet20 --format json', 'paper', '--help', 'bench --help', '--man',
    'trace info small', 'trace synth OUT --values 1k --steps 1', f'trace convert {step} OUT.npy',
    'trace convert --compress small OUT', 'trace info x.cc',
    f'encode --scheme 3lc {step} OUT.cc', f'encode --scheme zstd --per-tensor {step} OUT.cc',
    'decode x.cc OUT.safetensors', 'decode x.cc OUT.csv',
    'bench --trace small --scheme 3lc,topk --no-speed --format csv',
    model + '-o OUT.json', model + '--format md', model + '--exchange ring,rabenseifner --format json',
    'advise --net resnet20 --bw 1gbps --workers 4 --profile profile.json --scheme fp32,3lc',
    'model --net resnet20 --bw 1gbps --scheme fp32,int8 --format csv', # over the kept profile
    'compare a.json b.json', 'compare a.json b.json -o OUT.csv --notes OUT.txt',
    model + '-o OUT.csv --notes OUT.txt',
    'bench --values 1k --samples 2 --discard 1 --time 1us --threads 1 --scheme 3lc '
    '--profile-out OUT.json',
    'plot model.csv --kind step', 'plot model.csv --script OUT.gp',
]
if not no_sim:
    commands.append('sim --net resnet20 --workers 2 --bw 1gbps --steps 1 --scheme fp32 --data off '
                    '--profile profile.json -o OUT.csv')
every = os.environ.get('ALLOCATIONS') == 'all'
EARLIER = 'an earlier result\n'

def numbers():
    k = 1
    while True:
        yield k
        k += 1 if every or k < 4 else max(1, k // 3)

def clean(out, measured):
    """Without the times of clocks; of a command that prints or writes such times, no numbers."""
    if measured:
        return re.sub(r'[-+]?[0-9][-+0-9.e]*|\s+', ' ', out)
    return re.sub(r'\d+-\d+-\d+T[\d:]+Z|[0-9.]+ *(ms|us|s)\b|\s+', ' ', out)

def files(folder):
    found = {}
    for at, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(at, name), 'rb') as f:
                found[os.path.relpath(os.path.join(at, name), folder)] = f.read().decode('latin-1')
    return found

def one(number):
    words = commands[number]
    folder = f'c{number}'
    report = f'failed{number}'
    # Earlier results, but for directories and for encode and decode, which keep those anyway.
    earlier = [w for w in words.split() if w.startswith('OUT.') and 'code ' not in words]
    measured = '--profile-out' in words or words.startswith('sim')
    def same(a, b):
        return clean(a, measured) == clean(b, measured)
    def begins(a, b): # a is the first lines of b, or all
        return a.endswith('\n') and clean(b, measured).startswith(clean(a, measured))
    bad, runs, without = [], 0, 0
    def run(k):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree('cache', os.path.join(folder, 'cache'))
        for name in earlier:
            with open(os.path.join(folder, name.replace('OUT', 'out')), 'w') as f:
                f.write(EARLIER)
        if os.path.exists(report):
            os.remove(report)
        env = dict(os.environ, LD_PRELOAD=os.path.abspath('shim.so'), FAIL_AT=str(k),
                   XDG_CACHE_HOME=os.path.abspath(os.path.join(folder, 'cache')),
                   FAIL_REPORT=os.path.abspath(report))
        before = files(folder)
        try:
            p = subprocess.run([program] + words.replace('OUT', os.path.join(folder, 'out')).split(),
                               env=env, text=True, stdin=subprocess.DEVNULL, capture_output=True,
                               timeout=60)
        except subprocess.TimeoutExpired:
            p = subprocess.CompletedProcess(words, -99, '', 'it hangs')
        return p, before, files(folder)
    normal, before, wanted = run(0)
    if normal.returncode != 0:
        return number, [(0, normal.returncode, normal.stderr)], 0, 0
    for k in numbers():
        p, before, after = run(k)
        if not os.path.exists(report):
            break
        runs += 1
        why = [f'left: {n}' for n in after if '.tmp' in n]
        if p.returncode == 1:
            if not p.stderr.strip():
                why.append('no message')
            why += [f'changed: {n}' for n in before if n.startswith('out') and
                    after.get(n) != before[n] and not begins(after.get(n, ''), wanted[n])]
        elif p.returncode == 0:
            without += 1
            # A kept profile that cannot be read is measured again, with a remark.
            if not same(p.stdout, normal.stdout) and 'measuring the speed' not in p.stderr and \
               'its error could not be measured' not in p.stdout:
                why.append('prints something else')
            # So are kept figures, and then only those that this command needs are written.
            again = 'measuring sizes' in p.stderr and p.stderr != normal.stderr
            why += [f'differs: {n}' for n in sorted(set(wanted) | set(after)) if n not in wanted or
                    n not in after or not same(after[n], wanted[n])
                    if not (again and 'figures-' in n and n in after)]
        else:
            why.append('exit code')
        if why:
            bad.append((k, p.returncode, why, p.stderr[-200:]))
    return number, bad, runs, without

total = harmless = 0
failed = False
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    for number, bad, runs, without in pool.map(one, range(len(commands))):
        total += runs
        harmless += without
        failed |= bool(bad)
        for b in bad[:6]:
            print(f'commcomp {commands[number]}: allocation {b[0]}: exit {b[1]}: {b[2:]}')
print(f'{len(commands)} commands, {total} failed allocations, {harmless} of them without effect')
sys.exit(failed)
P
finish
