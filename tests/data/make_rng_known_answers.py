"""Writes rng_known_answers.json: the first draws of one stream of every purpose, from a Philox4x32-10
and a Box-Muller transform written here from their definitions, apart from the C++ ones.

    python3 make_rng_known_answers.py > rng_known_answers.json
"""

import json
import math

PURPOSES = ["task_parameters", "train_examples", "test_examples", "validation_examples", "pruning_order",
            "solver_start", "chain", "chain_start", "prior", "splits", "held_out_examples",
            "initial_weights", "dropout", "tests", "unknown_term_examples", "ceiling_examples",
            "out_of_distribution_examples", "label_embedding", "generated_text",
            "resampled_examples", "rank_permutations", "rounding", "decoding_folds", "shuffled_labels",
            "latent_features", "hessian_probes", "replica_exchange"]
SEED = 0x0123456789ABCDEF
MASK = 0xFFFFFFFF


def philox(counter, key):
    """Salmon et al., SC 2011, section 4."""
    c, k = list(counter), list(key)
    for _ in range(10):
        first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(second >> 32) ^ c[1] ^ k[0], second & MASK, (first >> 32) ^ c[3] ^ k[1], first & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


def words_of(purpose, index, count):
    key = (SEED & MASK, SEED >> 32)
    words = []
    for block in range((count + 3) // 4):
        words += philox((block & MASK, block >> 32, index & MASK, (purpose << 20) | (index >> 32)), key)
    return words[:count]


def uniform(low, high):
    return ((((high << 32) | low) >> 12) + 0.5) * 2.0 ** -52


def normals(words):
    result = []
    for i in range(0, len(words), 4):
        radius = math.sqrt(-2 * math.log(uniform(words[i], words[i + 1])))
        angle = 2 * math.pi * uniform(words[i + 2], words[i + 3])
        result += [radius * math.cos(angle), radius * math.sin(angle)]
    return result


def stream(purpose, name, index):
    words = words_of(purpose, index, 8)
    return {"purpose": purpose, "name": name, "index": index, "words": words,
            "uniforms": [uniform(words[i], words[i + 1]) for i in range(0, 8, 2)], "normals": normals(words)}


def some_index(purpose):
    index = (purpose * 0x9E3779B97F4A7C15) % 2 ** 52  # some below 2^32, most above
    if purpose % 3 == 0:
        index %= 1000
    return index


# The chains of a sampling run have the index 2^20 point + chain.
POINT, CHAIN = 5, 3


print(json.dumps({"seed": SEED,
                  "streams": [stream(i, name, some_index(i)) for i, name in enumerate(PURPOSES)],
                  "sweep_point": {"point": POINT, "chain": CHAIN,
                                  **stream(PURPOSES.index("chain"), "chain", 2 ** 20 * POINT + CHAIN)}},
                 indent=1))
