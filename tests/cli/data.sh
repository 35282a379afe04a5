#!/bin/sh
# Data files of `commcomp train`: a small one of every format, and damaged ones, which are refused
# with the file, the place in it and what is wrong.
. "$(dirname "$0")/lib.sh"

# The sets, and in `cases` a line for each damaged one: SET|MESSAGE, a regular expression.
python3 - <<'P'
import gzip, io, os, struct, zipfile, zlib

cases = []
def write(path, data):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    open(path, "wb").write(data)
def damaged(name, message):
    cases.append(name + "|" + message)

# IDX: six images of 4x4
def idx(*dims, values):
    return bytes([0, 0, 8, len(dims)]) + struct.pack(">%dI" % len(dims), *dims) + bytes(values)
images, labels = idx(6, 4, 4, values=range(96)), idx(6, values=[0, 1, 2] * 2)
TRAIN, CLASSES, TEST, TEST_CLASSES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                      "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
def folder(name, message=None, **changes):
    files = {TRAIN: images, CLASSES: labels, TEST: images, TEST_CLASSES: labels}
    files.update({globals()[k]: v for k, v in changes.items() if k != "packed"})
    if "packed" in changes:
        files[TRAIN + ".gz"] = changes["packed"]
        del files[TRAIN]
    for file, data in files.items():
        if data is not None:
            write(name + "/" + file, data)
    if message:
        damaged(name, message)
folder("idx")
folder("idx-magic", "train-images-idx3-ubyte: byte 0: not an IDX file, which begins with two zeros",
       TRAIN=b"P5" + images[2:])
folder("idx-type", "train-images-idx3-ubyte: byte 2: values of type 0x0d; only 0x08, unsigned bytes",
       TRAIN=images[:2] + b"\x0d" + images[3:])
folder("idx-large", "train-images-idx3-ubyte: byte 4: .* more than a file of 112 bytes can hold",
       TRAIN=images[:4] + b"\xff" + images[5:])
folder("idx-short", "train-images-idx3-ubyte: byte 107: the file ends, and should have 112 bytes; fetch",
       TRAIN=images[:-5])
folder("idx-long", "t10k-images-idx3-ubyte: byte 112: the file goes on after the last value; fetch",
       TEST=images + b"x")
folder("idx-swapped", "train-images-idx3-ubyte: byte 3: 1 dimension: it is a file of labels, not of images",
       TRAIN=labels)
folder("idx-count", "train-labels-idx1-ubyte: byte 4: 5 labels, and .*train-images-idx3-ubyte has 6 images",
       CLASSES=idx(5, values=[0, 1, 2, 0, 1]))
folder("idx-size", "t10k-images-idx3-ubyte: byte 8: images of 5x4; those for training have 4x4",
       TEST=idx(6, 5, 4, values=range(120)))
folder("idx-class", "t10k-labels-idx1-ubyte: byte 13: class 9; the labels for training are 0 to 2",
       TEST_CLASSES=labels[:-1] + b"\x09")
folder("idx-missing", "idx-missing has no t10k-labels-idx1-ubyte, nor t10k-labels-idx1-ubyte.gz",
       TEST_CLASSES=None)
packed = bytearray(gzip.compress(images, mtime=0))
folder("gz", packed=bytes(packed))
folder("gz-short", "ubyte.gz: gzip, byte %d: .* the file is cut off" % (len(packed) - 13), packed=packed[:-9])
folder("gz-more", "ubyte.gz: gzip, byte %d: .* or something follows" % (len(packed) - 3), packed=packed + b"x")
packed[-6] ^= 1
folder("gz-changed", "ubyte.gz: gzip, byte [0-9]*: incorrect data check", packed=bytes(packed))

