#!/usr/bin/env python3
"""Reads the files of `commcomp encode`, written from docs/container.md and docs/payloads.md alone.

    container_reader.py FILE.cc                            print what is in a file
    container_reader.py --compare FILE.cc BACK.safetensors
        exit 0 if its own decoding equals BACK bit for bit, 1 with the first difference,
        77 if a C library is missing

It shares nothing with the program: if the two agree, the documentation is complete. Only Python's
standard library is used; payloads of zstd, lz4 and zfp need those C libraries.
"""
import ctypes
import json
import math
import struct
import sys
import zlib
from array import array

MASK32, MASK64 = 2**32 - 1, 2**64 - 1
MAX_FLOAT = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]


class Bad(Exception):
    """The file does not follow the documentation."""


def need(condition, what):
    if not condition:
        raise Bad(what)


# ---- numbers ------------------------------------------------------------------------------------
# Values are arrays of type "f", or of type "I" (their bits) where they must pass untouched. A double
# product, sum or quotient of two floats, rounded once to float, is the float operation itself.

def native(values):
    """Converts between little-endian bytes and this machine's numbers, in both directions."""
    if sys.byteorder == "big":
        values.byteswap()
    return values


def numbers(code, data):
    return native(array(code, data))


def float_at(data, at):
    need(at + 4 <= len(data), "payload too short")
    return struct.unpack_from("<f", data, at)[0]


def scale_at(data, at, what):
    """A scale, norm, mean or threshold, which is neither infinite nor negative."""
    x = float_at(data, at)
    need(math.isfinite(x) and x >= 0, "%s is %r" % (what, x))
    return x


def length(data, expected):
    need(len(data) == expected, "payload of %d bytes, not %d" % (len(data), expected))


def bit_string(data):
    """The bits as a text of 0 and 1, the first bit (the least significant) at the end."""
    return format(int.from_bytes(data, "little"), "0%db" % (8 * len(data))) if data else ""


def bits(data, n):
    """The first n bits of a bit array, in order, as a text of 0 and 1."""
    return bit_string(data)[::-1][:n]


def bytes_for(nbits):
    return (nbits + 7) // 8


def zeros(n):
    return array("I", bytes(4 * n))


# ---- random numbers -----------------------------------------------------------------------------

def mix(z):
    z ^= z >> 30
    z = z * 0xbf58476d1ce4e5b9 & MASK64
    z ^= z >> 27
    z = z * 0x94d049bb133111eb & MASK64
    return z ^ z >> 31


def random_key(*fields):
    """(a, b) for seed, rank, direction, step, tensor, stream, index >> 32."""
    g, h = 0x9e3779b97f4a7c15, 0xd1b54a32d192ed03
    z = mix(fields[0] + g & MASK64)
    for f in fields[1:]:
        z = mix(z ^ ((f & MASK64) * g + h & MASK64))
    return z & MASK32, z >> 32


def random_number(key, index):
    x = index + key[0] & MASK32
    x ^= x >> 16
    x = x * 0x21f0aaad & MASK32
    x ^= x >> 15 ^ key[1]
    x = x * 0xd35a2d97 & MASK32
    return x ^ x >> 15


# ---- schemes: each takes (payload, number of values, parameters, context) ------------------------

def fp32(data, n, par, ctx):
    length(data, 4 * n)
    return numbers("I", data)


def half_bits(h):
    """The bits of a binary16 as float32."""
    if h & 0x7c00 == 0x7c00:        # infinities and NaN, bit by bit
        return h >> 15 << 31 | 0x7f800000 | (h & 0x3ff) << 13
    return struct.unpack("=I", struct.pack("=f", *struct.unpack("=e", struct.pack("=H", h))))[0]


def fp16(data, n, par, ctx):
    length(data, 2 * n)
    known = {}
    return array("I", [known[h] if h in known else known.setdefault(h, half_bits(h))
                       for h in numbers("H", data)])


def upper_half(data, n, par, ctx):
    length(data, 2 * n)
    return array("I", [h << 16 for h in numbers("H", data)])


def int8(data, n, par, ctx):
    length(data, 4 + n)
    scale = scale_at(data, 0, "scale")
    need(b"\x80" not in data[4:], "a byte of -128")
    value = array("f", [scale * (q if q < 128 else q - 256) for q in range(256)])
    return array("f", [value[q] for q in data[4:]])


