"""The strings that make.py tokenizes and golden_test.cpp makes again: the same generator, written twice."""
import json

MASK = (1 << 64) - 1


class Random:
    """splitmix64 (Steele, Lea and Flood 2014)."""

    def __init__(self, seed):
        self.state = seed & MASK

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def below(self, n):
        return self.next() % n


def code_point(random, ranges):
    """A character of one of the ranges [low, high]; each range is as likely as the others."""
    low, high = ranges[random.below(len(ranges))]
    return chr(low + random.below(high - low + 1))


def string(index, fragments, ranges, special):
    """String number `index`, as bytes. Every tenth holds bytes that are no UTF-8."""
    random = Random(index * 7919 + 1)
    parts = []
    for _ in range(1 + random.below(14)):
        kind = random.below(16)
        if kind < 5:
            part = fragments["words"][random.below(len(fragments["words"]))].encode()
        elif kind == 5:
            part = b" " + fragments["words"][random.below(len(fragments["words"]))].encode()
        elif kind == 6:
            part = fragments["space"][random.below(len(fragments["space"]))].encode()
        elif kind == 7:
            part = str(random.next() >> random.below(64)).encode()
        elif kind == 8:
            part = code_point(random, ranges).encode()
        elif kind == 9 and special:
            part = special[random.below(len(special))].encode()
        elif kind == 10:
            part = fragments["emoji"][random.below(len(fragments["emoji"]))].encode()
        elif kind == 11:
            part = fragments["code"][random.below(len(fragments["code"]))].encode()
        elif kind == 12 and parts:
            part = parts[-1] * (1 + random.below(3))
        elif kind == 13 and index % 10 == 9:
            part = bytes(random.below(256) for _ in range(1 + random.below(4)))
        elif kind == 14:
            part = chr(0x21 + random.below(94)).encode()
        else:
            part = fragments["marks"][random.below(len(fragments["marks"]))].encode()
        parts.append(part)
    return b"".join(parts)


def fnv(data, h=0x811C9DC5):
    for byte in data:
        h = ((h ^ byte) * 0x01000193) & 0xFFFFFFFF
    return h


def hash_ids(ids, h=0x811C9DC5):
    return fnv(b"".join(int(i).to_bytes(4, "little") for i in ids) + b"\xff", h)


def hash_text(text, h=0x811C9DC5):
    return fnv(text.encode("utf-8") + b"\xff", h)


def load_fragments(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)
