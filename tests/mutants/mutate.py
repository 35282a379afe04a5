#!/usr/bin/env python3
"""Puts plausible bugs into the sources, one at a time, and tells which of them no test notices.

  tests/mutants/mutate.py                    the kept list (tests/mutants/list/ROOM.txt)
  tests/mutants/mutate.py --generate 200     mutants that are drawn over the rooms that compute, by --seed
  tests/mutants/mutate.py --sample 2026-11-27   four listed ones and a drawn one, by the date

The tests are built first (`make all tests`). Each of JOBS workers has a copy of the tree under build/mutants,
where a mutant is built incrementally and run against the unit tests and then the scripts that look responsible
(tests_of), quick ones first, until one fails: the mutant is killed. Results are kept in build/mutants/results.jsonl,
and a second call goes on where the first has stopped. As root every test runs in a PID namespace of its own, since a
mutant of what ends processes could end others; otherwise mutants of netsim/launch and netsim/lab are left out.

Exit code 1: a mutant of the list has survived."""
import argparse
import concurrent.futures
import glob
import hashlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import mutants as m

FOLDER = os.path.join(m.ROOT, 'build', 'mutants')
RESULTS = os.path.join(FOLDER, 'results.jsonl')
TIMES = os.path.join(FOLDER, 'times.json')
MARGIN_S = 30      # beyond four times a test's usual time: then it hangs
SLOW_S = 5         # a kill by a test that takes longer must repeat, as such tests may fail on a busy machine
HANGS = 'it hangs' # beyond that, and is not tried again
LONGEST_S = 100    # tests that usually take longer are not run
SIGNALS = ('netsim/launch/', 'netsim/lab/')

# Unit tests of a room also hold rooms that it builds on; scripts by the longest beginning of the file's path.
UNIT_ROOMS = {
    'core': 'core schemes bench models results train netsim cmd binding',
    'schemes': 'schemes bench netsim binding', 'bench': 'bench', 'models': 'models', 'train': 'train netsim',
    'netsim': 'netsim', 'results': 'results', 'cmd': 'cmd', 'binding': 'binding'}
SCRIPTS = {
    'core/': 'cli/trace cli/encode cli/model cli/bench cli/npz cli/data timeline',
    'core/schedule': 'mpi witness/training cli/sim cli/model',
    'schemes/': 'witness/bits cli/encode witness/quality cli/bits cli/schemes cli/plugin cli/plugin_faults '
                'witness/errors witness/training cli/bench',
    'bench/': 'witness/bench witness/errors witness/bits witness/quality cli/bench cli/profiled',
    'models/': 'witness/model cli/trial cli/model cli/linear cli/advise cli/paper cli/nets cli/recipes '
               'cli/calibrate cli/sim',
    'train/': 'witness/training cli/train cli/svrg cli/data cli/train_local cli/train_pipe',
    'netsim/exchange/': 'witness/training mpi sim_off cli/train_consistency cli/train_pipe cli/sim',
    'netsim/inprocess/': 'witness/training cli/train cli/train_local cli/train_consistency cli/train_pipe cli/svrg',
    'netsim/rank/': 'witness/ranks cli/sim cli/timeline mpi sim_off cli/run cli/train_ranks cli/train_pipe',
    'netsim/transport/': 'mpi witness/ranks cli/sim lab_cluster',
    'netsim/platform/': 'cli/sim sim_off', 'netsim/job/': 'cli/sim cli/train_ranks cli/run',
    'netsim/lab/': 'witness/links cli/run', 'netsim/launch/': 'cli/run cli/sim lab_faults lab_cluster',
    'results/': 'cli/keys cli/model cli/compare cli/plot cli/report cli/calls cli/bench cli/train',
    'cmd/': 'cli/program cli/model cli/bench',
    'cmd/cli/': 'cli/program cli/model cli/completion cli/bench',
    'cmd/codec/': 'cli/bench cli/encode witness/bench witness/bits witness/errors witness/quality cli/schemes '
                  'cli/profiled',
    'cmd/input/': 'cli/trial cli/model cli/local cli/advise cli/sim cli/run cli/trace cli/bench cli/train cli/calibrate',
    'cmd/measure/': 'cli/timeline cli/local cli/sim cli/run cli/validate witness/ranks',
    'cmd/model/': 'cli/trial witness/model cli/local cli/model cli/advise cli/paper cli/nets',
    'cmd/recipe/': 'cli/recipes cli/train_paper', 'cmd/results/': 'cli/compare cli/plot cli/report',
    'cmd/run/': 'cli/run cli/calls cli/validate cli/calibrate witness/ranks cli/sim',
    'cmd/train/': 'cli/trial cli/train cli/train_local cli/train_consistency cli/train_ranks cli/train_paper cli/train_pipe '
                  'witness/training cli/svrg',
    'cmd/trace/': 'cli/trace cli/npz cli/capture', 'binding/': 'capture install'}


