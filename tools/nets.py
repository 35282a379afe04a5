#!/usr/bin/env python3
"""Writes the built-in nets, models/nets/*.json. Run from the repository's root.

Tensors are in the order of the layers; `compute` counts the multiply-additions of one sample's
forward pass, to which the backward pass is taken to be proportional (twice as much). Operations
without parameters (attention's products) count with the tensor that follows them.
The expected numbers of values are others' counts, or counts by hand from the paper's table, never
this program's.
"""
import json

NETS = {}
QSGD, THESIS = "QSGD, table 1", "modularized parameter server, table 1.1"


class Net:
    def __init__(self, name, reference, expected, papers=(), **more):
        self.head = {"schema": "commcomp-net/1", "name": name, "reference": reference, **more}
        if papers:
            self.head["papers"] = [{"paper": p, "says": s} for p, s in papers]
        self.tensors = []
        self.expected = expected
        NETS[name] = self

    def add(self, name, shape, compute):
        self.tensors.append((name, shape, compute))

    def conv(self, name, out, inp, k, side, bias=False):
        """k: a number, or (height, width)."""
        h, w = k if isinstance(k, tuple) else (k, k)
        self.add(name + ".weight", [out, inp, h, w], out * inp * h * w * side * side)
        if bias:
            self.add(name + ".bias", [out], out * side * side)

    def conv_norm(self, conv, norm, out, inp, k, side, bias=False):
        self.conv(conv, out, inp, k, side, bias)
        self.norm(norm, out, side * side)

    def norm(self, name, n, positions):
        self.add(name + ".weight", [n], n * positions)
        self.add(name + ".bias", [n], n * positions)

    def linear(self, name, out, inp, positions=1, before=0):
        """before: what operations without parameters take between it and the tensor before it."""
        self.add(name + ".weight", [out, inp], out * inp * positions + before)
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


def cifar_resnet(depth, expected, papers, **more):
    """He et al. 2016, section 4.2, shortcuts without parameters; 32 x 32 images."""
    net = Net(f"resnet{depth}", f"K. He et al., Deep residual learning for image recognition, 2016, "
              f"section 4.2: ResNet-{depth} for CIFAR-10", expected, papers, **more)
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


def imagenet_resnet(depth, blocks, bottleneck, expected, papers=()):
    """torchvision's, 224 x 224 images."""
    net = Net(f"resnet{depth}", f"K. He et al., Deep residual learning for image recognition, 2016, "
              f"table 1: ResNet-{depth} for ImageNet, as in torchvision", expected, papers)
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
              "networks, 2014, as in torchvision", 61100840, [
                  (QSGD, "62M (CNTK's, after Krizhevsky et al. 2012 without groups: 62,378,344)")])
    for i, out, inp, k, side in [(0, 64, 3, 11, 55), (3, 192, 64, 5, 27), (6, 384, 192, 3, 13),
                                 (8, 256, 384, 3, 13), (10, 256, 256, 3, 13)]:
        net.conv(f"features.{i}", out, inp, k, side, True)
    for i, out, inp in [(1, 4096, 9216), (4, 4096, 4096), (6, 1000, 4096)]:
        net.linear(f"classifier.{i}", out, inp)


def vgg(depth, letter, blocks, expected, papers):
    net = Net(f"vgg{depth}", "K. Simonyan and A. Zisserman, Very deep convolutional networks for "
              f"large-scale image recognition, 2015, configuration {letter}, as in torchvision",
              expected, papers)
    i, inp, side = 0, 3, 224
    for out, count in zip([64, 128, 256, 512, 512], blocks):
        for _ in range(count):
            net.conv(f"features.{i}", out, inp, 3, side, True)
            inp = out
            i += 2
        i += 1
        side //= 2
    for i, out, inp in [(0, 4096, 25088), (3, 4096, 4096), (6, 1000, 4096)]:
        net.linear(f"classifier.{i}", out, inp)


