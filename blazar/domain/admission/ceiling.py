"""How many slots raw generations may hold, so that long ones cannot starve whoever waits for a word or a tool call."""


def raw_ceiling(slots: int, *, contended: bool) -> int:
    """All of them while nobody else waits; once somebody does, a quarter is kept for others (setup document, `raw_ceiling`)."""
    return max(1, slots - -(-slots // 4)) if contended else slots
