"""Mutants: the kept list (list/ROOM.txt), and those that are drawn over the expressions of the sources."""
import hashlib
import os
import random
import re

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
ROOMS = 'core schemes bench models train netsim results cmd binding'.split()
# Rooms, and folders of rooms, that compute: where mutants are drawn.
COMPUTING = ['core', 'schemes', 'bench', 'models', 'train', 'netsim/exchange', 'netsim/rank', 'netsim/inprocess']


class Fault(Exception):
    """A mistake in the list, with its file and line."""


class Mutant:
    """A change of one place of a source file."""

    def __init__(self, file, bug, old, new, near=None, equivalent=None, tests=(), place=None, drawn=False):
        self.file, self.bug, self.old, self.new, self.near = file, bug, old, new, near
        self.equivalent, self.tests, self.place, self.drawn = equivalent, list(tests), place, drawn
        key = '\n'.join([file, near or '', *old, '+', *new])
        self.id = hashlib.sha256(key.encode()).hexdigest()[:12]

    @property
    def room(self):
        return self.file.split('/')[0]

    def apply(self, text):
        """The mutated text of the file, and the number of the first line that differs. Leading blanks do not
        count. Fault: the old lines are not there just once."""
        lines = text.split('\n')
        stripped = [line.strip() for line in lines]
        old = [line.strip() for line in self.old]
        begin = 0
        if self.near is not None:
            before = [i for i, line in enumerate(stripped) if self.near.strip() in line]
            if not before:
                raise Fault(f'{self.file} has no line with "{self.near}"')
            begin = before[0] + 1
        found = [i for i in range(begin, len(lines) - len(old) + 1) if stripped[i:i + len(old)] == old]
        if not found or (len(found) > 1 and self.near is None):
            raise Fault(f'{self.file} has {len(found) or "no"} places with "{self.old[0].strip()}"')
        at = found[0]
        return '\n'.join(lines[:at] + self.new + lines[at + len(old):]), at + 1


def parse(path, text):
    """The entries of a list. Fault names file and line."""
    mutants, entry, number = [], None, 0

    def end():
        nonlocal entry
        if entry is None:
            return
        at = f'{path}:{entry["line"]}'
        for key in ('file', 'bug'):
            if key not in entry:
                raise Fault(f'{at}: an entry without "{key}:"')
        if not entry['-'] and not entry['+']:
            raise Fault(f'{at}: an entry that changes nothing')
        if [x.strip() for x in entry['-']] == [x.strip() for x in entry['+']] or not entry['-']:
            raise Fault(f'{at}: the - lines are missing, or those of +')
        mutants.append(Mutant(entry['file'], entry['bug'], entry['-'], entry['+'], entry.get('near'),
                              entry.get('equivalent'), entry.get('tests', '').split(), place=at))
        entry = None

    for number, line in enumerate(text.split('\n'), 1):
        if line.startswith('#'):
            continue
        if not line.strip():
            end()
            continue
        if entry is None:
            entry = {'line': number, '-': [], '+': []}
        if line[0] in '-+':
            entry[line[0]].append(line[1:])
            continue
        match = re.match(r'(file|bug|near|equivalent|tests): *(.+)$', line)
        if not match or match[1] in entry:
            raise Fault(f'{path}:{number}: "{line}" is not a line of an entry, or is there twice')
        entry[match[1]] = match[2].strip()
    end()
    return mutants


def listed(folder=os.path.join(HERE, 'list')):
    """All entries of the list."""
    found = []
    for room in ROOMS:
        path = os.path.join(folder, room + '.txt')
        if os.path.exists(path):
            with open(path) as f:
                entries = parse(f'list/{room}.txt', f.read())
            for m in entries:
                if m.room != room:
                    raise Fault(f'{m.place}: {m.file} is not of {room}')
            found += entries
    return found


def known_equivalent(folder=os.path.join(HERE, 'list')):
    """Drawn mutants that were proved to change nothing: {id: reason}, from equivalent.txt, a line each."""
    path = os.path.join(folder, 'equivalent.txt')
    if not os.path.exists(path):
        return {}
    with open(path) as f:
        lines = [line.split(None, 1) for line in f if line.strip() and not line.startswith('#')]
    return {id: reason.strip() for id, reason in lines}


# --- drawing ---

# Binary operators as clang-format writes them, with blanks around: so none is a pointer's, or unary.
SWAPS = {' + ': [' - '], ' - ': [' + '], ' * ': [' / '], ' / ': [' * '], ' % ': [' * '], ' < ': [' <= ', ' >= '],
         ' > ': [' >= ', ' <= '], ' <= ': [' < '], ' >= ': [' > '], ' == ': [' != '], ' != ': [' == '],
         ' && ': [' || '], ' || ': [' && '], ' += ': [' -= ', ' = '], ' -= ': [' += '], ' << ': [' >> '],
         ' >> ': [' << '], ' & ': [' | '], ' | ': [' & ']}