def googlenet():
    """torchvision's: batch normalization, and 3 x 3 where the paper's table 1 has 5 x 5."""
    net = Net("googlenet", "C. Szegedy et al., Going deeper with convolutions, 2015, table 1, as in "
              "torchvision without auxiliary classifiers: batch normalization, 3 x 3 for 5 x 5",
              6624904, [("C. Szegedy et al. 2015, table 1", "about 6.8M, by its params column")])
    for name, out, inp, k, side in [("conv1", 64, 3, 7, 112), ("conv2", 64, 64, 1, 56),
                                    ("conv3", 192, 64, 3, 56)]:
        net.conv_norm(name + ".conv", name + ".bn", out, inp, k, side)
    inp = 192
    for name, side, c1, r3, c3, r5, c5, pool in [
            ("3a", 28, 64, 96, 128, 16, 32, 32), ("3b", 28, 128, 128, 192, 32, 96, 64),
            ("4a", 14, 192, 96, 208, 16, 48, 64), ("4b", 14, 160, 112, 224, 24, 64, 64),
            ("4c", 14, 128, 128, 256, 24, 64, 64), ("4d", 14, 112, 144, 288, 32, 64, 64),
            ("4e", 14, 256, 160, 320, 32, 128, 128), ("5a", 7, 256, 160, 320, 32, 128, 128),
            ("5b", 7, 384, 192, 384, 48, 128, 128)]:
        for branch, out, c, k in [("1", c1, inp, 1), ("2.0", r3, inp, 1), ("2.1", c3, r3, 3),
                                  ("3.0", r5, inp, 1), ("3.1", c5, r5, 3), ("4.1", pool, inp, 1)]:
            p = f"inception{name}.branch{branch}."
            net.conv_norm(p + "conv", p + "bn", out, c, k, side)
        inp = c1 + c3 + c5 + pool
    net.linear("fc", 1000, inp)


def bn_inception():
    """The paper's figure 5, the first convolution plain; biases as in the Caffe model."""
    net = Net("bn-inception", "S. Ioffe and C. Szegedy, Batch normalization: accelerating deep "
              "network training by reducing internal covariate shift, 2015, figure 5, as in the "
              "Caffe model that pretrained-models.pytorch has: convolutions with biases", 11295240,
              [(QSGD, "11M")])

    def conv(name, out, inp, k, side):
        net.conv_norm(name, name + "_bn", out, inp, k, side, True)

    conv("conv1_7x7_s2", 64, 3, 7, 112)
    conv("conv2_3x3_reduce", 64, 64, 1, 56)
    conv("conv2_3x3", 192, 64, 3, 56)
    inp = 192
    for name, side, c1, r3, c3, rd, cd, pool in [  # c1 or pool 0: stride 2, the input passed on
            ("3a", 28, 64, 64, 64, 64, 96, 32), ("3b", 28, 64, 64, 96, 64, 96, 64),
            ("3c", 14, 0, 128, 160, 64, 96, 0), ("4a", 14, 224, 64, 96, 96, 128, 128),
            ("4b", 14, 192, 96, 128, 96, 128, 128), ("4c", 14, 160, 128, 160, 128, 160, 128),
            ("4d", 14, 96, 128, 192, 160, 192, 128), ("4e", 7, 0, 128, 192, 192, 256, 0),
            ("5a", 7, 352, 192, 320, 160, 224, 128), ("5b", 7, 352, 192, 320, 192, 224, 128)]:
        before = side if c1 > 0 else 2 * side  # the 1 x 1 and the first of two come before a stride
        layers = [("1x1", c1, inp, 1, side), ("3x3_reduce", r3, inp, 1, before),
                  ("3x3", c3, r3, 3, side), ("double_3x3_reduce", rd, inp, 1, before),
                  ("double_3x3_1", cd, rd, 3, before), ("double_3x3_2", cd, cd, 3, side),
                  ("pool_proj", pool, inp, 1, side)]
        for layer, out, c, k, s in layers:
            if out > 0:
                conv(f"inception_{name}_{layer}", out, c, k, s)
        inp = c1 + c3 + cd + (pool if pool > 0 else inp)
    net.linear("last_linear", 1000, inp)


