#!/bin/sh
# Memory runs out at one allocation: a preloaded library makes the k-th fail, for k = 1, 2, ... of
# every command. Each time the command ends with exit 1 and a message, or does without and prints
# what it always does; it leaves no temporary file, and earlier results as they were.
#
# ALLOCATIONS=all tries every k; otherwise the first 8 and then about fifteen more of each command.
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
end_case
case='every command, with one failed allocation' good=1
python3 - "$program" "$(why_no_sim)" <<'P' 2>err || bad 'see above'
import concurrent.futures, os, re, subprocess, sys
program, no_sim = sys.argv[1:]
step = 'small/push-step000000-rank0.safetensors'
model = 'model --net resnet20 --bw 1gbps --scheme fp32,3lc --profile profile.json '
commands = [
    'schemes', 'nets', 'nets resnet20 --format json', 'paper', '--help', 'bench --help', '--man',
    'trace info small', 'trace synth OUT --values 1k --steps 1', f'trace convert {step} OUT.npy',
    f'encode --scheme 3lc {step} OUT.cc', f'encode --scheme zstd --per-tensor {step} OUT.cc',
    'decode x.cc OUT.safetensors', 'decode x.cc OUT.csv',
    'bench --trace small --scheme 3lc,topk --no-speed --format csv',
    model + '-o OUT.json', model + '--format md', model + '--exchange ring,rabenseifner --format json',
    'advise --net resnet20 --bw 1gbps --workers 4 --profile profile.json --scheme fp32,3lc',
    'plot model.csv --kind step', 'plot model.csv --script OUT.gp',
]
if not no_sim:
    commands.append('sim --net resnet20 --workers 2 --bw 1gbps --steps 1 --scheme fp32 --data off '
                    '--profile profile.json -o OUT.csv')
every = os.environ.get('ALLOCATIONS') == 'all'

def numbers():
    k = 1
    while True:
        yield k
        k += 1 if every or k < 8 else k // 3

def clean(out):
    # times of clocks
    return re.sub(r'\d+-\d+-\d+T[\d:]+Z|[0-9.]+ *(ms|us|s)\b|\s+', ' ', out)

def one(number):
    folder = f'c{number}'
    os.mkdir(folder)
    out = os.path.join(folder, 'out')
    words = [w.replace('OUT', out) for w in commands[number].split()]
    env = dict(os.environ, LD_PRELOAD=os.path.abspath('shim.so'), XDG_CACHE_HOME=folder,
               FAIL_REPORT=os.path.join(folder, 'failed'))
    bad, runs, without = [], 0, 0
    def run(k):
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if os.path.isdir(path):
                for inner in os.listdir(path): os.remove(os.path.join(path, inner))
                os.rmdir(path)
            else:
                os.remove(path)
        try:
            return subprocess.run([program] + words, env=dict(env, FAIL_AT=str(k)), text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(words, -99, '', 'it hangs')
    normal = run(0)
    if normal.returncode != 0:
        return number, [(0, normal.returncode, normal.stderr)], 0, 0
    for k in numbers():
        p = run(k)
        if not os.path.exists(env['FAIL_REPORT']):
            break
        runs += 1
        left = [n for n in os.listdir(folder) if '.tmp' in n]
        fine = p.returncode == 1 and p.stderr.strip() != ''
        if p.returncode == 0 and (clean(p.stdout) == clean(normal.stdout) or
                                  'its error could not be measured' in p.stdout):
            fine, without = True, without + 1
        if not fine or left:
            bad.append((k, p.returncode, p.stderr[-200:], left))
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
