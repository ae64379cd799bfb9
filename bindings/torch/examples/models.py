"""The networks that several examples train."""

import torch
from torch import nn


class LeNet(nn.Module):
    """Two convolutions with pooling and three dense layers (LeCun et al. 1998), for pictures of any size."""

    def __init__(self, channels=1, height=28, width=28):
        super().__init__()
        self.convolutions = nn.Sequential(nn.Conv2d(channels, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                                          nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        with torch.no_grad():
            features = self.convolutions(torch.zeros(1, channels, height, width)).shape[1]
        self.dense = nn.Sequential(nn.Linear(features, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))

    def forward(self, pictures):
        return self.dense(self.convolutions(pictures))


def linear(channels=1, height=28, width=28):
    return nn.Sequential(nn.Flatten(), nn.Linear(channels * height * width, 10))


def perceptron(channels=1, height=28, width=28, hidden=64):
    return nn.Sequential(nn.Flatten(), nn.Linear(channels * height * width, hidden), nn.ReLU(), nn.Linear(hidden, 10))
