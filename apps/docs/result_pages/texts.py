"""The small language models: bytes, and pieces of text."""

import collections
import math

from recorded import ROOT, average, final, runs_of, shown

STUDIES = {"text-small": "bytes", "text-bpe-small": "byte pairs"}


def bits(run):
    """Bits per byte on the last tenth of the text, at the end."""
    return final(run, "held_out", "bits_per_byte")


def table():
    rows = [["study", "tokens", "bits per byte", "seeds 1, 2, 3", "accuracy of a token (%)", "steps", "parameters"]]
    for study, tokens in STUDIES.items():
        runs = runs_of(study)
        rows.append([f"`{study}`", tokens, average(map(bits, runs), 4), ", ".join(shown(bits(run), 4) for run in runs),
                     average((final(run, "held_out", "accuracy") for run in runs), 1, 100), f"{runs[0]['steps']:,}",
                     f"{runs[0]['parameters']:,}"])
    return rows


def claim():
    return [average(map(bits, runs_of(study)), 4) for study in STUDIES]


def bits_by_frequency():
    """What a model needs that knows only how often each byte occurs."""
    text = (ROOT / "data/texts/house_rules.txt").read_bytes()
    shares = [count / len(text) for count in collections.Counter(text).values()]
    return [shown(-sum(share * math.log2(share) for share in shares))]


TABLES = {"text": table}
SENTENCES = [
    ("results/text.md", "The model of bytes needs {} bits per byte, that of byte pairs {}.**", claim),
    ("results/text.md", "how often each byte occurs would need {}", bits_by_frequency),
]
