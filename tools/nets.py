#!/usr/bin/env python3
"""Writes the built-in nets, models/nets/*.json. Run from the repository's root.

Tensors are in the order of the layers; `compute` counts the multiply-additions of one sample's
forward pass, to which the backward pass is taken to be proportional.
"""
import json

NETS = {}


class Net:
    def __init__(self, name, reference, expected, **more):
        self.head = {"schema": "commcomp-net/1", "name": name, "reference": reference, **more}
        self.tensors = []
        self.expected = expected
        NETS[name] = self

    def add(self, name, shape, compute):
        self.tensors.append((name, shape, compute))

    def conv(self, name, out, inp, k, side, bias=False):
        n = out * inp * k * k
        self.add(name + ".weight", [out, inp, k, k], n * side * side)
        if bias:
            self.add(name + ".bias", [out], out * side * side)

    def norm(self, name, n, positions):
        self.add(name + ".weight", [n], n * positions)
        self.add(name + ".bias", [n], n * positions)

    def linear(self, name, out, inp, positions=1):
        self.add(name + ".weight", [out, inp], out * inp * positions)
        self.add(name + ".bias", [out], out * positions)

    def write(self):
        values = 0
        for _, shape, _ in self.tensors:
            n = 1
            for d in shape:
                n *= d
            values += n
        assert values == self.expected, (self.head["name"], values)
        lines = [f'  {json.dumps(k)}: {json.dumps(v)}' for k, v in self.head.items()]
        rows = [f'    {{"name": {json.dumps(n)}, "shape": {json.dumps(s)}, "compute": {c}}}'
                for n, s, c in self.tensors]
        text = "{\n" + ",\n".join(lines) + ',\n  "tensors": [\n' + ",\n".join(rows) + "\n  ]\n}\n"
        with open(f'models/nets/{self.head["name"]}.json', "w") as f:
            f.write(text)


