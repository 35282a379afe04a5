"""Rates of a lab's links by plain sockets, compared with --bw; and what `run` says that it sent, compared with the
counters of the kernel.

  links.py rates PROGRAM BPS...     opens labs, and measures the link out of a host and the one into it
  links.py bytes PROGRAM            compares wire_bytes with tc's counters
  links.py receive SECONDS          within a lab: prints [time, bytes so far] of all connections, as they come
  links.py send SECONDS ADDRESS...  within a lab: sends to these addresses as much as they take

A link is as fast as --bw says, within 1%, counted as tc counts: a full frame is 1514 bytes, 1448 of them a connection's.
A busy machine makes a link slower, never faster: a slow one is measured again, and may stay at 2.5%; a fast one fails."""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

PORT, FRAME, CARRIES = 7171, 1514, 1448
NEAR, SLOW, TRIES = 0.01, 0.025, 6
SKIPPED_S, TAKEN_S = 0.7, 2.0  # before the token buckets' bursts are spent; what counts


def receive(seconds):
    server = socket.create_server(('', PORT), backlog=8)
    print('ready', flush=True)
    samples, total, lock, end = [], [0], threading.Lock(), time.monotonic() + seconds

    def take(connection):
        connection.settimeout(1)
        while time.monotonic() < end:
            try:
                n = len(connection.recv(1 << 16))
            except socket.timeout:
                continue
            if n == 0:
                return
            with lock:
                total[0] += n
                samples.append((time.monotonic(), total[0]))

    server.settimeout(0.2)
    while time.monotonic() < end:
        try:
            threading.Thread(target=take, args=(server.accept()[0],), daemon=True).start()
        except socket.timeout:
            pass
    with lock:
        print(json.dumps(samples), flush=True)


def send(seconds, addresses):
    end = time.monotonic() + seconds

    def push(address):
        connection = socket.create_connection((address, PORT), timeout=5)
        while time.monotonic() < end:
            try:
                connection.send(bytes(1 << 14))
            except OSError:
                return

    threads = [threading.Thread(target=push, args=(address,), daemon=True) for address in addresses]
    for t in threads:
        t.start()
    for t in threads:
        t.join(seconds + 5)


class Lab:
    """A lab of a run of one step, which keeps it. `run` has what the run printed."""

    def __init__(self, program, bps, words=('--values', '1000', '--steps', '1', '--warmup', '0')):
        self.command = subprocess.Popen([program, 'run', '--keep-lab', '--bw', f'{bps}bit/s', '--workers', '3', '--scheme',
                                         'fp32', '-q', '--format', 'json', *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.enter, said = None, []
        for line in self.command.stderr:
            said.append(line)
            found = re.match(r'A shell on host h\d+: *(nsenter .*/enter) h\d+ bash', line)
            if found:
                self.enter = found[1].split()
            if 'kept until' in line:
                break
        if self.enter is None:
            raise SystemExit(f'links.py: no lab: {"".join(said)}')

    def start(self, host, *words):
        return subprocess.Popen([*self.enter, f'h{host}', *words], stdout=subprocess.PIPE, text=True)

    def text(self, host, *words):
        return self.start(host, *words).communicate()[0]

    def address(self, host):
        return re.search(r'inet ([\d.]+)/', self.text(host, 'ip', '-4', 'addr', 'show', 'dev', 'data'))[1]

    def close(self):
        out, _ = self.command.communicate('\n', timeout=60)
        return json.loads(out)


def rate(lab, senders, receivers):
    """Bits a second, by the receivers' clocks, in a span in which all are under way."""
    own = [sys.executable, '-IS', os.path.abspath(__file__)]
    seconds = SKIPPED_S + TAKEN_S + 0.8
    sinks = [lab.start(host, *own, 'receive', str(seconds + 1.5)) for host in receivers]
    for sink in sinks:
        assert sink.stdout.readline() == 'ready\n'
    addresses = [lab.address(host) for host in receivers]
    sources = [lab.start(host, *own, 'send', str(seconds), *addresses) for host in senders]
    samples = [json.loads(sink.communicate()[0]) for sink in sinks]
    for source in sources:
        source.wait()
    if not all(samples):
        return 0
    begin = max(s[0][0] for s in samples) + SKIPPED_S
    total = 0
    for s in samples:
        inside = [(t, n) for t, n in s if begin <= t <= begin + TAKEN_S]
        if len(inside) < 2:
            return 0 # too busy a machine: another try
        total += (inside[-1][1] - inside[0][1]) / (inside[-1][0] - inside[0][0])
    return 8 * total * FRAME / CARRIES


def rates(program, speeds):
    passed = failed = 0
    for bps in speeds:
        lab = Lab(program, bps)
        try:
            for way, senders, receivers in (('out of', [0], [1, 2]), ('into', [1, 2], [0])):
                best = 0
                for _ in range(TRIES):
                    best = max(best, rate(lab, senders, receivers) / bps)
                    if best >= 1 - NEAR:
                        break
                good = -SLOW <= best - 1 <= NEAR
                passed, failed = passed + good, failed + (not good)
                print(f'{"" if good else "FAILED: "}{bps / 1e6:g} Mbit/s {way} a host: {100 * (best - 1):+.2f}%')
        finally:
            lab.close()
    return passed, failed


def sent_bytes(lab, host):
    # As tc counts: an interface's own counter leaves out the headers of all but the first segment that it is given.
    return json.loads(lab.text(host, 'tc', '-j', '-s', 'qdisc', 'show', 'dev', 'data'))[0]['bytes']


def counted(program, words):
    """Bytes that the hosts have sent by tc's counters, from the lab's beginning to its end; and what `run` says
    of a step."""
    lab = Lab(program, 10 ** 9, words)
    sent = [sent_bytes(lab, host) for host in range(3)]
    return sent, lab.close()['rows'][0]


def bytes_sent(program):
    """Two runs differ in their steps alone: the difference is sent by these steps."""
    base = ['--exchange', 'ring', '--values', '300000', '--warmup', '0']
    for _ in range(3):
        few, _ = counted(program, [*base, '--steps', '2'])
        many, row = counted(program, [*base, '--steps', '12'])
        step = max(b - a for a, b in zip(few, many)) / 10
        off = row['wire_bytes'] / step - 1
        if abs(off) <= 0.005:
            break
    good = abs(off) <= 0.005
    print(f'{"" if good else "FAILED: "}wire_bytes: {row["wire_bytes"]:.0f}, tc: {step:.0f}: {100 * off:+.2f}%')
    return int(good), int(not good)


def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    verb, words = sys.argv[1], sys.argv[2:]
    if verb == 'receive':
        return receive(float(words[0]))
    if verb == 'send':
        return send(float(words[0]), words[1:])
    passed, failed = rates(words[0], [int(w) for w in words[1:]]) if verb == 'rates' else bytes_sent(words[0])
    print(f'links: {passed} passed, {failed} failed')
    return failed > 0


sys.exit(main())
