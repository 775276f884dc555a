"""WordPiece vocabularies: BERT's `vocab.txt`, and a tokenizer.json whose model is WordPiece.

A `vocab.txt` has a token a line and says no more: whether text is lower-cased is asked for, never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tokassay.harness.contract import WORDPIECE
from tokassay.harness.errors import InputError
from tokassay.harness.hf_added import read_added
from tokassay.harness.hf_stages import flatten
from tokassay.harness.parsed import Parsed, check_id
from tokassay.harness.vocab_gpt2 import REFETCH, read_ids
from tokassay.harness.vocabulary import Settled, Vocabulary

# The published rule (google-research/bert, tokenization.py) and the one that tokenizers has, as words for --pattern.
RULES = {
    "bert-uncased": "clean+cjk-spaces+lowercase+strip-accents", "bert-cased": "clean+cjk-spaces",
    "tokenizers-uncased": "clean-private+cjk-spaces+strip-accents+lowercase-each",
    "tokenizers-cased": "clean-private+cjk-spaces",
}  # fmt: skip
UNKNOWN, PREFIX = "[UNK]", "##"
# What tokenizers, transformers and tensorflow-text take; the first release of BERT's code had 200.
MAX_WORD_CHARS = 100

_PUNCTUATION = r"!-/:-@\[-`{-~\p{P}"
# UTS #18's \w: letters, marks, decimal and letter numbers, connectors, and what is Alphabetic or Join_Control besides.
_WORD = (
    r"\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\u200c\u200d\u24b6-\u24e9"
    "\U0001f130-\U0001f149\U0001f150-\U0001f169\U0001f170-\U0001f189"
)
BERT_WORDS = rf"[{_PUNCTUATION}]|[^\s{_PUNCTUATION}]+"
# How a tokenizer.json calls what cuts words out, and what that is as an expression whose gaps are dropped.
WORDS = {
    "BertPreTokenizer": BERT_WORDS,
    "Whitespace": rf"[{_WORD}]+|[^{_WORD}\s]+",
    "WhitespaceSplit": r"[^\s]+",
}
# The options of a BertNormalizer, in the order in which tokenizers carries them out, and their steps.
OPTIONS = (
    ("clean_text", "clean-private"), ("handle_chinese_chars", "cjk-spaces"), ("strip_accents", "strip-accents"),
    ("lowercase", "lowercase-each"),
)  # fmt: skip
MODEL_KEYS = {"type", "vocab", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word"}


def is_lines(data: bytes) -> bool:
    """Whether this is a vocab.txt: one of its lines is the unknown token."""
    return f"\n{UNKNOWN}\n" in f"\n{data[: 1 << 20].decode('utf-8', 'replace')}\n".replace("\r\n", "\n")


def parse(data: bytes, where: str, *, rule: str | None, specials: Mapping[str, int] | None) -> Parsed:
    """A vocab.txt under a rule of RULES; `specials` are texts of the file with their ids. Raises InputError."""
    if rule not in RULES:
        raise InputError(
            "a vocab.txt does not say whether text is lower-cased" if rule is None else f"no rule is called {rule!r}",
            where=where, remedy=f"give --pattern {' or '.join(RULES)}",
        )
    table: dict[str, int] = {}
    repeated = 0
    for number, line in enumerate(_lines(data, where)):
        repeated += line in table
        table[line] = number  # as in the published reader, the last of two equal lines counts
    table.pop("", None)
    if UNKNOWN not in table:
        raise InputError(f"no line is {UNKNOWN}", where=where, remedy="give the vocab.txt of a BERT model")
    for text, number in (specials or {}).items():
        if table.get(text) != number:
            raise InputError(
                f"special token {text!r} has id {table.get(text)} in the file, and not {number}", where=where,
                remedy="correct --specials",
            )
    named = dict(specials or {})
    parsed = Parsed(
        _settled(table, named | {UNKNOWN: table[UNKNOWN]}), normalizer=RULES[rule], pretokenizer=(BERT_WORDS,),
        special_tokens=tuple(sorted(named.items(), key=lambda row: (row[1], row[0]))), unknown=table[UNKNOWN],
        continuing_prefix=PREFIX, max_word_chars=MAX_WORD_CHARS, gaps="dropped", byte_policy="replace",
    )
    if specials is None:
        parsed.notes.append("a vocab.txt names no special tokens: none are known; give --specials to name them")
    if repeated:
        parsed.notes.append(f"{repeated} lines are repeated: the last of equal lines counts, the others' ids are dead")
    return parsed


def _lines(data: bytes, where: str) -> list[str]:
    """The tokens; not by splitlines, which cuts at characters that are tokens."""
    try:
        lines = data.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError("not UTF-8", where=f"{where}:{line}", remedy=REFETCH) from None
    return [line.strip() for line in (lines[:-1] if lines[-1] == "" else lines)]


def _settled(table: Mapping[str, int], texts: Mapping[str, int]) -> Settled:
    tokens = {text.encode("utf-8"): number for text, number in table.items() if text not in texts}
    return Settled(Vocabulary(tokens, None, dict(texts)), WORDPIECE, False)


def parse_json(root: dict[str, Any], model: dict[str, Any], where: str, parsed: Parsed) -> Parsed:
    """The stages of a tokenizer.json whose model is WordPiece, into `parsed`. Raises InputError with the JSON path."""
    parsed.normalizer, reasons = _normalizer(root.get("normalizer"))
    parsed.unmodelled += reasons
    parsed.pretokenizer, reasons = _words(root.get("pre_tokenizer"))
    parsed.unmodelled += reasons
    parsed.unmodelled += [f"model.{key}: unknown option" for key in sorted(set(model) - MODEL_KEYS)]
    table = read_ids(model.get("vocab"), f"{where}: model.vocab")
    unknown = model.get("unk_token")
    if not isinstance(unknown, str) or unknown not in table:
        parsed.unmodelled.append(f"model.unk_token: {unknown!r} is no token")
    added = read_added(root.get("added_tokens"), table, parsed.normalizer, where)
    parsed.notes += added.notes
    parsed.unmodelled += added.unmodelled
    limit = model.get("max_input_chars_per_word", MAX_WORD_CHARS)
    prefix = model.get("continuing_subword_prefix", PREFIX)
    if not isinstance(prefix, str) or not prefix or not prefix.isprintable():
        parsed.unmodelled.append(f"model.continuing_subword_prefix: {prefix!r}")
    if any("\n" in text for text in table):
        parsed.unmodelled.append("model.vocab: a token holds a line feed")
    if parsed.unmodelled:
        return parsed
    texts = added.texts()
    parsed.settled = _settled(table, texts | {str(unknown): table[str(unknown)]})
    parsed.special_tokens, parsed.added_tokens = added.specials, added.others
    parsed.unknown = table[str(unknown)]
    parsed.max_word_chars = check_id(limit, f"{where}: model.max_input_chars_per_word")
    parsed.continuing_prefix, parsed.gaps, parsed.byte_policy = str(prefix), "dropped", "replace"
    return parsed


def _normalizer(stage: Any) -> tuple[str, list[str]]:
    stages = flatten(stage, "normalizers", "normalizer")
    steps: list[str] = []
    reasons: list[str] = []
    for path, row in stages:
        if row.get("type") == "Lowercase":
            steps.append("lowercase-each")
        elif row.get("type") == "BertNormalizer":
            options = {name: row.get(name, None if name == "strip_accents" else True) for name, _ in OPTIONS}
            if options["strip_accents"] is None:
                options["strip_accents"] = options["lowercase"]  # left open, accents go where text is lower-cased
            steps += [step for name, step in OPTIONS if options[name]]
        else:
            reasons.append(f"{path}: {row.get('type')}")
    return "+".join(steps) or "none", reasons


def _words(stage: Any) -> tuple[tuple[str, ...], list[str]]:
    stages = flatten(stage, "pretokenizers", "pre_tokenizer")
    if len(stages) != 1:
        return (), [f"pre_tokenizer: {len(stages)} stages before WordPiece"]
    kind = stages[0][1].get("type")
    return ((WORDS[kind],), []) if kind in WORDS else ((), [f"{stages[0][0]}: {kind}"])


# Steps that engines take for one another.
_LIKE = (("clean", "clean-private", "clean-other"), ("lowercase", "lowercase-each"))


def near(normalizer: str) -> tuple[str, ...]:
    """Normalizers that engines have in the place of this one: a step left out or taken for its like, and the order of
    tokenizers."""
    steps = () if normalizer == "none" else tuple(normalizer.split("+"))
    found: list[tuple[str, ...]] = []
    for n, step in enumerate(steps):
        like = next((group for group in _LIKE if step in group), ())
        found += [(*steps[:n], other, *steps[n + 1 :]) for other in like if other != step]
    kinds = {next((n for n, group in enumerate(_LIKE) if step in group), step) for step in steps}
    found.append(tuple(step for _, step in OPTIONS if {step, *(n for n, g in enumerate(_LIKE) if step in g)} & kinds))
    found += [steps[:n] + steps[n + 1 :] for n in range(len(steps))]
    return tuple(dict.fromkeys("+".join(each) or "none" for each in found if each != steps))


def tokenizer_json_stages(normalizer: str, pretokenizer: tuple[str, ...]) -> tuple[Any, Any] | None:
    """The stages that say these in a tokenizer.json, or None. There is one order of the steps, and one way to clean and
    to lower-case: engines are handed BERT's normalizer, as its publishers hand it, and held to the contract."""
    splitter = next((kind for kind, words in WORDS.items() if (words,) == pretokenizer), None)
    if splitter is None:
        return None
    steps = () if normalizer == "none" else tuple(normalizer.split("+"))
    own = {"clean": "clean_text", "lowercase": "lowercase"} | {step: name for name, step in OPTIONS}
    if not set(steps) <= set(own):
        return None
    if not steps:
        return None, {"type": splitter}
    asked = {own[step] for step in steps}
    return {"type": "BertNormalizer"} | {name: name in asked for name, _ in OPTIONS}, {"type": splitter}