# 3 MB that decompress to 3.1 GB: refused before they are, by the length at their end, the count of the labels, or
# the head of another file. deflate's blocks of zeros are repeated, which is faster than to compress them.
def bomb(count, values):
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    start = squeeze.compress(idx(count, 28, 28, values=[])) + squeeze.flush(zlib.Z_FULL_FLUSH)
    zeros = squeeze.compress(bytes(1 << 20)) + squeeze.flush(zlib.Z_FULL_FLUSH)
    end = squeeze.compress(bytes(values % (1 << 20))) + squeeze.flush()
    return (gzip.compress(b"")[:10] + start + zeros * (values >> 20) + end +
            struct.pack("<II", 0, (values + 16) % (1 << 32)))
many = 4000000
folder("gz-bomb", "train-labels-idx1-ubyte: byte 4: 6 labels, and .*ubyte.gz has 4000000 images",
       packed=bomb(many, 784 * many))
folder("gz-bomb-less", "ubyte.gz: gzip, byte [0-9]*: 3136000016 bytes of contents by the length here, and they should be 4720",
       packed=bomb(6, 784 * many))
folder("gz-bomb-more", "ubyte.gz: gzip, byte [0-9]*: 3136000015 bytes .* should be 3136000016: the file is cut off",
       packed=bomb(many, 784 * many - 1))
folder("gz-bomb-test", "t10k-images-idx3-ubyte: byte 8: images of 4x4; those for training have 28x28",
       packed=bomb(many, 784 * many), CLASSES=idx(many, values=bytes(many)))

# CIFAR: four images in each file
def cifar(name, message=None, **changes):
    files = {"data_batch_%d" % i: b"".join(bytes([c]) + bytes(3072) for c in range(i, i + 4)) for i in range(1, 6)}
    files["test_batch"] = files["data_batch_1"]
    files.update(changes)
    for file, data in files.items():
        if data is not None:
            write(name + "/" + file + ".bin", data)
    if message:
        damaged(name, message)
cifar("cifar10")
cifar("cifar10-class", "data_batch_2.bin: byte 3073: class 10; the set has 0 to 9: fetch the file again",
      data_batch_2=bytes(3073) + b"\x0a" + bytes(3072))
cifar("cifar10-short", "data_batch_4.bin: byte 6145: the file ends within image 1, .* fetch it again",
      data_batch_4=bytes(6145))
cifar("cifar10-empty", "test_batch.bin: byte 0: the file ends within image 0", test_batch=b"")
cifar("cifar10-missing", "data_batch_5.bin: cannot be read: No such file", data_batch_5=None)
fine = b"".join(bytes([1, 33 * c]) + bytes(3072) for c in range(4))
for name, train, test in (("cifar100", fine, fine), ("cifar100-class", fine[:3075] + b"\x64" + fine[3076:], fine),
                          ("cifar100-short", fine, fine[:5000])):
    write(name + "/train.bin", train)
    write(name + "/test.bin", test)
damaged("cifar100-class", "train.bin: byte 3075: class 100; the set has 0 to 99")
damaged("cifar100-short", "test.bin: byte 5000: the file ends within image 1, and an image has 3074 bytes")

# lines
lines = {
    "set.csv": ("1,2,0\n3,4,1\n5,6,0\n7,8,1\n9,9,0\n", None),
    "word.csv": ("1,2,0\n3,4,1\n5,oops,0\n", "line 3, field 2: not a number: 'oops'"),
    "short.csv": ("1,2,0\n3,4\n", "line 2, field 3: the row ends, and is shorter than the first"),
    "class.csv": ("1,2,0\n3,4,-1\n", "row 2, field 3: -1 is not a class: .* label=first takes the other end"),
    "nan.csv": ("1,2,0\nnan,4,1\n", "line 2, field 1: not a number: 'nan'"),
    "quote.csv": ("1,2,0\n3,4,\"1\n", "line 3, field 3: a quote that does not end"),
    "empty.csv": ("", "it has no numbers"),
    "set.libsvm": ("+1 1:1\n-1 2:1\n+1 1:2\n-1 2:2\n+1 1:3\n", None),
    "order.libsvm": ("1 1:1\n2 2:1 1:1\n", "line 2, byte 13: indices should ascend"),
    "value.libsvm": ("1 1:1\n2 2:\n", "line 2, byte 10: a number is missing"),
    "index.libsvm": ("1 0:3\n", "line 1, byte 3: an index should be a whole number from 1 to"),
    "label.libsvm": ("spam 1:1\n", "line 1, byte 0: not a number: 'spam'"),
}
for name, (text, message) in lines.items():
    write(name, text.encode())
    if message:
        damaged(name, name + ": " + message)