def small_float(code, width, fraction, bias):
    """The number of a code of `width` bits, of which `fraction` are its fraction."""
    sign = -1.0 if code >> (width - 1) else 1.0
    e, f = divmod(code % 2**(width - 1), 2**fraction)
    return sign * (2.0**(e - bias) * (1 + f / 2**fraction) if e else 2.0**(1 - bias) * f / 2**fraction)


def scaled(codes, number, scales, block):
    """The numbers of codes, times the scales of their blocks."""
    return array("f", [number[code] * scales[i // block] for i, code in enumerate(codes)])


def nibbles(data, n):
    return [code for byte in data for code in (byte & 15, byte >> 4)][:n]


def fp8(data, n, par, ctx):
    block = par["block"] or max(n, 1)
    fraction, bias, most = (3, 7, 0x7e) if par["format"] == "e4m3" else (2, 15, 0x7b)
    count = -(-n // block)
    length(data, 4 * count + n)
    scales = [scale_at(data, 4 * b, "scale") for b in range(count)]
    need(all(code % 128 <= most for code in data[4 * count:]), "a code that is not used")
    number = [small_float(code, 8, fraction, bias) for code in range(256)]
    return scaled(data[4 * count:], number, scales, block)


def mxfp4(data, n, par, ctx):
    """mxfp4 and fp4."""
    block = par.get("block", 32)
    count = -(-n // block)
    length(data, count + bytes_for(4 * n))
    need(b"\xff" not in data[:count], "a scale with the exponent 255")
    fraction, bias = (0, 3) if par.get("format") == "e3m0" else (1, 1)
    number = [small_float(code, 4, fraction, bias) for code in range(16)]
    return scaled(nibbles(data[count:], n), number, [2.0**(b - 127) for b in data[:count]], block)


def int4(data, n, par, ctx):
    count = -(-n // 32)
    length(data, 2 * count + bytes_for(4 * n))
    scales = [scale_at(b"\0\0" + data[2 * b:2 * b + 2], 0, "scale") for b in range(count)]
    codes = nibbles(data[2 * count:], n)
    need(8 not in codes, "a code of -8")
    return scaled(codes, [code if code < 8 else code - 16 for code in range(16)], scales, 32)


DIGITS = [bytes(j // 3**(4 - plane) % 3 for j in range(256)) for plane in range(5)]
RUNS = [bytes([j]) if j < 243 else b"\x79" * (j - 241) for j in range(256)]


def trits(data, n, par, ctx):
    """3lc and ternary."""
    m = scale_at(data, 0, "m")
    data = data[4:]
    if par["zre"]:
        data = b"".join([RUNS[j] for j in data])
    length(data, (n + 4) // 5)
    need(not data or max(data) <= 242, "a byte over 242")
    value = array("f", [m * -1.0, m * 0.0, m * 1.0])
    digits = b"".join(data.translate(plane) for plane in DIGITS)
    return array("f", [value[d] for d in digits[:n]])


def mqe1bit(data, n, par, ctx):
    out, at, block = array("f"), 0, par["block"] or n
    for first in range(0, n, block):
        count = min(block, n - first)
        low, high = float_at(data, at), float_at(data, at + 4)
        need(math.isfinite(low) and low <= 0, "the first mean is %r" % low)
        need(math.isfinite(high) and high >= 0, "the second mean is %r" % high)
        part = data[at + 8:at + 8 + bytes_for(count)]
        length(part, bytes_for(count))
        out.extend([high if bit == "1" else low for bit in bits(part, count)])
        at += 8 + len(part)
    length(data, at)
    return out


def place(out, indices, values):
    """The values (bits) at strictly ascending indices."""
    last = -1
    for i, value in zip(indices, values):
        need(last < i < len(out), "index %d after %d, of %d values" % (i, last, len(out)))
        out[i] = value
        last = i
    return out


def pairs(data, n, par, ctx):
    """dgc, pairs, and sparse with index=u32."""
    need(len(data) % 8 == 0, "payload is not of whole pairs")
    words = numbers("I", data)
    return place(zeros(n), words[0::2], words[1::2])


def sparse(data, n, par, ctx):
    if par["index"] == "u32":
        return pairs(data, n, par, ctx)
    size = bytes_for(n)
    need(len(data) >= size, "payload too short")
    kept = bits(data[:size], 8 * size)
    need("1" not in kept[n:], "a bit after the last value")
    length(data, size + 4 * kept.count("1"))
    return place(zeros(n), [i for i, bit in enumerate(kept) if bit == "1"],
                 numbers("I", data[size:]))


def topk(data, n, par, ctx):
    out, at = array("I"), 0
    for first in range(0, n, par["bucket"]):
        count = min(par["bucket"], n - first)
        c = min(par["k"], count)
        need(at + 6 * c <= len(data), "payload too short")
        out.extend(place(zeros(count), numbers("H", data[at:at + 2 * c]),
                         numbers("I", data[at + 2 * c:at + 6 * c])))
        at += 6 * c
    length(data, at)
    return out


def randk(data, n, par, ctx):
    k = min(n, max(1, math.ceil(par["density"] * float(n))))
    length(data, 4 * k)
    b = 4
    while 4**b < n:
        b += 1
    low = 2**b - 1
    # elements are below 2^31, so that one key serves all of them
    keys = [random_key(ctx.seed, -1, ctx.direction, ctx.step, ctx.tensor, stream, 0)
            for stream in range(8)]
    out = zeros(n)
    for j, value in enumerate(numbers("I", data)):
        v = j
        while True:
            left, right = v >> b, v & low
            for key in keys:
                left, right = right, left ^ random_number(key, right) & low
            v = left << b | right
            if v < n:
                break
        out[v] = value
    return out


def threshold(data, n, par, ctx):
    tau = scale_at(data, 0, "tau")
    need(len(data) % 4 == 0, "payload is not of whole words")
    words = numbers("I", data[4:])
    value = array("I", array("f", [tau, -tau]).tobytes())
    return place(zeros(n), [w >> 1 for w in words], [value[w & 1] for w in words])


def natural(data, n, par, ctx):
    size = bytes_for(n)
    length(data, size + n)
    exponents = data[size:]
    need(b"\xff" not in exponents, "an exponent of 255")
    value = {"0": [e << 23 for e in range(255)]}
    value["1"] = [0] + [1 << 31 | e << 23 for e in range(1, 255)]
    return array("I", [value[bit][e] for bit, e in zip(bits(data, n), exponents)])


def signs(data, n, par, ctx):
    """signsgd and efsign."""
    out, at = array("f"), 0
    for first in range(0, n, par["block"] or max(n, 1)):
        count = min(par["block"] or n, n - first)
        size = bytes_for(count)
        m = scale_at(data, at + size, "m")
        out.extend(m if bit == "1" else -m for bit in bits(data[at:at + size], count))
        at += size + 4
    length(data, at)
    return out


def qsgd(data, n, par, ctx):
    s = par["levels"] or 2**(par["bits"] - 1) - 1
    part = array("f", [level / s for level in range(s + 1)])
    part = {level: math.copysign(part[abs(level)], level) for level in range(-s, s + 1)}
    decode = qsgd_elias if par["code"] == "elias" else qsgd_fixed
    return decode(data, n, par["bucket"] or n, s, part)


def qsgd_fixed(data, n, bucket, s, part):
    width = (2 * s).bit_length()        # ceil(log2(2 s + 1))
    code = {format(level & 2**width - 1, "0%db" % width): part[level] for level in part}
    out, at = array("f"), 0
    for first in range(0, n, bucket):
        count = min(bucket, n - first)
        norm = scale_at(data, at, "norm")
        end = at + 4 + bytes_for(count * width)
        need(end <= len(data), "payload too short")
        text = bit_string(data[at + 4:end])
        top = len(text)
        try:
            out.extend([norm * code[text[i - width:i]]
                        for i in range(top, top - count * width, -width)])
        except KeyError:
            raise Bad("a code outside [-s, s]") from None
        at = end
    length(data, at)
    return out


def qsgd_elias(data, n, bucket, s, part):
    stream = format(int.from_bytes(data, "big"), "0%db" % (8 * len(data)))
    at = 0                              # in bits

    def omega(limit, what):
        nonlocal at
        v = 1
        while stream[at:at + 1] == "1":
            group = stream[at:at + v + 1]
            at += v + 1
            v = int(group, 2)
            need(v <= limit, what)
        at += 1
        need(at <= len(stream), "payload too short")
        return v

    out = array("f")
    for first in range(0, n, bucket):
        count = min(bucket, n - first)
        norm = scale_at(data, at // 8, "norm")
        at += 32
        values = [norm * 0.0] * count
        if norm != 0:
            position = -1
            for _ in range(omega(count + 1, "too many levels") - 1):
                position += omega(count, "a position outside the bucket")
                need(position < count, "a position outside the bucket")
                negative = stream[at:at + 1] == "1"
                at += 1
                level = omega(s, "a level over s")
                values[position] = norm * part[-level if negative else level]
            end = (at + 7) // 8 * 8
            need("1" not in stream[at:end], "a padding bit that is not 0")
            at = end
        out.extend(values)
    length(data, at // 8)
    return out


def powersgd(data, n, par, ctx):
    rows = ctx.shape[0] if ctx.shape else 1
    cols = n // rows
    r = min(par["rank"], rows, cols)
    if len(ctx.shape) < 2 or r * (rows + cols) >= n:
        return fp32(data, n, par, ctx)
    length(data, 4 * r * (rows + cols))
    p = numbers("f", data[:4 * r * rows])
    q = numbers("f", data[4 * r * rows:])
    columns = [q[k::r] for k in range(r)]
    out = array("f")
    for i in range(rows):
        total = None
        for k in range(r):
            x = p[i * r + k]
            product = array("f", [x * y for y in columns[k]])
            total = product if k == 0 else array("f", [a + b for a, b in zip(total, product)])
        out.extend(total)
    return out


# ---- chunks of a matrix --------------------------------------------------------------------------

def parts(d, limit):
    """(begin, length) of the parts of a side of d values."""
    count = -(-d // limit)
    lengths = [d // count + (i < d % count) for i in range(count)]
    return [(sum(lengths[:i]), length) for i, length in enumerate(lengths)]


def chunks(n, ctx, side):
    """(rows, columns, index in the tensor of each place) of each chunk; side 0: as chunktopk has them."""
    rows = ctx.shape[0] if len(ctx.shape) > 1 else 1
    cols = n // max(rows, 1)
    down, across = side or 64, side or 64
    if not side and rows < 64:
        across = 4096 // rows
    elif not side and cols < 64:
        down = 4096 // cols
    for top, r in parts(rows, down):
        for left, c in parts(cols, across):
            yield r, c, [(top + i) * cols + left + j for i in range(r) for j in range(c)]


class Places:
    """The places of `count` of `values` values, which begin at data[at]; they end before data[self.end]."""

    def __init__(self, data, at, count, values, index):
        text, self.list, b, pos = bits(data[at:], 8 * (len(data) - at)), [], 0, 0
        while index == "rice" and 16 * 2**(b + 1) * count <= 11 * values:
            b += 1
        for _ in range(count):
            v = 0
            while index == "rice" and text[pos:pos + 1] == "1":
                v, pos = v + 2**b, pos + 1
            pos += index == "rice"
            width = b if index == "rice" else 12
            need(pos + width <= len(text), "payload too short")
            v += int("0" + text[pos:pos + width][::-1], 2)
            pos += width
            v += self.list[-1] + 1 if index == "rice" and self.list else 0
            need(v < values and v > (self.list[-1] if self.list else -1), "a place that does not ascend")
            self.list.append(v)
        self.end = at + bytes_for(pos)


def chunktopk(data, n, par, ctx):
    out, at = array("f", bytes(4 * n)), 0
    for r, c, index in chunks(n, ctx, 0):
        count = -(-par["k"] * r * c // 4096)
        need(at + 4 + -(-count // 4) <= len(data), "payload too short")
        size = array("f", numbers("I", b"\0\0" + data[at:at + 2] + b"\0\0" + data[at + 2:at + 4]).tobytes())
        need(all(math.isfinite(m) and m >= 0 for m in size), "a magnitude that is not finite, or negative")
        codes = [byte >> 2 * i & 3 for byte in data[at + 4:at + 4 + -(-count // 4)] for i in range(4)]
        places = Places(data, at + 4 + -(-count // 4), count, r * c, par["index"])
        for p, code in zip(places.list, codes):
            out[index[p]] = -size[code >> 1] if code & 1 else size[code >> 1]
        at = places.end
    length(data, at)
    return out


def basis(n):
    """Rows of functions of the cosine transform."""
    def value(u, i):
        if (2 * i + 1) * u % (2 * n) == n:
            return 0.0
        return math.sqrt((2 if u else 1) / n) * math.cos(math.pi * ((2 * i + 1) * u % (4 * n)) / (2 * n))
    return [array("f", [value(u, i) for i in range(n)]) for u in range(n)]


def plus(a, factor, b):
    """a + factor b: two roundings."""
    return array("f", [x + y for x, y in zip(a, array("f", [factor * y for y in b]))])


def demo(data, n, par, ctx):
    out, at, bases = array("f", bytes(4 * n)), 0, {}
    for r, c, index in chunks(n, ctx, par["side"]):
        for side in {r, c} - set(bases):
            bases[side] = basis(side)
        count = -(-par["k"] * r * c // par["side"]**2)
        if par["signs"]:
            mean = scale_at(data, at, "mean magnitude")
            signs_at = at + 4
            at = signs_at + bytes_for(count)
            need(at <= len(data), "payload too short")
            q = [mean if bit == "1" else -mean for bit in bits(data[signs_at:at], count)]
        else:
            need(at + 4 * count <= len(data), "payload too short")
            q = numbers("f", data[at:at + 4 * count])
            at += 4 * count
        places, rows = Places(data, at, count, r * c, par["index"]), {}
        at = places.end
        for p, v in zip(places.list, q):
            rows[p // c] = plus(rows.get(p // c, [0.0] * c), v, bases[c][p % c])
        for i in range((r + 1) // 2):
            half = [array("f", [0.0] * c), array("f", [0.0] * c)]
            for u in sorted(rows):
                half[u % 2] = plus(half[u % 2], bases[r][u][i], rows[u])
            for row, sign in ((r - 1 - i, -1.0), (i, 1.0)):
                for j, v in enumerate(plus(half[0], sign, half[1])):
                    out[index[row * c + j]] = v
    length(data, at)
    return out


def local(data, n, par, ctx):
    if (ctx.step + 1) % par["every"]:
        length(data, 0)
        return zeros(n)
    decode, inner = par["inner"]
    return decode(data, n, inner, ctx)


# ---- schemes of other libraries ------------------------------------------------------------------

class NoLibrary(Exception):
    pass


EXPONENT_ORDER = (1, 0, -1, 2, -2, -3, -4, 3, -5, -6, -7, 4, -8)


def exponent(data, n, par, ctx):
    if len(data) == 4 * n:
        return numbers("I", data)
    blocks = [min(8192, n - i) for i in range(0, n, 8192)]
    at = 4 * (len(blocks) - 1)
    need(len(data) >= at, "payload too short")
    sizes = list(struct.unpack_from("<%dI" % (len(blocks) - 1), data))
    sizes.append(len(data) - at - sum(sizes))
    out = array("I")
    for size, m in zip(sizes, blocks):
        need(0 <= size <= len(data) - at, "payload too short")
        out.extend(exponent_block(data[at:at + size], m))
        at += size
    return out


# By the number of a format in payloads: fp32, bf16, fp16, e4m3, e5m2: bits of a word, of its exponent.
FORMATS = [(32, 8), (16, 8), (16, 5), (8, 4), (8, 5)]


def eight(kind, w):
    """The bits of a float of 8 bits as float32."""
    m, bias = (3, 7) if kind == 3 else (2, 15)
    mag, f = w & 127, w & (1 << m) - 1
    if mag >= (127 if kind == 3 else 124):
        return (w & 128) << 24 | 0x7f800000 | f << 23 - m
    e = mag >> m
    number = math.ldexp(f if e == 0 else f + (1 << m), max(e, 1) - bias - m)
    return struct.unpack("<I", struct.pack("<f", number))[0] | (w & 128) << 24


def widened(kind, words):
    """Words of a format as those of float32."""
    if kind == 1:
        return [w << 16 for w in words]
    if kind == 2:
        return [half_bits(w) for w in words]
    return [eight(kind, w) for w in words] if kind > 2 else words


def exponent_block(data, m):
    at = 0

    def take(size):
        nonlocal at
        need(at + size <= len(data), "block too short")
        at += size
        return data[at - size:at]

    def plane(count, w):
        """A plane of w bits: code j + k s of each 64 is in byte j, from bit k w on."""
        s, codes = 8 * w, []
        for first in range(0, count, 64):
            here = min(64, count - first)
            group = take(min(here, s))
            codes += [group[i % s] >> i // s * w & (1 << w) - 1 for i in range(here)]
        return codes

    def bit_array(count):
        return [int(b) for b in bits(take(bytes_for(count)), count)]

    first, = take(1)
    kind, coder, masked = first & 3 | first >> 3 & 4, first >> 2 & 3, first >> 4 & 1
    need(kind < 5 and coder < 3 and first < 64, "not a kind of block")
    width, exponent_bits = FORMATS[kind]
    mask = bit_array(m) if masked else [1] * m
    c = sum(mask)
    if coder == 0:
        words = numbers({32: "I", 16: "H", 8: "B"}[width], take(c * width // 8))
    else:
        counts = numbers("H", take(10 if coder == 1 else 2))
        own = (width - exponent_bits) // 8      # bytes of each rest; other bits are in planes
        rests = take(own * c)
        rest = [int.from_bytes(rests[own * i:own * (i + 1)], "little") for i in range(c)]
        if kind == 3:
            rest = plane(c, 4)
        elif kind in (2, 4):
            rest = [r | p << 8 * own for r, p in zip(rest, plane(c, 2))]
            rest = [r | p << 8 * own + 2 for r, p in zip(rest, bit_array(c))]
        base = take((c + 127) // 128)
        if coder == 1:
            stages = [plane(k, 2) for k in [c] + list(counts[:3])] + [bit_array(counts[3])]
            need([s.count(3) for s in stages[:4]] == list(counts[:4]), "counts")
            ranks, escape = [12 + b for b in stages[4]], 13
            for s in range(3, -1, -1):
                passed = iter(ranks)
                ranks = [next(passed) if code == 3 else 3 * s + code for code in stages[s]]
            steps = EXPONENT_ORDER
        else:
            ranks, escape, steps = plane(c, 4), 15, range(-10, 5)
        need(ranks.count(escape) == counts[-1], "escapes")
        escapes = iter(take(counts[-1]))
        e = [next(escapes) if r == escape else base[i // 128] + steps[r]
             for i, r in enumerate(ranks)]
        low = width - exponent_bits
        rotated = [(e & (1 << width - low) - 1) << low | r for e, r in zip(e, rest)]
        words = [r >> 1 | (r & 1) << width - 1 for r in rotated]
    length(data, at)
    words = iter(widened(kind, words))
    return array("I", [next(words) if b else 0 for b in mask])


def call(lib, name, result, *arguments):
    try:
        f = getattr(ctypes.CDLL("lib%s.so.1" % lib), name)
    except OSError as error:
        raise NoLibrary(error) from None
    f.restype = result
    return f(*arguments)


def zstd(data, n, par, ctx):
    kind = data[0] if data and 1 <= data[0] <= 4 else 0
    data = data[1:] if kind else data
    want = FORMATS[kind][0] // 8 * n
    size, out = ctypes.c_size_t, ctypes.create_string_buffer(want)
    given = data, size(len(data))
    content = call("zstd", "ZSTD_getFrameContentSize", ctypes.c_ulonglong, *given)
    need(content == want, "not a frame that says %d bytes" % want)
    length(data, call("zstd", "ZSTD_findFrameCompressedSize", size, *given))
    done = call("zstd", "ZSTD_decompress", size, out, size(want), *given)
    need(done == want, "damaged frame")
    return array("I", widened(kind, numbers("IHHBB"[kind], out.raw)))


def lz4(data, n, par, ctx):
    out, at = array("I"), 0
    for first in range(0, n, 2**20):
        need(at + 4 <= len(data), "payload too short")
        head, = struct.unpack_from("<I", data, at)
        size, kind = head & 2**24 - 1, head >> 24
        need(kind < 5, "not a format")
        part = ctypes.create_string_buffer(min(2**20, n - first) * FORMATS[kind][0] // 8)
        block = data[at + 4:at + 4 + size]
        length(block, size)
        done = call("lz4", "LZ4_decompress_safe", ctypes.c_int, block, part, size, len(part))
        need(done == len(part), "damaged block")
        out.extend(widened(kind, numbers("IHHBB"[kind], part.raw)))
        at += 4 + size
    length(data, at)
    return out


def zfp(data, n, par, ctx):
    t = scale_at(data, 0, "tolerance")
    if t == 0:
        length(data, 4)
        return zeros(n)
    up = 2.0**64 if t < 2.0**-60 else 1.0
    p, size_t, double, zfp_type_float = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_double, 3
    out = (ctypes.c_float * n)()
    field = p(call("zfp", "zfp_field_1d", p, out, zfp_type_float, size_t(n)))
    stream = p(call("zfp", "zfp_stream_open", p, None))
    call("zfp", "zfp_stream_set_accuracy", double, stream, double(t * up))
    # the library does not stop at the end of a stream: zeros follow it here
    size = max(call("zfp", "zfp_stream_maximum_size", size_t, stream, field), len(data)) + 64
    buffer = ctypes.create_string_buffer(data[4:], size)
    words = p(call("zfp", "stream_open", p, buffer, size_t(size)))
    call("zfp", "zfp_stream_set_bit_stream", None, stream, words)
    call("zfp", "zfp_stream_rewind", None, stream)
    length(data, 4 + call("zfp", "zfp_decompress", size_t, stream, field))
    call("zfp", "zfp_field_free", None, field)
    call("zfp", "zfp_stream_close", None, stream)
    call("zfp", "stream_close", None, words)
    return array("f", [max(-MAX_FLOAT, min(MAX_FLOAT, x * (1 / up))) for x in out])


# ---- scheme names --------------------------------------------------------------------------------

SCHEMES = {
    "fp32": (fp32, {}),
    "fp16": (fp16, {}),
    "bf16": (upper_half, {}),
    "trunc16": (upper_half, {}),
    "fp8": (fp8, {"format": "e4m3", "block": 0, "rounding": "nearest", "ef": 0}),
    "mxfp4": (mxfp4, {"rounding": "random", "ef": 0}),
    "fp4": (mxfp4, {"format": "e2m1", "block": 32, "rounding": "random", "ef": 0}),
    "int4": (int4, {"rounding": "random", "ef": 0}),
    "int8": (int8, {"ef": 0}),
    "ternary": (trits, {"ef": 0, "clip": 0.0, "zre": 0}),
    "mqe1bit": (mqe1bit, {"ef": 1, "block": 0}),
    "sparse": (sparse, {"density": 0.05, "ef": 1, "select": "sampled", "index": "bitmap"}),
    "topk": (topk, {"k": 16, "bucket": 512, "ef": 1}),
    "chunktopk": (chunktopk, {"k": 64, "index": "u12", "decay": 1.0, "ef": 1}),
    "randk": (randk, {"density": 0.01, "ef": 1}),
    "threshold": (threshold, {"tau": 0.01, "ef": 1}),
    "dgc": (pairs, {"density": 0.001, "momentum": 0.9, "warmup": 0}),
    "pairs": (pairs, {}),
    "natural": (natural, {}),
    "signsgd": (signs, {"block": 0}),
    "efsign": (signs, {"block": 0}),
    "3lc": (trits, {"s": 1.0, "zre": 1, "ef": 1}),
    "qsgd": (qsgd, {"bits": 4, "levels": 0, "bucket": 512, "norm": "max", "code": "fixed"}),
    "powersgd": (powersgd, {"rank": 4, "ef": 1}),
    "demo": (demo, {"k": 32, "side": 64, "decay": 0.999, "signs": 0, "index": "u12"}),
    "local": (local, {"every": 2, "inner": (fp32, {})}),
    "exponent": (exponent, {"coder": "cascade", "type": "auto"}),
    "zstd": (zstd, {"level": 3, "type": "auto"}),
    "lz4": (lz4, {"level": 1, "type": "auto"}),
    "zfp": (zfp, {"tolerance": 0.01}),
}


def parse_scheme(name):
    """A canonical name as (decoder, parameters)."""
    name, _, rest = name.partition(":")
    need(name in SCHEMES, "no scheme %r" % name)
    decode, defaults = SCHEMES[name]
    par = dict(defaults)
    parts, depth = [""] if rest else [], 0
    for c in rest:                      # at the commas outside parentheses
        depth += {"(": 1, ")": -1}.get(c, 0)
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    for part in parts:
        key, _, value = part.partition("=")
        need(key in par, "no parameter %r of %s" % (key, name))
        if isinstance(par[key], tuple):
            par[key] = parse_scheme(value[1:-1] if value.startswith("(") else value)
        else:
            # an integer may be written as 1e+09; ef=bf16 is not a number
            if value != "bf16":
                value = int(float(value)) if isinstance(par[key], int) else type(par[key])(value)
            par[key] = value
    return decode, par


# ---- files ---------------------------------------------------------------------------------------

class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        need(size <= len(self.data) - self.at, "the file ends too early")
        self.at += size
        return self.data[self.at - size:self.at]

    def number(self, form):
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))[0]

    def text(self):
        raw = self.take(self.number("I"))
        need(b"\0" not in raw, "a zero byte in a text")
        return raw.decode("utf-8")

    def checksum(self, start, what):
        crc = zlib.crc32(self.data[start:self.at])
        need(self.number("I") == crc, "the checksum of %s differs" % what)


class Container:
    """The header's fields, and tensors: name -> (shape, values as little-endian float32 bytes)."""

    def __init__(self, data):
        c = Cursor(data)
        need(c.take(8) == b"CCOMP\r\n\x1a", "not a container")
        version = c.number("I")
        need(version == 1, "version %d" % version)
        count = c.number("I")
        self.seed, self.rank, self.step = c.number("Q"), c.number("q"), c.number("Q")
        self.direction = c.number("I")
        need(self.rank >= -1 and self.direction in (0, 1), "rank or direction out of range")
        self.scheme = c.text()
        self.metadata = {}
        for _ in range(c.number("I")):
            key, value = c.text(), c.text()
            need(key not in self.metadata, "metadata %r twice" % key)
            self.metadata[key] = value
        c.checksum(0, "the header")
        decode, par = parse_scheme(self.scheme)
        self.tensors, self.payload_bytes = {}, {}
        for self.tensor in range(count):
            start = c.at
            name = c.text()
            need(name not in self.tensors, "tensor %r twice" % name)
            dims = c.number("I")
            need(dims <= 8, "tensor %r of %d dimensions" % (name, dims))
            self.shape = [c.number("Q") for _ in range(dims)]
            n = math.prod(self.shape)
            need(n < 2**58, "tensor %r of %d values" % (name, n))
            payload = c.take(c.number("Q"))
            c.checksum(start, "tensor %r" % name)
            try:
                if n == 0:
                    length(payload, 0)
                values = decode(payload, n, par, self) if n else array("f")
            except Bad as error:
                raise Bad("tensor %r: %s" % (name, error)) from None
            self.tensors[name] = self.shape, native(values).tobytes()
            self.payload_bytes[name] = len(payload)
        need(c.at == len(data), "%d bytes after the last tensor" % (len(data) - c.at))


def read_safetensors(data):
    size, = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + size])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        need(entry["dtype"] == "F32", "%s is of type %s" % (name, entry["dtype"]))
        begin, end = entry["data_offsets"]
        tensors[name] = entry["shape"], data[8 + size + begin:8 + size + end]
    return metadata, tensors


def first_difference(container, metadata, tensors):
    if container.metadata != metadata:
        return "metadata: %r here, %r there" % (container.metadata, metadata)
    if set(container.tensors) != set(tensors):
        return "tensors: %r here, %r there" % (list(container.tensors), list(tensors))
    for name, (shape, mine) in container.tensors.items():
        other_shape, theirs = tensors[name]
        if shape != other_shape:
            return "%s: shape %r here, %r there" % (name, shape, other_shape)
        if mine != theirs:
            i = next(i for i in range(0, len(mine), 4) if mine[i:i + 4] != theirs[i:i + 4])
            return "%s: value %d: %r (%s) here, %r (%s) there" % (
                name, i // 4, struct.unpack_from("<f", mine, i)[0], mine[i:i + 4].hex(),
                struct.unpack_from("<f", theirs, i)[0], theirs[i:i + 4].hex())
    return None


def contents(path):
    with open(path, "rb") as f:
        return f.read()


def main(arguments):
    compare = arguments[:1] == ["--compare"]
    paths = arguments[compare:]
    if len(paths) != 1 + compare:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        c = Container(contents(paths[0]))
        if compare:
            difference = first_difference(c, *read_safetensors(contents(paths[1])))
            if difference:
                print("%s: %s" % (paths[0], difference))
            return 1 if difference else 0
    except NoLibrary as error:
        print("%s: %s" % (paths[0], error), file=sys.stderr)
        return 77
    except (Bad, OSError, ValueError) as error:
        print("%s: %s" % (paths[0], error), file=sys.stderr)
        return 1
    print("scheme %s, seed %d, rank %d, step %d, %s" %
          (c.scheme, c.seed, c.rank, c.step, ("push", "pull")[c.direction]))
    for key, value in c.metadata.items():
        print("metadata %s = %s" % (key, value))
    for name, (shape, raw) in c.tensors.items():
        values = numbers("f", raw[:32])
        print("%s %s: %d bytes of payload, %d values: %s%s" % (
            name, "x".join(map(str, shape)) or "scalar", c.payload_bytes[name], len(raw) // 4,
            " ".join("%.9g" % x for x in values), " ..." if len(raw) > 32 else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
