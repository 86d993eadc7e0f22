"""A small model that keeps statistics, and four rows for it."""

import torch
from torch import nn


def small_model():
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Linear(6, 6), nn.BatchNorm1d(6), nn.Dropout(), nn.ReLU()
    )


def rows():
    return torch.randn(4, 6, generator=torch.Generator().manual_seed(2))
