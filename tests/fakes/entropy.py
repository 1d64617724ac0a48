"""Secrets that a test can predict."""

from blazar.application.ports.entropy import Entropy


class CountingEntropy(Entropy):
    """1, 2, 3 … as hex of the wanted length: unique, and known in advance."""

    def __init__(self) -> None:
        self.drawn = 0

    def token(self, nbytes: int) -> str:
        self.drawn += 1
        return f"{self.drawn:0{2 * nbytes}x}"
