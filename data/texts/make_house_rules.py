"""Writes house_rules.txt: English-like sentences of a small grammar about attention heads and paths.

    python3 make_house_rules.py > house_rules.txt

What a model can learn from it, from easy to hard: letters and words, the grammar, and that the names
of a paragraph come back in its last sentence.
"""

import random

NAMES = ["Ada", "Bela", "Chen", "Dalia", "Emil", "Farah", "Goran", "Hana", "Ivo", "Juno", "Kofi", "Lina"]
HEADS = ["the first head", "the second head", "the last head", "a narrow head", "a random head", "every head"]
VERBS = ["reads", "copies", "ignores", "averages", "denoises", "compares", "forgets"]
THINGS = ["the previous token", "the query", "the blank panel", "its own position", "two far tokens",
          "the first row", "a hidden state", "the answer"]
PLACES = ["in layer one", "in layer two", "on the good path", "on the adversarial path",
          "at large width", "at small width"]
WHY = ["because the rule asks for it", "although nobody asked", "so that the error falls",
       "until the training ends", "when the temperature is low"]


def clause(rng):
    words = [rng.choice(HEADS), rng.choice(VERBS), rng.choice(THINGS)]
    if rng.random() < 0.6:
        words.append(rng.choice(PLACES))
    return " ".join(words)


def sentence(rng):
    text = clause(rng)
    choice = rng.random()
    if choice < 0.3:
        text += " and " + clause(rng)
    elif choice < 0.6:
        text += " " + rng.choice(WHY)
    return text[0].upper() + text[1:] + "."


def paragraph(rng):
    one, two = rng.sample(NAMES, 2)
    lines = [f"{one} asks {two} about {rng.choice(THINGS)}."]
    lines += [sentence(rng) for _ in range(rng.randint(2, 4))]
    lines.append(f"So {two} answers {one}: {clause(rng)}.")
    return " ".join(lines)


def main():
    rng = random.Random(1)
    for _ in range(600):
        print(paragraph(rng))


if __name__ == "__main__":
    main()
