"""For the tests of commcomp.torch.trial: small trainings on the digits, and what their trials say."""

import json

import torch
import torch.nn as nn
import torch.nn.functional as F

import digits
from commcomp.torch import trial

IMAGES, LABELS = digits.load()


def batches(step):
    chosen = torch.randint(0, len(LABELS), (48,), generator=torch.Generator().manual_seed(step))
    return IMAGES[chosen], LABELS[chosen]


def loss_fn(model, batch):
    return F.cross_entropy(model(batch[0]), batch[1])


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.05, momentum=0.9)


class Net(nn.Module):
    """Batch normalization, dropout, and tensors above and below min_size."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Linear(64, 40), nn.BatchNorm1d(40)
        self.drop, self.last = nn.Dropout(0.3), nn.Linear(40, 10)

    def forward(self, x):
        return self.last(self.drop(F.relu(self.norm(self.first(x.flatten(1))))))


def perceptron():
    torch.manual_seed(3)
    return digits.mlp(20)


def net():
    torch.manual_seed(3)
    return Net()


def quick(model=None, schemes=("3lc",), steps=12, limit=50.0, **options):
    """A trial of few steps, whose noise is of no interest."""
    return trial(perceptron() if model is None else model, options.pop("loss_fn", loss_fn),
                 options.pop("batches", batches), options.pop("optimizer_factory", sgd), schemes=schemes, steps=steps,
                 limit=limit, **{"workers": 3, "min_size": 200, **options})


def losses(path, scheme, repeat=0):
    for line in path.read_text().split("\n")[1:-1]:
        arm = json.loads(line)
        if (arm.get("scheme"), arm.get("repeat")) == (scheme, repeat):
            return arm["losses"]


def summary(result, scheme):
    (found,) = [r for r in result.rows if r["kind"] == "summary" and r["scheme"] == scheme]
    return found
