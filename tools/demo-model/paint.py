"""Paints a scene: flat shapes on a sky, a ground and their light."""

from __future__ import annotations

import math
import random

import numpy as np
from PIL import Image, ImageDraw

from scenes import SLOTS, Scene

SIZE = 128          # pixels of the finished picture (square)
SUPERSAMPLE = 4     # painted this much larger, then box-filtered down: anti-aliasing

RGB = tuple[float, float, float]

SKY = {     # gradient stops from the zenith to the horizon
    "dawn": ((142, 166, 222), (214, 190, 222), (255, 208, 190)),
    "day": ((66, 152, 226), (126, 194, 240), (206, 236, 250)),
    "sunset": ((84, 52, 128), (222, 84, 100), (255, 182, 84)),
    "night": ((12, 18, 50), (26, 38, 88), (58, 78, 138)),
}
GREY = {"dawn": (196, 184, 196), "day": (164, 182, 196), "sunset": (150, 112, 122), "night": (40, 48, 72)}
# The colour of the light: multiplies the ground; objects get a part of it only, so
# that a red house is still red at night and a white one still white at sunset.
AMBIENT = {
    "dawn": (1.00, 0.88, 0.92),
    "day": (1.00, 1.00, 1.00),
    "sunset": (0.96, 0.64, 0.58),
    "night": (0.30, 0.38, 0.58),
}
PAINT = {
    "red": (220, 56, 48), "blue": (52, 108, 214), "yellow": (252, 208, 50),
    "white": (246, 244, 240), "purple": (150, 80, 190), "orange": (236, 138, 50),
    "black": (42, 40, 50),
}


def mix(a: RGB, b: RGB, t: float) -> RGB:
    return tuple(x + (y - x) * t for x, y in zip(a, b))


def rgb(colour: RGB) -> tuple[int, int, int]:
    return tuple(max(0, min(255, round(c))) for c in colour)