def tests_of(mutant, root=m.ROOT):
    """Unit tests by their programs, then scripts; those with the file's name, and those that the list names, first.
    Everything by its path in the tree."""
    stem = os.path.basename(mutant.file).split('.')[0]
    rooms = UNIT_ROOMS[mutant.room].split()
    units = [(rooms.index(room), path) for room in rooms
             for path in sorted(glob.glob(f'{root}/tests/{room}/test_*.c'))]
    units = [(room, 'build/' + os.path.relpath(path, root)[:-2]) for room, path in units]
    scripts = max((p for p in SCRIPTS if mutant.file.startswith(p)), key=len, default=None)
    scripts = [f'tests/{name}.sh' for name in SCRIPTS.get(scripts, '').split()]
    first = [f'tests/{t}' if t.endswith('.sh') else f'build/tests/{t}' for t in mutant.tests]

    def order(unit):
        room, path = unit
        own = os.path.basename(path)[5:]
        return (not (stem.startswith(own) or own.startswith(stem)), room, times.get(path, 1))

    chosen = first + [path for _, path in sorted(units, key=order)] + scripts
    return [t for t in dict.fromkeys(chosen) if times.get(t, 0) <= LONGEST_S and t not in unfit and exists(root, t)]


def exists(root, test):
    return os.path.exists(os.path.join(root, test if test.endswith('.sh') else test[len('build/'):] + '.c'))


# Scripts that run test programs of their own.
WHOLE = {f'tests/{name}.sh' for name in ('mpi', 'sim_ranks', 'sim_off')}

times = {}    # the usual seconds of each test
unfit = {}    # tests that fail without one, and why


def can_unshare():
    return os.geteuid() == 0 and subprocess.run(['unshare', '--pid', '--fork', '--kill-child', '--mount-proc', 'true'],
                                                capture_output=True).returncode == 0