def inception_v4():
    """Figures 3 to 9; sides are those after each layer, for 299 x 299 images."""
    net = Net("inception-v4", "C. Szegedy et al., Inception-v4, Inception-ResNet and the impact of "
              "residual connections on learning, 2017, figures 3 to 9, as in "
              "pretrained-models.pytorch; compute for 299 x 299 images", 42679816,
              [(THESIS, "42.65M (TensorFlow's, without the scales of batch normalization)")])
    col, row, c3, r3 = (7, 1), (1, 7), (3, 1), (1, 3)  # kernels, height x width

    def block(prefix, layers):
        for name, out, inp, k, side in layers:
            p = f"features.{prefix}.{name}".rstrip(".") + "."
            net.conv_norm(p + "conv", p + "bn", out, inp, k, side)

    block(0, [("", 32, 3, 3, 149)])
    block(1, [("", 32, 32, 3, 147)])
    block(2, [("", 64, 32, 3, 147)])
    block(3, [("conv", 96, 64, 3, 73)])
    block(4, [("branch0.0", 64, 160, 1, 73), ("branch0.1", 96, 64, 3, 71),
              ("branch1.0", 64, 160, 1, 73), ("branch1.1", 64, 64, row, 73),
              ("branch1.2", 64, 64, col, 73), ("branch1.3", 96, 64, 3, 71)])
    block(5, [("conv", 192, 192, 3, 35)])
    for i in range(6, 10):
        block(i, [("branch0", 96, 384, 1, 35), ("branch1.0", 64, 384, 1, 35),
                  ("branch1.1", 96, 64, 3, 35), ("branch2.0", 64, 384, 1, 35),
                  ("branch2.1", 96, 64, 3, 35), ("branch2.2", 96, 96, 3, 35),
                  ("branch3.1", 96, 384, 1, 35)])
    block(10, [("branch0", 384, 384, 3, 17), ("branch1.0", 192, 384, 1, 35),
               ("branch1.1", 224, 192, 3, 35), ("branch1.2", 256, 224, 3, 17)])
    for i in range(11, 18):
        block(i, [("branch0", 384, 1024, 1, 17), ("branch1.0", 192, 1024, 1, 17),
                  ("branch1.1", 224, 192, row, 17), ("branch1.2", 256, 224, col, 17),
                  ("branch2.0", 192, 1024, 1, 17), ("branch2.1", 192, 192, col, 17),
                  ("branch2.2", 224, 192, row, 17), ("branch2.3", 224, 224, col, 17),
                  ("branch2.4", 256, 224, row, 17), ("branch3.1", 128, 1024, 1, 17)])
    block(18, [("branch0.0", 192, 1024, 1, 17), ("branch0.1", 192, 192, 3, 8),
               ("branch1.0", 256, 1024, 1, 17), ("branch1.1", 256, 256, row, 17),
               ("branch1.2", 320, 256, col, 17), ("branch1.3", 320, 320, 3, 8)])
    for i in range(19, 22):
        block(i, [("branch0", 256, 1536, 1, 8), ("branch1_0", 384, 1536, 1, 8),
                  ("branch1_1a", 256, 384, r3, 8), ("branch1_1b", 256, 384, c3, 8),
                  ("branch2_0", 384, 1536, 1, 8), ("branch2_1", 448, 384, c3, 8),
                  ("branch2_2", 512, 448, r3, 8), ("branch2_3a", 256, 512, r3, 8),
                  ("branch2_3b", 256, 512, c3, 8), ("branch3.1", 256, 1536, 1, 8)])
    net.linear("last_linear", 1000, 1536)


def densenet40(growth, expected, papers):
    """Three blocks of 12 layers, no bottleneck, no compression; 32 x 32 images."""
    net = Net("densenet40", "G. Huang et al., Densely connected convolutional networks, 2017, "
              f"section 3: DenseNet with L = 40, k = {growth} for CIFAR-10", expected, papers)
    net.conv("features.init_conv", 16, 3, 3, 32)
    c = 16
    for block in range(3):
        side = 32 >> block
        for layer in range(12):
            p = f"features.block{block + 1}.layer{layer + 1}."
            net.norm(p + "norm", c, side * side)
            net.conv(p + "conv", growth, c, 3, side)
            c += growth
        p = "features." + (f"transition{block + 1}." if block < 2 else "final_")
        net.norm(p + "norm", c, side * side)
        if block < 2:
            net.conv(p + "conv", c, c, 1, side)
    net.linear("classifier", 10, c)


def an4_lstm():
    """Three layers of 1,024 cells with peepholes, projected to 512; compute of one frame."""
    net = Net("an4-lstm", "CNTK, Examples/Speech/AN4/Config/lstmp-3layer-opt.ndl, the LSTM for the "
              "AN4 speech data that QSGD trained with CNTK: 363 features, 132 labels; compute for a "
              "frame", 13634692, [(QSGD, "13M")])
    cell, hidden = 1024, 512
    for i, inp in enumerate([363, hidden, hidden], 1):
        p = f"layer{i}."
        net.add(p + "wx", [4 * cell, inp], 4 * cell * inp)
        net.add(p + "b", [4 * cell], 4 * cell)
        net.add(p + "Wh", [4 * cell, hidden], 4 * cell * hidden)
        for gate in ["Wci", "Wcf", "Wco"]:
            net.add(p + gate, [cell], cell)
        net.add(p + "Wmr", [hidden, cell], hidden * cell)
    net.add("W", [132, hidden], 132 * hidden)
    net.add("b", [132], 132)


