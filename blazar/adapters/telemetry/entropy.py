"""The operating system's randomness."""

import secrets

from blazar.application.ports.entropy import Entropy


class OsEntropy(Entropy):
    """Good for keys: from the kernel, never seeded."""

    def token(self, nbytes: int) -> str:
        return secrets.token_hex(nbytes)