def run(tree, words, limit_s, apart, env=None):
    """Runs a command in a tree, with a temporary folder of its own: (exit code or None for too long, output)."""
    with tempfile.TemporaryDirectory(prefix='mutant-') as tmp:
        if apart:
            # A shell is the first process, to which orphans belong: a test may wait for its own children.
            words = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc', 'sh', '-c', '"$@"; exit $?', 'sh',
                     *words]
        with open(os.path.join(tmp, 'output'), 'w+b') as output:
            p = subprocess.Popen(words, cwd=tree, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                 env=dict(os.environ, TMPDIR=tmp, COMMCOMP_TEST='quick', COMMCOMP_TEST_RANKS='3 4',
                                          COMMCOMP='build/bin/commcomp', XDG_CACHE_HOME=os.path.join(tmp, 'cache'),
                                          **(env or {})), start_new_session=True)
            try:
                code = p.wait(timeout=limit_s)
            except subprocess.TimeoutExpired:
                code = None
            if p.poll() is None or not apart:
                try:
                    os.killpg(p.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                p.wait()
            output.seek(0)
            return code, output.read().decode(errors='replace')


def run_test(tree, test, apart):
    """Seconds, and why it fails; None: it passes."""
    began = time.monotonic()
    code, output = run(tree, [test], 4 * times.get(test, LONGEST_S) + MARGIN_S, apart)
    took = time.monotonic() - began
    if code == 0:
        return took, None
    lines = [line for line in output.split('\n') if 'FAILED' in line or 'rror' in line]
    return took, HANGS if code is None else (lines[0] if lines else f'exit {code}').strip()[:160]


def make(tree, *targets):
    return run(tree, ['make', '-s', *targets], 900, False)


# --- trees ---

def make_tree(number):
    """A copy of the sources and the build, whose times are kept, so that little is built again."""
    tree = os.path.join(FOLDER, f'tree-{number}')
    shutil.rmtree(tree, ignore_errors=True)
    names = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard', '-z'], cwd=m.ROOT, capture_output=True,
                           check=True).stdout.decode().split('\0')
    for name in filter(None, names):
        source = os.path.join(m.ROOT, name)
        if os.path.isfile(source):
            os.makedirs(os.path.dirname(os.path.join(tree, name)), exist_ok=True)
            shutil.copy2(source, os.path.join(tree, name))
    left_out = {'mutants', 'asan', 'tsan', 'clang', 'fuzzing', 'fuzz', 'arm64', 'coverage'}
    for name in os.listdir(os.path.join(m.ROOT, 'build')):
        source = os.path.join(m.ROOT, 'build', name)
        if name not in left_out:
            target = os.path.join(tree, 'build', name)
            if os.path.isdir(source):
                shutil.copytree(source, target, symlinks=True)
            else:
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copy2(source, target, follow_symlinks=False)
    code, output = make(tree, f'-j{os.cpu_count()}', 'all', 'tests')
    if code != 0:
        sys.exit(f'mutate.py: the copy {tree} cannot be built:\n{output}')
    return tree


def objects(tree, file):
    """The code of a source file as it is compiled, without what debuggers read."""
    stem, found = file[:-2], {}
    kernel = stem[:-2] if stem.endswith('.k') else None
    for path in sorted(glob.glob(f'{tree}/build/*/{kernel}.*.o' if kernel else f'{tree}/build/*/{stem}.o')):
        out = path + '.bare'
        subprocess.run(['strip', '-g', '-o', out, path], check=True)
        with open(out, 'rb') as f:
            found[os.path.relpath(path, tree)] = hashlib.sha256(f.read()).hexdigest()
        os.remove(out)
    return found


# --- one mutant ---

def needed(test, header):
    """The targets to build for a test."""
    if test.startswith('build/tests/cmd/') or header:
        return [test]
    if test.startswith('build/'):
        return ['build/tests/libtests.so']
    return ['all', 'tests'] if test in WHOLE else ['all']


def try_mutant(mutant, tree, apart, fit, verbose):
    path = os.path.join(tree, mutant.file)
    with open(path) as f:
        text = f.read()
    before = objects(tree, mutant.file)
    changed, line = mutant.apply(text)
    built = set()
    result = {'id': mutant.id, 'file': mutant.file, 'line': line, 'bug': mutant.bug, 'drawn': mutant.drawn,
              'old': [x.strip() for x in mutant.old], 'new': [x.strip() for x in mutant.new], 'tests': 0}
    try:
        with open(path, 'w') as f:
            f.write(changed)
        for test in tests_of(mutant):
            for target in needed(test, mutant.file.endswith('.h')):
                if target not in built:
                    code, output = make(tree, target)
                    built.add(target)
                    if code != 0:
                        lines = [x for x in output.split('\n') if 'error' in x]
                        return {**result, 'end': 'not compiled', 'why': lines[0] if lines else output[-200:]}
            if before and not mutant.file.endswith('.h') and objects(tree, mutant.file) == before and \
                    ('all' in built or mutant.room != 'cmd' and not mutant.file.startswith('netsim/')):
                return {**result, 'end': 'same code'}
            took, why = run_test(tree, test, apart)
            if why not in (None, HANGS) and (took > SLOW_S or test.endswith('.sh')):
                took, why = run_test(tree, test, apart)
            result['tests'] += 1
            if verbose:
                print(f'    {test}: {took:.1f} s: {why or "passes"}', flush=True)
            if why is None:
                fit.took(test, took)
            elif fit(test):
                return {**result, 'end': 'killed', 'by': test, 'why': why}
        return {**result, 'end': 'survived'}
    finally:
        with open(path, 'w') as f:
            f.write(text)
        os.utime(path)