class Painter:
    """Paints one scene.  Units: 1 is the picture's height, y grows downwards."""

    def __init__(self, scene: Scene, rng: random.Random, size: int = SIZE):
        self.scene, self.rng = scene, rng
        self.px = size * SUPERSAMPLE
        dull = {"clear": 0.0, "clouds": 0.12, "rain": 0.6, "snow": 0.45}[scene.weather]
        self.sky = [mix(c, GREY[scene.time], dull) for c in SKY[scene.time]]
        ambient = AMBIENT[scene.time]
        if scene.weather == "rain":
            ambient = mix(ambient, (0.62, 0.68, 0.78), 0.35)
        self.ambient = ambient
        self.haze = mix(self.sky[2], self.sky[1], 0.35)
        self.snowy = scene.weather == "snow"
        self.lit = scene.time in ("night", "sunset", "dawn")    # are windows lit?

        t = np.linspace(0, 1 / 0.66, self.px)[:, None].clip(0, 1)   # horizon at 0.66
        stops = np.array(self.sky)
        column = np.where(t < 0.5, stops[0] + (stops[1] - stops[0]) * t * 2,
                          stops[1] + (stops[2] - stops[1]) * (t * 2 - 1))
        column = np.repeat(column[:, None], self.px, axis=1)
        self.image = Image.fromarray(column.astype(np.uint8), "RGB")
        self.draw = ImageDraw.Draw(self.image, "RGBA")

    # -- primitives ---------------------------------------------------------

    def ground(self, colour: RGB, haze: float = 0.0) -> RGB:
        """A terrain colour under this scene's light, faded by distance."""
        lit = tuple(c * a for c, a in zip(colour, self.ambient))
        return mix(lit, self.haze, haze)

    def paint(self, colour: RGB) -> RGB:
        """An object's colour under part of this scene's light."""
        return tuple(c * (0.62 + 0.38 * a) for c, a in zip(colour, self.ambient))

    def polygon(self, points, colour: RGB, alpha: int = 255):
        self.draw.polygon([(x * self.px, y * self.px) for x, y in points], fill=(*rgb(colour), alpha))

    def ellipse(self, x, y, rx, ry, colour: RGB, alpha: int = 255):
        p = self.px
        self.draw.ellipse(((x - rx) * p, (y - ry) * p, (x + rx) * p, (y + ry) * p), fill=(*rgb(colour), alpha))

    def rect(self, x0, y0, x1, y1, colour: RGB, alpha: int = 255):
        p = self.px
        self.draw.rectangle((x0 * p, y0 * p, x1 * p, y1 * p), fill=(*rgb(colour), alpha))

    def stroke(self, points, width, colour: RGB, alpha: int = 255):
        p = self.px
        self.draw.line([(x * p, y * p) for x, y in points], fill=(*rgb(colour), alpha),
                       width=max(1, round(width * p)), joint="curve")

    def capsule(self, points, width, colour: RGB):
        """A thick line with round ends and joints."""
        self.stroke(points, width, colour)
        for x, y in points:
            self.ellipse(x, y, width / 2, width / 2, colour)

    def ridge(self, height, colour: RGB, steps: int = 64):
        """Fills everything below the curve y = height(x)."""
        line = [(i / steps, height(i / steps)) for i in range(steps + 1)]
        self.polygon(line + [(1, 1.01), (0, 1.01)], colour)

    def wave(self, base, swing, cycles):
        """A random smooth curve around `base`."""
        p, q = self.rng.uniform(0, 2 * math.pi), self.rng.uniform(0, 2 * math.pi)
        return lambda x: base + swing * (0.75 * math.sin(2 * math.pi * cycles * x + p)
                                         + 0.25 * math.sin(4 * math.pi * cycles * x + q))

    # -- sky ----------------------------------------------------------------

    def stars(self):
        for _ in range(22):
            x, y = self.rng.random(), self.rng.random() ** 1.3 * 0.5
            r = self.rng.choice((0.0055, 0.008))
            self.ellipse(x, y, r, r, (250, 246, 226))

    def sun(self, slot):
        x = SLOTS[slot] + self.rng.uniform(-0.04, 0.04)
        y, r, colour = {
            "dawn": (0.40, 0.085, (255, 240, 196)),
            "day": (0.17, 0.080, (255, 222, 84)),
            "sunset": (0.47, 0.105, (255, 226, 120)),
        }[self.scene.time]
        y += self.rng.uniform(-0.02, 0.02)
        for i, alpha in enumerate((26, 40)):            # two rings of glow
            glow = r * (2.0 - 0.55 * i)
            self.ellipse(x, y, glow, glow, colour, alpha)
        self.ellipse(x, y, r, r, colour)
        self.light_x = x

    def moon(self, slot):
        x = SLOTS[slot] + self.rng.uniform(-0.04, 0.04)
        y, r = 0.18 + self.rng.uniform(-0.02, 0.02), 0.085
        self.ellipse(x, y, r * 1.7, r * 1.7, (200, 210, 255), 24)
        outer = [(x + r * math.sin(a), y - r * math.cos(a)) for a in np.linspace(-0.35, math.pi + 0.35, 40)]
        (x0, y0), (x1, y1) = outer[-1], outer[0]
        inner = [(x0 + (x1 - x0) * t + 0.72 * r * math.sin(math.pi * t), y0 + (y1 - y0) * t)
                 for t in np.linspace(0, 1, 24)]
        self.polygon(outer + inner, (252, 242, 206))
        self.light_x = x

    def clouds(self, count):
        colour = mix({"dawn": (255, 236, 238), "day": (255, 255, 255), "sunset": (255, 176, 156),
                      "night": (92, 108, 158)}[self.scene.time],
                     GREY[self.scene.time], {"rain": 0.75, "snow": 0.2}.get(self.scene.weather, 0))
        for i in range(count):
            x = (i + 0.5) / count + self.rng.uniform(-0.1, 0.1)
            y = self.rng.uniform(0.10, 0.30)
            s = self.rng.uniform(0.085, 0.12)
            for dx, dy, r in ((-0.9, 0.0, 0.5), (-0.2, -0.32, 0.72), (0.6, -0.1, 0.58), (1.15, 0.08, 0.42)):
                self.ellipse(x + dx * s, y + dy * s, r * s, r * s, colour)
            self.rect(x - 0.9 * s, y, x + 1.15 * s, y + 0.5 * s, colour)

    def falling(self):
        """Rain or snow over the finished picture, on a jittered grid."""
        n = 6
        for i in range(n):
            for j in range(n):
                x = (i + self.rng.uniform(0.1, 0.9)) / n
                y = (j + self.rng.uniform(0.1, 0.9)) / n
                if self.scene.weather == "rain":
                    self.stroke([(x, y), (x - 0.022, y + 0.075)], 0.012, (206, 226, 246), 190)
                else:
                    r = self.rng.choice((0.011, 0.015))
                    self.ellipse(x, y, r, r, (255, 255, 255))

    # -- terrain: each returns the curve on which things stand ------------------

    def hills(self):
        greens = ((196, 222, 226), (228, 236, 240), (248, 250, 252)) if self.snowy else \
                 ((112, 186, 104), (88, 170, 78), (62, 146, 66))
        self.ridge(self.wave(0.60, 0.055, 1.1), self.ground(greens[0], 0.35))
        stand = self.wave(0.71, 0.04, 0.8)
        self.ridge(stand, self.ground(greens[1]))
        self.front = (self.wave(0.90, 0.025, 0.9), self.ground(greens[2]))
        return stand

    def desert(self):
        self.ridge(self.wave(0.60, 0.05, 1.2), self.ground((226, 168, 104), 0.3))
        stand = self.wave(0.71, 0.035, 0.8)
        self.ridge(stand, self.ground((242, 196, 120)))
        self.front = (self.wave(0.90, 0.03, 0.8), self.ground((222, 166, 92)))
        return stand

    def mountains(self):
        rock, cap = self.ground((124, 132, 160), 0.22), self.ground((250, 252, 255), 0.10)
        shade = self.ground((98, 106, 138), 0.18)
        peaks = [(0.14, 0.32, 0.36), (0.84, 0.30, 0.38), (0.48, 0.22, 0.42)]
        self.rng.shuffle(peaks)
        for x, y, half in peaks:
            x += self.rng.uniform(-0.06, 0.06)
            y += self.rng.uniform(-0.03, 0.05)
            base = 0.78
            self.polygon([(x, y), (x + half, base), (x - half, base)], rock)
            self.polygon([(x, y), (x + half, base), (x + 0.25 * half, base)], shade)
            d = 0.33                                    # the snow reaches this far down
            yl, w = y + (base - y) * d, half * d
            self.polygon([(x, y), (x + w, yl), (x + 0.45 * w, yl - 0.03), (x + 0.1 * w, yl + 0.03),
                          (x - 0.4 * w, yl - 0.03), (x - w, yl)], cap)
        greens = ((232, 240, 244), (250, 250, 252)) if self.snowy else ((92, 158, 96), (66, 132, 78))
        stand = self.wave(0.72, 0.025, 0.7)
        self.ridge(stand, self.ground(greens[0]))
        self.front = (self.wave(0.91, 0.02, 0.9), self.ground(greens[1]))
        return stand

    def sea(self):
        top, bottom = self.ground((92, 186, 222), 0.25), self.ground((24, 104, 176))
        for i in range(12):                             # a gradient in flat bands
            self.rect(0, 0.60 + i * 0.034, 1, 1, mix(top, bottom, i / 11))
        if self.scene.light:                            # the light's path on the water
            colour = {"night": (236, 232, 206)}.get(self.scene.time, (255, 236, 170))
            for i in range(6):
                y, w = 0.615 + i * 0.05, 0.05 + 0.016 * i
                x = self.light_x + self.rng.uniform(-0.015, 0.015)
                self.capsule([(x - w, y), (x + w, y)], 0.014, mix(colour, top, 0.25))
        foam = mix(self.ground((230, 246, 252)), top, 0.35)
        for i in range(7):
            x, y = self.rng.uniform(0.03, 0.97), 0.66 + 0.045 * i + self.rng.uniform(-0.01, 0.01)
            w = 0.05
            self.stroke([(x + w * t, y - 0.016 * (1 - t * t)) for t in np.linspace(-1, 1, 12)], 0.010, foam)
        self.front = None
        if any(t.kind == "cat" for t in self.scene.things):     # cats sit on a beach
            sand = (240, 242, 246) if self.snowy else (244, 216, 158)
            self.front = (self.wave(0.82, 0.015, 0.6), self.ground(sand))
        return lambda x: 0.76

    def city(self):
        far, near = self.ground((150, 166, 196), 0.45), self.ground((92, 106, 146), 0.12)
        glass = (255, 218, 120) if self.lit else mix(near, (255, 255, 255), 0.35)
        x = -0.02
        while x < 1:
            w = self.rng.uniform(0.09, 0.15)
            self.rect(x, self.rng.uniform(0.34, 0.55), x + w, 0.8, far)
            x += w
        x = -0.04
        while x < 1:
            w, top = 0.125, self.rng.uniform(0.42, 0.64)
            self.rect(x, top, x + w - 0.008, 0.85, near)
            if self.snowy:
                self.rect(x, top, x + w - 0.008, top + 0.014, self.ground((250, 252, 255)))
            y = top + 0.035
            while y < 0.74:
                for k in (0.022, 0.072):
                    if self.rng.random() < 0.85:
                        self.rect(x + k, y, x + k + 0.026, y + 0.028, glass)
                y += 0.058
            x += w
        park = ((240, 244, 248), (250, 250, 252)) if self.snowy else ((106, 170, 98), (78, 146, 82))
        stand = self.wave(0.80, 0.008, 0.7)
        self.ridge(stand, self.ground(park[0]))
        self.front = (self.wave(0.93, 0.012, 0.8), self.ground(park[1]))
        return stand

    # -- objects: (x, y) is where the object touches the ground -------------------

    def house(self, x, y, colour):
        wall, w, h = self.paint(PAINT[colour]), 0.115, 0.155
        roof = self.paint((250, 252, 255) if self.snowy else (98, 70, 72))
        y += 0.02
        self.rect(x + 0.05, y - h - 0.13, x + 0.085, y - h - 0.02, self.paint((128, 92, 86)))    # chimney
        self.rect(x - w, y - h, x + w, y, wall)
        self.polygon([(x - w - 0.03, y - h + 0.005), (x, y - h - 0.125), (x + w + 0.03, y - h + 0.005)], roof)
        self.rect(x - 0.024, y - 0.085, x + 0.024, y, self.paint((110, 70, 52)))                 # door
        pane = (255, 226, 120) if self.lit else self.paint((190, 226, 244))
        for side in (-0.07, 0.07):
            self.rect(x + side - 0.024, y - 0.118, x + side + 0.024, y - 0.066, pane)

    def lighthouse(self, x, y):
        if self.scene.terrain == "sea":                 # a rock to stand on
            rock = self.ground((112, 104, 112))
            self.polygon([(x - 0.17, y + 0.06), (x - 0.12, y - 0.01), (x - 0.03, y - 0.035),
                          (x + 0.08, y - 0.02), (x + 0.15, y + 0.06)], rock)
        top, wide, slim = y - 0.36, 0.062, 0.042
        if self.scene.time in ("night", "sunset"):      # the beam
            for s in (-1, 1):
                self.polygon([(x, top - 0.03), (x + s * 1.2, top - 0.22), (x + s * 1.2, top + 0.14)],
                             (255, 240, 170), 64)
        for i in range(5):                              # red and white rings
            a, b = i / 5, (i + 1) / 5
            wa, wb = slim + (wide - slim) * a, slim + (wide - slim) * b
            ya, yb = top + (y - top) * a, top + (y - top) * b
            self.polygon([(x - wa, ya), (x + wa, ya), (x + wb, yb), (x - wb, yb)],
                         self.paint(PAINT["white"] if i % 2 else PAINT["red"]))
        self.rect(x - 0.055, top - 0.012, x + 0.055, top + 0.004, self.paint((70, 66, 80)))
        self.rect(x - 0.032, top - 0.062, x + 0.032, top - 0.012, (255, 232, 130))
        self.polygon([(x - 0.045, top - 0.060), (x, top - 0.115), (x + 0.045, top - 0.060)], self.paint(PAINT["red"]))

    def boat(self, x, y, colour):
        sail = self.paint(PAINT[colour])
        self.rect(x - 0.007, y - 0.30, x + 0.007, y - 0.02, self.paint((104, 76, 60)))
        self.polygon([(x + 0.014, y - 0.29), (x + 0.014, y - 0.055), (x + 0.135, y - 0.055)], sail)
        self.polygon([(x - 0.014, y - 0.25), (x - 0.014, y - 0.055), (x - 0.10, y - 0.055)],
                     mix(sail, (255, 255, 255), 0.25) if colour != "white" else mix(sail, (150, 170, 200), 0.25))
        self.polygon([(x - 0.145, y - 0.04), (x + 0.155, y - 0.04), (x + 0.105, y + 0.035), (x - 0.10, y + 0.035)],
                     self.paint((116, 70, 50)))
        self.rect(x - 0.145, y - 0.04, x + 0.155, y - 0.024, self.paint((236, 222, 200)))

    def cat(self, x, y, colour):
        fur = self.paint(PAINT[colour])
        if colour == "black" and self.scene.time == "night":
            fur = (18, 18, 28)
        belly = self.paint({"black": (78, 76, 92), "orange": (255, 226, 184), "white": (226, 222, 226)}[colour])
        y = 0.945
        self.capsule([(x + 0.07, y - 0.02), (x + 0.135, y - 0.03), (x + 0.16, y - 0.08), (x + 0.145, y - 0.13)],
                     0.036, fur)                                                    # tail
        self.polygon([(x - 0.055, y - 0.23), (x + 0.055, y - 0.23), (x + 0.105, y - 0.06), (x + 0.095, y),
                      (x - 0.095, y), (x - 0.105, y - 0.06)], fur)
        self.ellipse(x, y - 0.03, 0.108, 0.055, fur)
        self.ellipse(x, y - 0.105, 0.045, 0.075, belly)
        hy = y - 0.275                                                              # head
        for s in (-1, 1):
            self.polygon([(x + s * 0.098, hy - 0.125), (x + s * 0.022, hy - 0.07), (x + s * 0.092, hy - 0.005)], fur)
            self.polygon([(x + s * 0.085, hy - 0.098), (x + s * 0.045, hy - 0.062), (x + s * 0.082, hy - 0.03)],
                         self.paint((236, 150, 150)))
        self.ellipse(x, hy, 0.098, 0.083, fur)
        iris = (250, 214, 70) if colour != "orange" else (70, 140, 70)
        iris = iris if colour != "white" else (66, 140, 206)
        for s in (-1, 1):
            self.ellipse(x + s * 0.042, hy - 0.006, 0.021, 0.024, iris)
            self.ellipse(x + s * 0.042, hy - 0.006, 0.009, 0.020, (20, 18, 24))
        self.polygon([(x - 0.014, hy + 0.026), (x + 0.014, hy + 0.026), (x, hy + 0.043)], (240, 140, 140))

    def cactus(self, x, y, scale=1.0):
        green, s = self.paint((56, 138, 82)), scale
        y += 0.03
        self.capsule([(x, y - 0.24 * s), (x, y - 0.02)], 0.062 * s, green)
        self.capsule([(x, y - 0.09 * s), (x - 0.075 * s, y - 0.09 * s), (x - 0.075 * s, y - 0.16 * s)], 0.042 * s, green)
        self.capsule([(x, y - 0.12 * s), (x + 0.075 * s, y - 0.12 * s), (x + 0.075 * s, y - 0.20 * s)], 0.042 * s, green)

    def pine(self, x, y, scale=1.0):
        h, y = 0.30 * scale, y + 0.02
        green, dark = self.paint((36, 112, 78)), self.paint((26, 92, 68))
        self.rect(x - 0.012, y - 0.05, x + 0.012, y, self.paint((104, 72, 54)))
        for a, b, w in ((0.10, 0.55, 0.070), (0.36, 0.78, 0.056), (0.60, 1.0, 0.042)):
            tip, foot = y - h * b, y - h * a
            self.polygon([(x, tip), (x + w, foot), (x - w, foot)], green)
            self.polygon([(x, tip), (x + w, foot), (x + 0.1 * w, foot)], dark)
            if self.snowy:
                m = tip + (foot - tip) * 0.55
                self.polygon([(x, tip), (x + w * 0.55, m), (x, m - 0.015), (x - w * 0.55, m)],
                             self.paint((250, 252, 255)))

    def balloon(self, slot, colour):
        x = SLOTS[slot] + self.rng.uniform(-0.04, 0.04)
        y, r = 0.24 + self.rng.uniform(-0.03, 0.05), 0.105
        main = self.paint(PAINT[colour])
        pale = mix(main, (255, 255, 255), 0.55)
        self.stroke([(x - 0.045, y + 0.10), (x - 0.022, y + 0.175)], 0.008, self.paint((96, 72, 60)))
        self.stroke([(x + 0.045, y + 0.10), (x + 0.022, y + 0.175)], 0.008, self.paint((96, 72, 60)))
        for width, tone in ((1.0, main), (0.62, pale), (0.26, main)):       # vertical stripes
            self.ellipse(x, y, r * width, r, tone)
            self.polygon([(x - r * width * 0.90, y + r * 0.42), (x + r * width * 0.90, y + r * 0.42),
                          (x + 0.036 * width, y + r * 1.3), (x - 0.036 * width, y + r * 1.3)], tone)
        self.rect(x - 0.028, y + 0.165, x + 0.028, y + 0.205, self.paint((150, 104, 66)))

    # -- the whole picture ------------------------------------------------------

    def run(self) -> Image.Image:
        scene, rng = self.scene, self.rng
        clear = scene.weather in ("clear", "clouds")
        if scene.time == "night" and clear:
            self.stars()
        if scene.light:
            (self.moon if scene.time == "night" else self.sun)(scene.light)
        if scene.weather != "clear":
            self.clouds(3)
        stand = getattr(self, scene.terrain)()
        in_front = []
        for thing in scene.things:
            x = SLOTS[thing.slot] + rng.uniform(-0.035, 0.035)
            if thing.kind == "balloon":
                self.balloon(thing.slot, thing.colour)
            elif thing.kind == "cat":
                in_front.append((x, thing))
            elif thing.kind in ("pines", "cactus"):
                gap = 0.125 if thing.kind == "pines" else 0.15
                for i in range(thing.count):
                    xi = x + (i - (thing.count - 1) / 2) * gap
                    one = self.pine if thing.kind == "pines" else self.cactus
                    one(xi, stand(xi) + (0.03 if i % 2 else 0.0), rng.uniform(0.85, 1.1))
            elif thing.kind == "lighthouse":
                self.lighthouse(x, stand(x))
            else:
                getattr(self, thing.kind)(x, stand(x), thing.colour)
        if self.front:
            self.ridge(*self.front)
        for x, thing in in_front:
            self.cat(x, 0, thing.colour)
        if scene.weather in ("rain", "snow"):
            self.falling()
        return self.image.reduce(SUPERSAMPLE)


def render(scene: Scene, rng: random.Random, size: int = SIZE) -> Image.Image:
    return Painter(scene, rng, size).run()