OPERATOR = re.compile(' (?:' + '|'.join(re.escape(s.strip()) for s in sorted(SWAPS, key=len, reverse=True)) + ') ')
NUMBER = re.compile(r'(?<![\w.])(\d+)(?![\w.])')
CONDITION = re.compile(r'\b(if|while) \((?!!)')
STATEMENT = re.compile(r'^\s+[a-z_][\w\->.\[\]]*(\(.*\)| [-+*/|&]?= .*);$')
# Lines of messages, checks, and the release of memory: what they change is no result.
LEFT_OUT = re.compile(r'cc_fail|cc_usage|cc_error|cc_bad|assert|printf|free\(|fclose|close\(|memory_order|CC_TRY|'
                      r'cc_refuse|prefetch|\bchar \w|static const|_Static|case |#|goto |return cc_status|sizeof')


def code_lines(text):
    """(number, line) of lines within functions, with comments and texts blanked out; none of tables."""
    blank = lambda m: re.sub(r'[^\n]', ' ', m[0])
    text = re.sub(r'/\*.*?\*/|//[^\n]*', blank, text, flags=re.S)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', blank, text)
    depth, function, begin = 0, False, ''
    for number, line in enumerate(text.split('\n'), 1):
        inside = depth > 0 and function
        for c in line:
            if c == '{':
                if depth == 0:
                    function = begin.rstrip().endswith(')')
                depth += 1
            elif c == '}':
                depth -= 1
            begin = '' if c in ';}' else begin + c
        begin += ' '
        if inside and depth > 0:
            yield number, line


def sites(file, text):
    """All changes that can be drawn in a file: (number, column, old, new, bug)."""
    for number, line in code_lines(text):
        if LEFT_OUT.search(line) or line.rstrip().endswith(','):
            continue
        for m in OPERATOR.finditer(line):
            for new in SWAPS[m[0]]:
                yield number, m.start(), m[0], new, f'{m[0].strip()} is {new.strip()}'
        for m in NUMBER.finditer(line):
            value = int(m[1])
            for new in {0: [1], 1: [0, 2]}.get(value, [value + 1, value - 1]):
                yield number, m.start(1), m[1], str(new), f'{value} is {new}'
        for m in CONDITION.finditer(line):
            end = closing(line, m.end() - 1)
            if end is not None:
                inner = line[m.end():end]
                yield number, m.end(), inner, f'!({inner})', 'the condition is negated'
        if STATEMENT.match(line) and not re.match(r'\s*(return|break|continue|else|do|int|size_t|double|float)\b', line):
            yield number, len(line) - len(line.lstrip()), line.strip(), ';', 'the statement is left out'


def closing(line, at):
    """The column of the parenthesis that closes the one at `at`, in this line; None: it is in another."""
    depth = 0
    for i in range(at, len(line)):
        depth += (line[i] == '(') - (line[i] == ')')
        if depth == 0:
            return i
    return None


def drawn(count, seed, root=ROOT):
    """`count` mutants, drawn evenly over all places."""
    places = []
    for folder in COMPUTING:
        for base, _, names in sorted(os.walk(os.path.join(root, folder))):
            for name in sorted(n for n in names if n.endswith('.c')):
                path = os.path.join(base, name)
                with open(path) as f:
                    text = f.read()
                file = os.path.relpath(path, root)
                places += [(file, *site) for site in sites(file, text)]
    found = []
    for file, number, column, old, new, bug in random.Random(seed).sample(places, min(count, len(places))):
        with open(os.path.join(root, file)) as f:
            line = f.read().split('\n')[number - 1]
        found.append(DrawnMutant(file, bug, number, line, line[:column] + new + line[column + len(old):]))
    return found


class DrawnMutant(Mutant):
    """One of a line, which it knows by its number."""

    def __init__(self, file, bug, number, old, new):
        super().__init__(file, bug, [old], [new], place=f'{file}:{number}', drawn=True)
        self.number = number
        # The same change in another place of the file is another mutant.
        self.id = hashlib.sha256(f'{self.id} {number}'.encode()).hexdigest()[:12]

    def apply(self, text):
        lines = text.split('\n')
        if lines[self.number - 1] != self.old[0]:
            raise Fault(f'{self.place}: the line has changed')
        lines[self.number - 1] = self.new[0]
        return '\n'.join(lines), self.number