def mnist_mlp(width, expected, paper, says):
    net = Net(f"mnist-mlp-{width}", f"the perceptron for MNIST of {paper}: two hidden layers of "
              f"{width}", expected, [(paper, says)])
    for i, (out, inp) in enumerate([(width, 784), (width, width), (10, width)], 1):
        net.linear(f"fc{i}", out, inp)


def bert_base(tokens=128):
    net = Net("bert-base", "J. Devlin et al., BERT: pre-training of deep bidirectional transformers "
              "for language understanding, 2019: the encoder with pooler of bert-base-uncased; "
              f"compute for {tokens} tokens", 109482240,
              [("J. Devlin et al. 2019, section 3", "110M")], dtype="bf16")
    d = 768
    for name, n in [("word", 30522), ("position", 512), ("token_type", 2)]:
        net.add(f"embeddings.{name}_embeddings.weight", [n, d], d * tokens)
    net.norm("embeddings.LayerNorm", d, tokens)
    for i in range(12):
        p = f"encoder.layer.{i}."
        for name in ["query", "key", "value"]:
            net.linear(p + "attention.self." + name, d, d, tokens)
        net.linear(p + "attention.output.dense", d, d, tokens, 2 * tokens * tokens * d)
        net.norm(p + "attention.output.LayerNorm", d, tokens)
        net.linear(p + "intermediate.dense", 4 * d, d, tokens)
        net.linear(p + "output.dense", d, 4 * d, tokens)
        net.norm(p + "output.LayerNorm", d, tokens)
    net.linear("pooler.dense", d, d)


def gpt2(name, which, d, layers, expected, papers, tokens=1024, positions=1024):
    net = Net(name, "A. Radford et al., Language models are unsupervised multitask learners, "
              f"2019: the {which}, output tied to the input's embedding; compute "
              f"for {tokens} tokens", expected, papers, dtype="bf16")

    def linear(name, inp, out, before=0):  # stored as input x output
        net.add(name + ".weight", [inp, out], inp * out * tokens + before)
        net.add(name + ".bias", [out], out * tokens)

    net.add("wte.weight", [50257, d], 50257 * d * tokens)
    net.add("wpe.weight", [positions, d], d * tokens)
    for i in range(layers):
        p = f"h.{i}."
        net.norm(p + "ln_1", d, tokens)
        linear(p + "attn.c_attn", d, 3 * d)
        linear(p + "attn.c_proj", d, d, 2 * tokens * tokens * d)
        net.norm(p + "ln_2", d, tokens)
        linear(p + "mlp.c_fc", d, 4 * d)
        linear(p + "mlp.c_proj", 4 * d, d)
    net.norm("ln_f", d, tokens)


def llama(name, paper, d, hidden, layers, groups, vocabulary, tokens, expected, papers):
    """Hugging Face's Llama: `groups` values of keys and values, fewer than d with grouped queries."""
    net = Net(name, f"{paper}, as in Hugging Face's; compute for {tokens} tokens", expected, papers,
              dtype="bf16")

    def matrix(name, out, inp, before=0):
        net.add(name + ".weight", [out, inp], out * inp * tokens + before)

    net.add("model.embed_tokens.weight", [vocabulary, d], d * tokens)
    for i in range(layers):
        p = f"model.layers.{i}."
        net.add(p + "input_layernorm.weight", [d], d * tokens)
        for name, out in [("q_proj", d), ("k_proj", groups), ("v_proj", groups)]:
            matrix(p + "self_attn." + name, out, d)
        matrix(p + "self_attn.o_proj", d, d, 2 * tokens * tokens * d)
        net.add(p + "post_attention_layernorm.weight", [d], d * tokens)
        for name in ["gate_proj", "up_proj"]:
            matrix(p + "mlp." + name, hidden, d)
        matrix(p + "mlp.down_proj", d, hidden)
    net.add("model.norm.weight", [d], d * tokens)
    matrix("lm_head", vocabulary, d)