def cifar_resnet(depth, expected, **more):
    """He et al. 2016, section 4.2, shortcuts without parameters; 32 x 32 images."""
    net = Net(f"resnet{depth}", f"K. He et al., Deep residual learning for image recognition, 2016, "
              f"section 4.2: ResNet-{depth} for CIFAR-10", expected, **more)
    net.conv("conv1", 16, 3, 3, 32)
    net.norm("bn1", 16, 32 * 32)
    blocks, inp = (depth - 2) // 6, 16
    for i in range(3 * blocks):
        out, side = 16 << (i // blocks), 32 >> (i // blocks)
        net.conv(f"layers.{i}.c1", out, inp, 3, side)
        net.norm(f"layers.{i}.b1", out, side * side)
        net.conv(f"layers.{i}.c2", out, out, 3, side)
        net.norm(f"layers.{i}.b2", out, side * side)
        inp = out
    net.linear("fc", 10, 64)


def imagenet_resnet(depth, blocks, bottleneck, expected):
    """torchvision's, 224 x 224 images."""
    net = Net(f"resnet{depth}", f"K. He et al., Deep residual learning for image recognition, 2016, "
              f"table 1: ResNet-{depth} for ImageNet, as in torchvision", expected)
    net.conv("conv1", 64, 3, 7, 112)
    net.norm("bn1", 64, 112 * 112)
    inp, side = 64, 56
    for stage in range(4):
        width = 64 << stage
        out = width * 4 if bottleneck else width
        for b in range(blocks[stage]):
            before = side
            if stage > 0 and b == 0:
                side //= 2
            p = f"layer{stage + 1}.{b}."
            if bottleneck:
                layers = [(width, inp, 1, before), (width, width, 3, side), (out, width, 1, side)]
            else:
                layers = [(width, inp, 3, side), (width, width, 3, side)]
            for i, (o, c, k, s) in enumerate(layers, 1):
                net.conv(f"{p}conv{i}", o, c, k, s)
                net.norm(f"{p}bn{i}", o, s * s)
            if inp != out:
                net.conv(p + "downsample.0", out, inp, 1, side)
                net.norm(p + "downsample.1", out, side * side)
            inp = out
    net.linear("fc", 1000, inp)


def alexnet():
    net = Net("alexnet", "A. Krizhevsky, One weird trick for parallelizing convolutional neural "
              "networks, 2014, as in torchvision", 61100840)
    for i, out, inp, k, side in [(0, 64, 3, 11, 55), (3, 192, 64, 5, 27), (6, 384, 192, 3, 13),
                                 (8, 256, 384, 3, 13), (10, 256, 256, 3, 13)]:
        net.conv(f"features.{i}", out, inp, k, side, True)
    for i, out, inp in [(1, 4096, 9216), (4, 4096, 4096), (6, 1000, 4096)]:
        net.linear(f"classifier.{i}", out, inp)


def vgg16():
    net = Net("vgg16", "K. Simonyan and A. Zisserman, Very deep convolutional networks for "
              "large-scale image recognition, 2015, configuration D, as in torchvision", 138357544)
    i, inp, side = 0, 3, 224
    for out, count in [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]:
        for _ in range(count):
            net.conv(f"features.{i}", out, inp, 3, side, True)
            inp = out
            i += 2
        i += 1
        side //= 2
    for i, out, inp in [(0, 4096, 25088), (3, 4096, 4096), (6, 1000, 4096)]:
        net.linear(f"classifier.{i}", out, inp)


def bert_base(tokens=128):
    net = Net("bert-base", "J. Devlin et al., BERT: pre-training of deep bidirectional transformers "
              "for language understanding, 2019: the encoder with pooler of bert-base-uncased; "
              f"compute for {tokens} tokens", 109482240)
    d = 768
    for name, n in [("word", 30522), ("position", 512), ("token_type", 2)]:
        net.add(f"embeddings.{name}_embeddings.weight", [n, d], d * tokens)
    net.norm("embeddings.LayerNorm", d, tokens)
    for i in range(12):
        p = f"encoder.layer.{i}."
        for name in ["query", "key", "value"]:
            net.linear(p + "attention.self." + name, d, d, tokens)
        net.linear(p + "attention.output.dense", d, d, tokens)
        net.norm(p + "attention.output.LayerNorm", d, tokens)
        net.linear(p + "intermediate.dense", 4 * d, d, tokens)
        net.linear(p + "output.dense", d, 4 * d, tokens)
        net.norm(p + "output.LayerNorm", d, tokens)
    net.linear("pooler.dense", d, d)


def gpt2(tokens=1024):
    net = Net("gpt2", "A. Radford et al., Language models are unsupervised multitask learners, "
              f"2019: the smallest, as published, output tied to the input's embedding; compute "
              f"for {tokens} tokens", 124439808)
    d = 768

    def linear(name, inp, out):  # stored as input x output
        net.add(name + ".weight", [inp, out], inp * out * tokens)
        net.add(name + ".bias", [out], out * tokens)

    net.add("wte.weight", [50257, d], 50257 * d * tokens)
    net.add("wpe.weight", [1024, d], d * tokens)
    for i in range(12):
        p = f"h.{i}."
        net.norm(p + "ln_1", d, tokens)
        linear(p + "attn.c_attn", d, 3 * d)
        linear(p + "attn.c_proj", d, d)
        net.norm(p + "ln_2", d, tokens)
        linear(p + "mlp.c_fc", d, 4 * d)
        linear(p + "mlp.c_proj", 4 * d, d)
    net.norm("ln_f", d, tokens)


cifar_resnet(20, 269722)
cifar_resnet(56, 853018)
cifar_resnet(110, 1727962, compute_s=1.33, compute_source="fitted to the speedups of 3LC's Table 1: "
             "0.01153 of what fp32 takes through one server's port at 10 Mbit/s with ten workers")
imagenet_resnet(18, [2, 2, 2, 2], False, 11689512)
imagenet_resnet(50, [3, 4, 6, 3], True, 25557032)
alexnet()
vgg16()
bert_base()
gpt2()
for n in NETS.values():
    n.write()
