"""Text that the demo language model learns from: short stories of a lighthouse by the sea, made by a small grammar.

    python stories.py [--count N] [--seed N]      print some
"""

import argparse
import random

KEEPERS = [("Anna", "she", "her"), ("Mara", "she", "her"), ("Zoë", "she", "her"), ("Tom", "he", "his"), ("Olaf", "he", "his"), ("Ida", "she", "her"),
           ("Ben", "he", "his")]
FRIENDS = [("cat", ["Pepper", "Soot"]), ("dog", ["Biscuit", "Captain"]), ("gull", ["Feather", "Salt"])]
PLACES = ["on a small island", "at the end of a long pier", "on a high cliff", "above a quiet bay"]
TIMES = {
    "morning": ["One morning", "Early in the morning", "When the sun came up"],
    "evening": ["One evening", "Late in the evening", "When the sun went down"],
    "night": ["One night", "In the middle of the night", "When the stars came out"],
}
WEATHERS = {
    "storm": (["a great storm came over the sea", "the wind blew hard and the waves were high", "black clouds came from the west"],
              ["The storm was over by the next day", "At last the wind grew tired", "Slowly the waves became small again"]),
    "fog": (["a thick fog lay on the water", "the fog was so white that nobody could see the sea"],
            ["Then the fog went away", "At last the sun ate the fog"]),
    "rain": (["rain fell on the roof of the lighthouse", "it rained and rained, and the path was full of water"],
             ["Then the rain stopped", "A rainbow stood over the bay after the rain"]),
    "snow": (["snow fell on the rocks and on the boats", "it was so cold that the rain turned into snow"],
             ["In spring the snow was gone", "The next day the snow shone in the sun"]),
    "calm": (["the sea was as flat as a mirror", "the air was warm and the sea was calm"],
             ["The sea stayed calm all day", "Nothing moved on the water"]),
}
TROUBLES = {
    "boat": ("a little boat was lost near the rocks", "lit the great lamp and rang the bell", "The sailors saw the light and came safely home"),
    "lamp": ("the lamp of the lighthouse went out", "climbed all the stairs with a new wick", "Soon the light turned over the water again"),
    "whale": ("a young whale swam too close to the beach", "showed it the way with a lantern", "The whale sang and swam back to the deep sea"),
    "letter": ("a bottle with a letter came to the beach", "read the letter by the fire", "It was from an old friend across the sea"),
    "bird": ("a tired bird sat on the window", "gave it bread and a warm place by the hearth", "The bird slept and flew south when it was strong"),
    "bread": ("there was no bread left in the house", "baked three round loaves in the oven", "The whole tower smelled of warm bread"),
}
FOODS = ["soup", "tea", "fish", "bread and honey", "hot milk"]
ENDINGS = [
    "Then they sat by the hearth, and the fire was warm.",
    "That night the fire in the hearth burned low, and everybody slept well.",
    "And the light of the tower went round and round, as it always did.",
    "From that day on, {name} left a candle in the window every night.",
    "{name} smiled, put another log on the fire and went to bed.",
    '"A good fire and a good friend," said {name}, "are all that one needs."',
]


def story(rng):
    pick = rng.choice
    name, he, his = pick(KEEPERS)
    kind, pets = pick(FRIENDS)
    pet = pick(pets)
    weather = pick(list(WEATHERS))
    began, ended = WEATHERS[weather]
    trouble, deed, result = pick(list(TROUBLES.values()))
    place, time = pick(PLACES), pick(list(TIMES))
    line = [pick([
        f"Once upon a time there was a lighthouse {place}. The keeper of the lighthouse was called {name}.",
        f"The lighthouse stood {place}. {name} was its keeper, and {he} loved the sea.",
        f"{name} was the keeper of a lighthouse {place}.",
        f"There was once a keeper called {name}, who lived in a lighthouse {place}.",
        f"The keeper of the lighthouse was called {name}. {he.capitalize()} lived {place}.",
    ])]
    line.append(pick([
        f"{name} had a {kind}, and the {kind} was called {pet}.",
        f"{he.capitalize()} lived there with a {kind} called {pet}.",
        f"{his.capitalize()} best friend was a {kind} called {pet}.",
    ]))
    line.append(f"{pick(TIMES[time])} {pick(began)}.")
    if rng.random() < 0.5:
        line.append(pick([f"{name} made a fire in the hearth and cooked some {pick(FOODS)}.", f"{pet} sat close to the hearth, because it was warm there.",
                          f"{name} looked out of the window with {pet}.", f'"What a {time}!" said {name}.']))
    line.append(pick([f"Then {trouble}.", f"Suddenly {trouble}.", f"{name} saw that {trouble}."]))
    if rng.random() < 0.5:
        line.append(pick([f"{pet} was the first to know it.", f"{pet} was afraid, but {name} was not.", f'"We must help," said {name}.',
                          f"{name} did not wait."]))
    line.append(pick([f"So {name} {deed}.", f"{name} took {his} coat and {deed}.", f"With {pet} at {his} side, {name} {deed}."]))
    line.append(f"{result}.")
    if rng.random() < 0.6:
        line.append(f"{pick(ended)}.")
    line.append(pick(ENDINGS).format(name=name))
    cut = rng.randrange(2, len(line) - 1)
    return " ".join(line[:cut]) + pick([" ", " ", "\n\n"]) + " ".join(line[cut:])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    generator = random.Random(options.seed)
    for _ in range(options.count):
        print(story(generator), end="\n\n---\n\n")
