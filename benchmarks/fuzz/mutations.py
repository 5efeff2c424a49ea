"""Changes of texts and bytes: words left out, exchanged, repeated, moved, or replaced from a dictionary or another text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[%@^!#]?[\w.$]+|\s+|.', re.DOTALL)
NUMBERS = "-1 0 1 2 3 7 64 1.5 -0.0 1e999 nan inf -inf 0x7FC00000 2147483648 9223372036854775807 9223372036854775808".split()
PUNCTUATION = '[ ] { } ( ) < > = : , -> " \\ // % @ ^ ! # ? * x'.split()
SIZES = ("0", "1", "1", "2", "3", "4", "5", "?", "f32", "si32", "i1", "f64", "index")
CHANGES = "delete insert swap cut repeat move splice digit digit".split()
ODD = ["9" * 400, "\n", "\t", "\0", "é", "\u202e", "\ufeff", "// -----\n", "\\22", '"\\', "[" * 300, "(" * 300, "tensor<" * 60]


def mutated(rng: Random, text: str, others: Sequence[str], words: Sequence[str]) -> str:
    """Return `text` after one to six changes."""
    tokens = TOKEN.findall(text)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4, 6))):
        if not tokens:
            break
        _change(rng, tokens, others, words)
    return "".join(tokens)


def _change(rng: Random, tokens: list[str], others: Sequence[str], words: Sequence[str]) -> None:
    """Change a list of tokens in place."""
    i, j = rng.randrange(len(tokens)), rng.randrange(len(tokens))
    match rng.choice((*("everywhere",) * 8, *("alike",) * 6, *("digit",) * 4, "replace", *CHANGES)):
        case "everywhere":
            old, new = tokens[i], _alike(rng, tokens[i], (*tokens, *words, *NUMBERS))
            tokens[:] = [new if token == old else token for token in tokens]
        case "alike":
            tokens[i] = _alike(rng, tokens[i], (*tokens, *words, *NUMBERS))
        case "replace":
            tokens[i] = _word(rng, tokens, words)
        case "delete":
            del tokens[i : i + rng.choice((1, 1, 1, 2, 5, 20))]
        case "insert":
            tokens.insert(i, _word(rng, tokens, words))
        case "swap":
            tokens[i], tokens[j] = tokens[j], tokens[i]
        case "cut":
            del tokens[i + 1 :]
        case "repeat":
            a, b = sorted((i, min(j, i + 30)))
            tokens[a:a] = tokens[a:b]
        case "move":
            a, b = _line(tokens, i)
            line = tokens[a:b]
            del tokens[a:b]
            tokens[_line(tokens, j)[0] : 0] = line
        case "splice":
            other = TOKEN.findall(rng.choice(others))
            a, b = _line(other, rng.randrange(len(other))) if other else (0, 0)
            tokens[_line(tokens, i)[0] : 0] = other[a:b]
        case _:
            tokens[i] = re.sub(r"\d+", lambda m: str(max(0, int(m[0][:18]) + rng.choice((-1, 1, 2, 7)))), tokens[i])


def _alike(rng: Random, token: str, words: Sequence[str]) -> str:
    """Return a word of the sort of `token`: a value for a value, an op for an op, so that most of the text still parses."""
    if token.isspace() or (sort := _sort(token)) in PUNCTUATION:
        return token
    if sort == "dimensions" and rng.random() < 0.6:
        parts = token.split("x")
        parts[rng.randrange(len(parts))] = rng.choice((*SIZES, *parts))
        return "x".join(parts)
    return rng.choice([word for word in words if word != token and _sort(word) == sort] or [token])


def _sort(word: str) -> str:
    """Return what a word could be exchanged for."""
    if re.fullmatch(r"-?[\d.]+(e[+-]?\d+)?|nan|-?inf", word):
        return "number"
    if re.fullmatch(r"(\d+|\?)(x(\d+|\?))*x\w+", word):
        return "dimensions"
    if re.fullmatch(r"(bf|f|i|si|ui|cf)\d+|f8\w+|index", word, re.IGNORECASE):
        return "element type"
    if "." in word and word[0].isalpha():
        return word.partition(".")[0]
    return "name" if word[0].isalpha() else word[0]


def _word(rng: Random, tokens: Sequence[str], words: Sequence[str]) -> str:
    """Return a word from anywhere."""
    return rng.choice(rng.choice((tokens, tokens, words, words, NUMBERS, PUNCTUATION, ODD)))


def _line(tokens: Sequence[str], i: int) -> tuple[int, int]:
    """Return where the line around token `i` begins and ends."""
    a = b = min(i, len(tokens))
    while a and "\n" not in tokens[a - 1]:
        a -= 1
    while b < len(tokens) and "\n" not in tokens[b]:
        b += 1
    return a, min(b + 1, len(tokens))


def mutated_bytes(rng: Random, data: bytes, *, changes: int = 4) -> bytes:
    """Return `data` with some bytes changed, cut off, left out, repeated, or set to extremes."""
    found = bytearray(data)
    for _ in range(rng.randint(1, changes)):
        if not found:
            break
        i = rng.randrange(len(found))
        match rng.choice(("bit", "byte", "extreme", "extreme", "cut", "delete", "repeat", "number")):
            case "bit":
                found[i] ^= 1 << rng.randrange(8)
            case "byte":
                found[i] = rng.randrange(256)
            case "extreme":
                width = rng.choice((1, 2, 4, 8))
                found[i : i + width] = rng.choice((0, 1, (1 << 8 * width) - 1, 1 << 8 * width - 1)).to_bytes(width, "little")
            case "cut":
                del found[i:]
            case "delete":
                del found[i : i + rng.randint(1, 8)]
            case "repeat":
                found[i:i] = found[i : i + rng.randint(1, 40)]
            case _:
                digits = [k for k, byte in enumerate(found) if 48 <= byte < 58]
                if digits:
                    found[rng.choice(digits)] = rng.choice(b"0123456789-.e[")
    return bytes(found)
