"""A batch request's place in line, which its batch may give up. Decides nothing: what the child works on already is answered."""

from collections.abc import Callable


class Place:
    """One request's. `leave` is called once at most, and only where the place is given up."""

    __slots__ = ("_leave", "given_up")

    def __init__(self) -> None:
        self.given_up = False
        self._leave: Callable[[], None] | None = None

    def taken(self, leave: Callable[[], None]) -> None:
        """Somebody stands there; at once out of it again where it was given up before."""
        self._leave = leave
        if self.given_up:
            leave()

    def give_up(self) -> None:
        """It is not wanted any more."""
        if not self.given_up:
            self.given_up = True
            if self._leave is not None:
                self._leave()