# --- all ---

def whole_run():
    """The seconds of each test in the last run of all tests, which tests/run.sh keeps."""
    path = os.path.join(m.ROOT, os.environ.get('COMMCOMP_TEST_TIMES', 'build/test-times'))
    if not os.path.exists(path):
        return {}
    with open(path) as f:
        rows = [line.rstrip('\n').split('\t') for line in f]
    return {f'tests/{row[4]}' if row[4].endswith('.sh') else f'build/tests/{row[4]}': int(row[0]) / 1000
            for row in rows if len(row) == 6 and row[0].isdigit()}


class Fitness:
    """Which tests pass without a mutant: one that kills is run once in a tree without one. Also keeps the usual times
    of tests, which decide their order."""

    def __init__(self, tree, apart):
        self.tree, self.apart, self.lock, self.passes = tree, apart, threading.Lock(), {}
        times.update(whole_run())
        if os.path.exists(TIMES):
            with open(TIMES) as f:
                times.update(json.load(f))

    def __call__(self, test):
        with self.lock:
            if test not in self.passes:
                why = None
                for _ in range(2): # tests may fail once on a busy machine
                    took, why = run_test(self.tree, test, self.apart)
                    if why is None:
                        break
                self.passes[test] = why is None
                self.took(test, took)
                if why is not None:
                    unfit[test] = why
                    print(f'{test} fails without a mutant, and is left out: {why}', flush=True)
            return self.passes[test]

    def took(self, test, seconds):
        times[test] = round(seconds, 2)

    def save(self):
        with open(TIMES, 'w') as f:
            json.dump(times, f, indent=0, sort_keys=True)


def key_of(mutant):
    with open(os.path.join(m.ROOT, mutant.file), 'rb') as f:
        return mutant.id + hashlib.sha256(f.read()).hexdigest()[:12]


def load():
    if not os.path.exists(RESULTS):
        return {}
    with open(RESULTS) as f:
        return {r['key']: r for r in map(json.loads, f)}


def go(chosen, args, known):
    """Tries the mutants that have no result yet. Returns the results in the order of the list."""
    done = {} if args.again else load()
    apart = can_unshare()
    left = [x for x in chosen if key_of(x) not in done and not x.equivalent and x.id not in known]
    if not apart and any(x.file.startswith(SIGNALS) for x in left):
        print('skipped: mutants of netsim/launch and netsim/lab: they need root, and PID namespaces', flush=True)
        left = [x for x in left if not x.file.startswith(SIGNALS)]
    if left:
        print(f'{len(left)} mutants, {args.jobs} at a time', flush=True)
        trees, count = queue.Queue(), [0]
        for i in range(min(args.jobs, len(left))):
            trees.put(make_tree(i))
        fit = Fitness(make_tree('plain'), apart)
        lock = threading.Lock()

        def one(mutant):
            tree = trees.get()
            try:
                began = time.monotonic()
                r = {'key': key_of(mutant), **try_mutant(mutant, tree, apart, fit, args.verbose)}
                r['seconds'] = round(time.monotonic() - began, 1)
            finally:
                trees.put(tree)
            with lock:
                count[0] += 1
                done[r['key']] = r
                with open(RESULTS, 'a') as f:
                    f.write(json.dumps(r) + '\n')
                by = f' by {r["by"]}' if 'by' in r else ''
                fit.save()
                print(f'[{count[0]}/{len(left)}] {r["end"]}{by}: {r["file"]}:{r["line"]}: {r["bug"]}', flush=True)

        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            for future in [pool.submit(one, mutant) for mutant in left]:
                future.result()
        for tree in glob.glob(os.path.join(FOLDER, 'tree-*')):
            shutil.rmtree(tree, ignore_errors=True)
    results = []
    for mutant in chosen:
        why = mutant.equivalent or known.get(mutant.id)
        r = {'file': mutant.file, 'end': 'equivalent', 'drawn': mutant.drawn} if why else done.get(key_of(mutant))
        if r is not None:
            results.append(r)
    return results


