"""Symbolic scenes and their captions: what the pictures of the demo model show.

A `Scene` is a small description (time of day, weather, terrain, a few objects with colours and
positions).  `sample_scene` draws one at random and `caption` words it in one of many ways; both are
pure functions of the `random.Random` handed in.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

TIMES = ("dawn", "day", "sunset", "night")
WEATHERS = ("clear", "clouds", "rain", "snow")
TERRAINS = ("hills", "desert", "mountains", "sea", "city")
SLOTS = {"left": 0.21, "middle": 0.50, "right": 0.79}   # x of a position word


@dataclass
class Thing:
    """One object of a scene: kind, where it stands, its colour, how many."""

    kind: str                 # house lighthouse boat cat cactus pines balloon
    slot: str                 # key of SLOTS
    colour: str | None = None
    count: int = 1


@dataclass
class Scene:
    time: str
    weather: str
    terrain: str
    light: str | None = None              # slot of the sun (the moon at night), or none
    things: list[Thing] = field(default_factory=list)


COLOURS = {
    "house": ("red", "blue", "yellow", "white"),
    "boat": ("red", "blue", "yellow", "white"),
    "balloon": ("red", "blue", "yellow", "purple"),
    "cat": ("black", "orange", "white"),
}

# What may stand on each terrain, as (kind, weight); None is an empty landscape.
MAIN = {
    "hills": (("house", 5), ("lighthouse", 1), ("cat", 2.5), (None, 2)),
    "desert": (("cactus", 4), ("house", 2), ("cat", 2), (None, 1)),
    "mountains": (("house", 4), ("cat", 2), (None, 2)),
    "sea": (("boat", 5), ("lighthouse", 3.5), ("cat", 1), (None, 1)),
    "city": (("cat", 4), (None, 3)),
}
PINES = {"hills": 0.45, "mountains": 0.45, "city": 0.3}     # chance of pine trees
BALLOON = 0.22                                              # chance of a balloon


def sample_scene(rng: random.Random) -> Scene:
    terrain = rng.choices(TERRAINS, (30, 15, 19, 22, 14))[0]
    time = rng.choices(TIMES, (18, 34, 24, 24))[0]
    weather = rng.choices(WEATHERS, (48, 26, 13, 13))[0]
    if terrain == "desert" and weather in ("rain", "snow"):
        weather = "clear"
    scene = Scene(time, weather, terrain)

    ground, sky = list(SLOTS), list(SLOTS)      # slots still free
    rng.shuffle(ground)
    rng.shuffle(sky)

    kinds, weights = zip(*MAIN[terrain])
    kind = rng.choices(kinds, weights)[0]
    if kind:
        colour = rng.choice(COLOURS[kind]) if kind in COLOURS else None
        count = rng.choice((1, 1, 2, 3)) if kind == "cactus" else 1
        slot = ground.pop()
        scene.things.append(Thing(kind, slot, colour, count))
        if kind == "lighthouse":
            sky.remove(slot)                    # its lantern reaches into the sky
    if rng.random() < PINES.get(terrain, 0) * (1.4 if kind is None else 1):
        scene.things.append(Thing("pines", ground.pop(), None, rng.choice((1, 2, 2, 3))))
    if rng.random() < (0.5 if kind is None else BALLOON):
        scene.things.append(Thing("balloon", sky.pop(), rng.choice(COLOURS["balloon"])))
    if weather in ("clear", "clouds") and rng.random() < 0.8:
        scene.light = sky.pop()
    return scene


WHERE = {"left": ("on the left",), "middle": ("in the middle", "in the center"), "right": ("on the right",)}
WHEN = {
    "dawn": ("at dawn", "at sunrise", "in the early morning"),
    "day": ("", "", "by day", "at noon", "during the day"),
    "sunset": ("at sunset", "at dusk", "in the evening"),
    "night": ("at night", "by night"),
}
WHEN_TAG = {"dawn": ("dawn", "sunrise"), "day": ("", "day", "daytime", "noon"),
            "sunset": ("sunset", "dusk"), "night": ("night",)}
WEATHER_PHRASE = {"clear": ("", "", "", "clear sky"), "clouds": ("clouds", "cloudy", "a cloudy sky", "with clouds"),
                  "rain": ("rain", "in the rain", "rainy", "raining"),
                  "snow": ("snow", "in the snow", "snowing", "falling snow")}
LAND = {"hills": ("green hills", "hills", "rolling hills"), "desert": ("the desert", "sand dunes", "a desert"),
        "mountains": ("mountains", "snowy mountains", "the mountains"),
        "sea": ("the sea", "the ocean", "the sea with waves"), "city": ("a city", "a city skyline", "the city")}
PLACE = {"hills": ("on green hills", "on the hills", "on rolling hills", "in green hills"),
         "desert": ("in the desert", "on sand dunes", "in a desert"),
         "mountains": ("in the mountains", "in front of mountains", "in front of snowy mountains"),
         "sea": ("at sea", "by the sea", "on the sea", "by the ocean"),
         "city": ("in the city", "in front of a city", "in front of a city skyline")}
NOUN = {"house": ("house", "house", "cottage"), "lighthouse": ("lighthouse",), "cat": ("cat",),
        "boat": ("sailing boat", "sailboat", "boat"), "balloon": ("hot-air balloon", "balloon", "hot air balloon")}
NUMBER = {1: "a", 2: "two", 3: "three"}
PREFIX = ("a picture of ", "a drawing of ", "an illustration of ")


def name_thing(thing: Thing, rng: random.Random, article: bool, where: bool) -> str:
    """'two pine trees on the left', 'red house', ..."""
    if thing.kind in ("pines", "cactus"):
        one, many = ("pine tree", "pine trees") if thing.kind == "pines" else ("cactus", "cacti")
        text = many if thing.count > 1 else one
        if article or thing.count > 1:
            text = f"{NUMBER[thing.count]} {text}"
    else:
        noun = rng.choice(NOUN[thing.kind])
        text = f"{thing.colour} {noun}" if thing.colour else noun
        if thing.kind == "boat" and rng.random() < 0.3:
            text = f"{noun} with {thing.colour} sails"
        if article:
            text = f"{'an' if text[0] in 'aeiou' else 'a'} {text}"
    if thing.kind == "balloon" and rng.random() < 0.25:
        text += " in the sky"
    return f"{text} {rng.choice(WHERE[thing.slot])}" if where else text


def caption(scene: Scene, rng: random.Random) -> str:
    """One of the many ways to say `scene`.  All objects are always named; day and
    clear sky are often left out, and positions are told about half of the time."""
    style = rng.random()
    tags = style < 0.25                                 # 'red house, hills, sunset'
    article = not tags and rng.random() < 0.85
    told = [name_thing(t, rng, article, rng.random() < 0.55) for t in scene.things]
    weather = rng.choice(WEATHER_PHRASE[scene.weather])
    sky = []
    if scene.light and rng.random() < 0.6:
        name = "moon" if scene.time == "night" else "sun"
        if article:
            name = ("the " if name == "sun" else rng.choice(("the ", "a "))) + name
        sky.append(f"{name} {rng.choice(WHERE[scene.light])}" if rng.random() < 0.7 else name)
    if scene.time == "night" and scene.weather in ("clear", "clouds") and rng.random() < 0.4:
        sky.append("stars")

    if tags:
        parts = told + [rng.choice(LAND[scene.terrain]).removeprefix("the ").removeprefix("a "),
                        rng.choice(WHEN_TAG[scene.time]), weather] + sky
        if rng.random() < 0.3:
            rng.shuffle(parts)
        return ", ".join(p for p in parts if p)

    when = rng.choice(WHEN[scene.time])
    land = rng.choice(LAND[scene.terrain])
    place = rng.choice(PLACE[scene.terrain])
    if not told:
        text = f"{land} {when}".strip()
    elif style < 0.65:                                  # 'a red house on green hills at sunset, two pine trees'
        text = f"{told[0]} {place} {when}".strip()
        rest = told[1:]
        if rest:
            joint = rng.choice((", ", ", ", " and ", " with "))
            if joint == " and ":                        # 'a red house and two pine trees on green hills'
                text = f"{' and '.join(told)} {place} {when}".strip()
            else:
                text += joint + " and ".join(rest)
    else:                                               # 'green hills at sunset with a red house and ...'
        text = f"{land} {when}".strip() + rng.choice((" with ", ", ")) + rng.choice((" and ", ", ")).join(told)
    if when and when in text and rng.random() < 0.15:   # 'at sunset, ...'
        text = f"{when}, " + text.replace(" " + when, "", 1)
    elif rng.random() < 0.12:
        text = rng.choice(PREFIX) + text
    tail = [p for p in [weather] + sky if p]
    return ", ".join([text] + tail)
