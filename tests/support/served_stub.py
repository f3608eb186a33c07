"""An engine on stub servers, whose time passes only while it sleeps."""

from __future__ import annotations

from abduce.lm.engine import Served
from abduce.lm.faults import Patience
from dspy import lm15

PROMPT = "Say yes."


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self):
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


def served(*urls, clock=None, **changes):
    clock = clock or Clock()
    settings = {"patience": Patience(draw=lambda: 1.0), "timeout": 5.0, **changes}
    return Served("m", urls, clock=clock, sleep=clock.sleep, **settings)


def request(prompt=PROMPT, **config):
    return lm15.Request(model="id/m", messages=(lm15.Message.user(prompt),), config=lm15.Config(**config))