def mixtral_dense(tokens=4096):
    """The part of Mixtral 8x7B that every worker has: experts are divided otherwise."""
    d, hidden, groups, vocabulary, experts, active = 4096, 14336, 1024, 32000, 8, 2
    net = Net("mixtral-8x7b-dense", "A. Q. Jiang et al., Mixtral of experts, 2024: 8x7B without "
              "its experts, which only some workers have, as in Hugging Face's; compute for "
              f"{tokens} tokens, that of 2 experts counted with the router", 1605636096,
              [("A. Q. Jiang et al. 2024, section 2", "8 experts a layer, 2 of them for each token")],
              dtype="bf16")

    def matrix(name, out, inp, before=0):
        net.add(name + ".weight", [out, inp], out * inp * tokens + before)

    net.add("model.embed_tokens.weight", [vocabulary, d], d * tokens)
    for i in range(32):
        p = f"model.layers.{i}."
        net.add(p + "input_layernorm.weight", [d], d * tokens)
        for name, out in [("q_proj", d), ("k_proj", groups), ("v_proj", groups)]:
            matrix(p + "self_attn." + name, out, d)
        matrix(p + "self_attn.o_proj", d, d, 2 * tokens * tokens * d)
        net.add(p + "post_attention_layernorm.weight", [d], d * tokens)
        matrix(p + "block_sparse_moe.gate", experts, d, active * 3 * d * hidden * tokens)
    net.add("model.norm.weight", [d], d * tokens)
    matrix("lm_head", vocabulary, d)


HE = "K. He et al. 2016, table 6"

cifar_resnet(20, 269722, [(HE, "0.27M")])
cifar_resnet(56, 853018, [(HE, "0.85M")])
cifar_resnet(110, 1727962, [(HE, "1.7M"), (THESIS, "1.73M"), (QSGD, "1M")], compute_s=1.33,
             compute_source="a lab's: fitted to the speedups of 3LC's Table 1, 0.01153 of what fp32 "
             "takes through one server's port at 10 Mbit/s with ten workers; on the paper's own "
             "cluster, by its hour for 100 steps, it is 0.41 s")
imagenet_resnet(18, [2, 2, 2, 2], False, 11689512)
imagenet_resnet(50, [3, 4, 6, 3], True, 25557032, [(QSGD, "25M")])
imagenet_resnet(101, [3, 4, 23, 3], True, 44549160)
imagenet_resnet(152, [3, 8, 36, 3], True, 60192808, [(QSGD, "60M")])
alexnet()
VGG = "K. Simonyan and A. Zisserman 2015, table 2"
vgg(16, "D", [2, 2, 3, 3, 3], 138357544, [(VGG, "138M")])
vgg(19, "E", [2, 2, 4, 4, 4], 143667240, [(VGG, "144M"), (QSGD, "143M")])
googlenet()
bn_inception()
inception_v4()
densenet40(18, 2218522, [(THESIS, "2.22M")])
an4_lstm()
mnist_mlp(500, 648010, "Pipe-SGD, section 4", "3 layers, both hidden ones of 500")
mnist_mlp(4096, 20037642, "SparCML, section 6.1", "two hidden layers of 4,096 each")
bert_base()
RADFORD = "A. Radford et al. 2019, table 2"
gpt2("gpt2", "smallest, as published", 768, 12, 124439808, [(RADFORD, "117M")])
gpt2("gpt2-xl", "largest, as published", 1600, 48, 1557611200, [(RADFORD, "1542M")])
gpt2("gpt-1.3b", "architecture in the size of GPT-3's XL (T. Brown et al. 2020, table 2.1) that "
     "SDP4Bit trains", 2048, 24, 1315723264, [("SDP4Bit, table 4", "GPT-1.3B")], tokens=2048,
     positions=2048)
llama("llama2-7b", "H. Touvron et al., Llama 2: open foundation and fine-tuned chat models, 2023: 7B",
      4096, 11008, 32, 4096, 32000, 4096, 6738415616, [("H. Touvron et al. 2023, table 1", "7B")])
LLAMA3 = "Llama Team, The Llama 3 herd of models, 2024"
llama("llama3-8b", LLAMA3 + ": 8B", 4096, 14336, 32, 1024, 128256, 8192, 8030261248,
      [("Llama Team 2024, table 3", "8B")])
llama("llama3-70b", LLAMA3 + ": 70B", 8192, 28672, 80, 1024, 128256, 8192, 70553706496,
      [("Llama Team 2024, table 3", "70B")])
mixtral_dense()
for n in NETS.values():
    n.write()