def report(results, seconds):
    ends = ['killed', 'survived', 'equivalent', 'same code', 'not compiled']
    print(f'\n{"room":<10}{"mutants":>9}' + ''.join(f'{end:>14}' for end in ends))
    rooms = [room for room in m.ROOMS if any(r['file'].startswith(room + '/') for r in results)]
    for room in rooms + ['all']:
        own = [r for r in results if room == 'all' or r['file'].startswith(room + '/')]
        print(f'{room:<10}{len(own):>9}' + ''.join(f'{sum(r["end"] == end for r in own):>14}' for end in ends))
    for kind, is_drawn in (('listed', False), ('drawn', True)):
        killed, survived = (sum(r['end'] == end and r['drawn'] == is_drawn for r in results) for end in ends[:2])
        if killed + survived:
            print(f'{kind}: {killed} of {killed + survived} killed, {100 * killed / (killed + survived):.1f}%')
    for r in results:
        if r['end'] == 'survived':
            print(f'\nsurvived {r["tests"]} tests: {r["file"]}:{r["line"]}: {r["bug"]} ({r["id"]})')
            print('\n'.join(['  - ' + x for x in r['old']] + ['  + ' + x for x in r['new']]))
    print(f'\n{seconds:.0f} s')


def sample(date):
    """Four listed mutants and a drawn one, by the date. Listed ones whose killers may depend on the machine (ranks,
    labs, clocks) are left to the whole run."""
    import random
    quick = [x for x in m.listed() if not x.equivalent and not x.tests and x.room in
             ('core', 'schemes', 'models', 'train', 'results', 'binding')]
    return random.Random(date).sample(quick, 4) + m.drawn(1, date)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--jobs', type=int, default=int(os.environ.get('JOBS') or os.cpu_count()))
    p.add_argument('--room', action='append', help='mutants of this room, or of files that begin so')
    p.add_argument('--only', help='mutants whose file, text or id contains this')
    p.add_argument('--survivors', action='store_true', help='those that have survived, again')
    p.add_argument('--again', action='store_true', help='also those that have a result')
    p.add_argument('--generate', type=int, default=0, metavar='N', help='N drawn mutants, in place of the list')
    p.add_argument('--with-list', action='store_true', help='the list beside drawn ones')
    p.add_argument('--seed', default='1', help='for drawn mutants')
    p.add_argument('--sample', metavar='DATE', help='four listed and a drawn one, by the date')
    p.add_argument('--verbose', action='store_true')
    args = p.parse_args()
    os.chdir(m.ROOT)
    os.makedirs(FOLDER, exist_ok=True)
    try:
        known = m.known_equivalent()
        if args.sample:
            chosen = sample(args.sample)
        else:
            chosen = (m.listed() if not args.generate or args.with_list else []) + m.drawn(args.generate, args.seed)
    except m.Fault as fault:
        sys.exit(f'mutate.py: {fault}')
    chosen = [x for x in chosen if not args.room or any(x.file.startswith(room) for room in args.room)]
    chosen = [x for x in chosen if not args.only or args.only in ' '.join([x.file, x.bug, x.id, *x.old])]
    if args.survivors:
        survived = {r['id'] for r in load().values() if r['end'] == 'survived'}
        chosen, args.again = [x for x in chosen if x.id in survived], True
    began = time.monotonic()
    results = go(chosen, args, known)
    report(results, time.monotonic() - began)
    sys.exit(any(r['end'] == 'survived' and not r['drawn'] for r in results))


if __name__ == '__main__':
    main()
