"""The digits that the project carries, and small nets to train on them."""
import gzip
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FOLDER = os.path.join(os.path.dirname(__file__), "../../train/data/digits")


def _idx(name):
    with gzip.open(os.path.join(FOLDER, name)) as f:
        data = f.read()
    dims = [int.from_bytes(data[4 + 4 * i:8 + 4 * i], "big") for i in range(data[3])]
    return torch.from_numpy(np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(dims).copy())


def load(part="train"):
    """Images (n x 1 x 8 x 8, from 0 to 1) and labels; `part` is "train" or "t10k"."""
    images = _idx(f"{part}-images-idx3-ubyte.gz").float().unsqueeze(1)
    return images / images.max(), _idx(f"{part}-labels-idx1-ubyte.gz").long()


def batches(steps, size, rank, world, seed=1):
    """This rank's batches: all ranks together draw the same permutation."""
    images, labels = load()
    random = torch.Generator().manual_seed(seed)
    order = torch.cat([torch.randperm(len(labels), generator=random)
                       for _ in range(1 + steps * size * world // len(labels))])
    for step in range(steps):
        at = order[(step * world + rank) * size:(step * world + rank + 1) * size]
        yield images[at], labels[at]


def mlp(hidden=64):
    return nn.Sequential(nn.Flatten(), nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, hidden),
                         nn.ReLU(), nn.Linear(hidden, 10))


class Block(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.stride, self.more = (2 if outputs > inputs else 1), outputs - inputs
        self.c1 = nn.Conv2d(inputs, outputs, 3, self.stride, 1, bias=False)
        self.b1 = nn.BatchNorm2d(outputs)
        self.c2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.b2 = nn.BatchNorm2d(outputs)

    def forward(self, x):
        y = self.b2(self.c2(F.relu(self.b1(self.c1(x)))))
        shortcut = F.pad(x[:, :, ::self.stride, ::self.stride], (0, 0, 0, 0, 0, self.more))
        return F.relu(y + shortcut)


class ResNet(nn.Module):
    """K. He et al., 2016, section 4.2: depth 6 n + 2, shortcuts without parameters."""

    def __init__(self, depth=20):
        super().__init__()
        n = (depth - 2) // 6
        self.conv1, self.bn1 = nn.Conv2d(1, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16)
        width = [16] + n * [16] + n * [32] + n * [64]
        self.layers = nn.Sequential(*(Block(a, b) for a, b in zip(width, width[1:])))
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        return self.fc(self.layers(F.relu(self.bn1(self.conv1(x)))).mean((2, 3)))


def accuracy(model):
    images, labels = load("t10k")
    model.eval()
    with torch.no_grad():
        right = (model(images).argmax(1) == labels).float().mean().item()
    model.train()
    return right
