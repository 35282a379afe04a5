#!/usr/bin/env python3
"""Holds the list against the sources, and the tools of mutants against a small file. With --count N, fails if the list
has fewer than N entries."""
import os
import sys
import tempfile

import mutants as m

failed = 0
passed = 0


def check(holds, text):
    global failed, passed
    passed += bool(holds)
    failed += not holds
    if not holds:
        print(f'FAILED: {text}')


def refused(text, part):
    try:
        m.parse('list', text)
    except m.Fault as fault:
        check(part in str(fault), f'"{fault}" has "{part}"')
    else:
        check(False, f'refused: {text!r}')


# --- the list ---

try:
    entries = m.listed()
except m.Fault as fault:
    print(f'FAILED: {fault}')
    print('mutants: 0 passed, 1 failed')
    sys.exit(1)
texts = {}
for entry in entries:
    try:
        if entry.file not in texts:
            with open(os.path.join(m.ROOT, entry.file)) as f:
                texts[entry.file] = f.read()
        entry.apply(texts[entry.file])
    except (OSError, m.Fault) as fault:
        check(False, f'{entry.place}: {fault}')
    else:
        passed += 1
    for test in entry.tests:
        path = f'tests/{test}' if test.endswith('.sh') else f'tests/{test}.c'
        check(os.path.exists(os.path.join(m.ROOT, path)), f'{entry.place}: there is no {path}')
ids = [entry.id for entry in entries]
check(len(set(ids)) == len(ids), f'twice: {[e.place for e in entries if ids.count(e.id) > 1]}')
least = int(sys.argv[sys.argv.index('--count') + 1]) if '--count' in sys.argv else 0
check(len(entries) >= least, f'{len(entries)} entries, at least {least}')
for room in m.ROOMS:
    check(any(entry.room == room for entry in entries), f'no entry of {room}')

# --- reading a list ---

good = """# a comment
file: core/a.c
bug: it is off by one
near: int f(void)
-     return 1;
-     return 2;
+     return 3;

file: core/b.c
bug: another
- x();
equivalent: x() does nothing
tests: core/test_b cli/b.sh
"""
one, two = m.parse('list', good)
check((one.file, one.near, one.old, one.new) == ('core/a.c', 'int f(void)', ['     return 1;', '     return 2;'],
                                                 ['     return 3;']), 'the first entry')
check((two.new, two.equivalent, two.tests, two.place) ==
      ([], 'x() does nothing', ['core/test_b', 'cli/b.sh'], 'list:9'), 'the second entry')
check(one.id != two.id and one.id == m.parse('other', good)[0].id, 'ids')
refused('file: core/a.c\n- x\n+ y\n', 'without "bug:"')
refused('bug: b\n- x\n+ y\n', 'without "file:"')
refused('file: core/a.c\nbug: b\n+ y\n', 'missing')
refused('file: core/a.c\nbug: b\n- x\n+   x\n', 'missing')
refused('file: core/a.c\nbug: b\nbog: c\n- x\n', 'list:3')
refused('file: core/a.c\nbug: b\nbug: c\n- x\n', 'list:3')

# --- changing a text ---

text = 'int e(void)\n{\n    return 1;\n    return 2;\n}\nint f(void)\n{\n    return 1;\n    return 2;\n}\nx();\n'
changed, line = one.apply(text)
check((changed.count('return 3'), line, changed.index('return 3') > changed.index('int f')) == (1, 8, True),
      'the place after `near`')
for entry, old in ((m.Mutant('a', '', ['return 1;'], ['']), text), (m.Mutant('a', '', ['y();'], []), text),
                   (m.Mutant('a', '', ['x();'], [], near='int g'), text)):
    try:
        entry.apply(old)
    except m.Fault:
        passed += 1
    else:
        check(False, f'{entry.old} is there twice or never')

# --- drawing ---

source = """/* a + b */
static const int table[] = {1, 2 + 3};
int f(int a, char *b)
{
    if (a < 2) /* a < 3 */
        return a + 1;
    g("a + b", a);
    return *b - a;
}
"""
found = {(number, bug) for number, _, _, _, bug in m.sites('core/a.c', source)}
check(found == {(5, '< is <='), (5, '< is >='), (5, '2 is 3'), (5, '2 is 1'), (5, 'the condition is negated'),
                (6, '+ is -'), (6, '1 is 0'), (6, '1 is 2'), (7, 'the statement is left out'), (8, '- is +')},
      f'the places of a small file: {sorted(found)}')
with tempfile.TemporaryDirectory() as root:
    os.mkdir(os.path.join(root, 'core'))
    with open(os.path.join(root, 'core', 'a.c'), 'w') as f:
        f.write(source)
    drawn = m.drawn(100, 'seed', root)
    check(len(drawn) == 10 and len({d.id for d in drawn}) == 10, 'all places are drawn once')
    check([d.id for d in m.drawn(5, 'seed', root)] == [d.id for d in m.drawn(5, 'seed', root)], 'a seed is a choice')
    check([d.id for d in m.drawn(5, 'seed', root)] != [d.id for d in m.drawn(5, 'other', root)], 'another is another')
    for d in drawn:
        changed, line = d.apply(source)
        differ = [i for i, (a, b) in enumerate(zip(source.split('\n'), changed.split('\n')), 1) if a != b]
        check(differ == [d.number], f'{d.place}: only its line changes')
print(f'mutants: {passed} passed, {failed} failed')
sys.exit(failed > 0)