# NumPy
def npy(descr, shape, values):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }\n" % (descr, shape)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + values
x = [float(i) for i in range(24)]
samples, classes = npy("<f4", "6, 4", struct.pack("<24f", *x)), npy("<i4", "6,", struct.pack("<6i", *[0, 1, 2] * 2))
def arrays(name, message, a=samples, b=classes):
    write(name + "-x.npy", a)
    write(name + "-y.npy", b)
    if message:
        damaged("%s-x.npy:labels=%s-y.npy" % (name, name), message)
arrays("set", None)
arrays("short", "short-x.npy: 93 bytes of data do not make 24 values of 4 bytes: the file is cut short", samples[:-3])
arrays("magic", "magic-x.npy: not a .npy file: it does not begin with", b"\x93NUMPX" + samples[6:])
arrays("head", "head-x.npy: its header should have [0-9]* bytes: more than the file has", samples[:30])
arrays("type", "type-x.npy: its dtype is '<c8'; little-endian floats .*: save x.astype", samples.replace(b"<f4", b"<c8"))
x[9] = float("inf")
arrays("infinite", "infinite-x.npy: sample 2, value 1: inf", npy("<f4", "6, 4", struct.pack("<24f", *x)))
arrays("negative", "negative-y.npy: sample 1: -1 is not a class: 0, 1, ... up to",
       b=npy("<i4", "6,", struct.pack("<6i", 0, -1, 1, 0, 1, 0)))
arrays("few", "few-y.npy: 1 dimension, 5 values; classes are one number for each of 6 samples",
       b=npy("<i4", "5,", struct.pack("<5i", *range(5))))
def archive(name, message=None, change=lambda b: b, **members):
    f = io.BytesIO()
    with zipfile.ZipFile(f, "w") as z:
        for member, data in members.items():
            z.writestr(member + ".npy", data)
    write(name + ".npz", change(f.getvalue()))
    if message:
        damaged(name + ".npz", name + ".npz: " + message)
def flip(data):
    at = data.index(samples) + len(samples) - 9
    return data[:at] + bytes([data[at] ^ 64]) + data[at + 1:]
archive("set", X=samples, y=classes)
archive("cut", "not a .npz file that can be read", lambda b: b[:-30], X=samples, y=classes)
archive("changed", "member 'X.npy': CRC error", flip, X=samples, y=classes)
archive("names", "it has no array of samples to train with: X, x, X_train or x_train", a=samples, b=classes)
archive("test", "X_test: samples of 3x1x1; those for training have 4x1x1", X=samples, y=classes,
        X_test=npy("<f4", "6, 3", bytes(72)), y_test=classes)
open("cases", "w").write("\n".join(cases) + "\n")
P

t='train -q --net mlp:4 --workers 1 --batch 1 --steps 1 --scheme fp32'
for set in idx gz cifar10 cifar100 set.csv set.libsvm set.npz set-x.npy:labels=set-y.npy; do
    q 0 $t --data $set --format json
    json 'd["rows"][-1]["step"] == 1 and 0 <= d["rows"][-1]["accuracy"] <= 1'
done
ulimit -S -t 5 # seconds of a processor for each of them: none is decompressed in vain
while IFS='|' read -r set message; do
    t 1 $t --data "$set" -o out.csv
    err "^commcomp: .*$message"
    [ "$(wc -l <err)" = 1 ] || bad "more than a line"
    no_file out.csv
done <cases
[ "$(wc -l <cases)" -ge 20 ] || bad "only $(wc -l <cases) damaged sets"

finish
