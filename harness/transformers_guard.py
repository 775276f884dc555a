"""What the files of a `transformers` tokenizer say besides the ids of plain text, read without importing it.

A folder has tokenizer.json, tokenizer_config.json, special_tokens_map.json, generation_config.json and chat templates.
What they say is made flat, name -> value, so that two readings are compared name by name. The limits are in
docs/GUARD.md: this is what the files state, and the code of a tokenizer's class may do otherwise.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from tokassay.harness.contract import canonical_json
from tokassay.harness.errors import InputError

Settings = dict[str, Any]
ROLES = ("bos", "eos", "pad", "unk", "cls", "sep", "mask")
# Fields of tokenizer_config.json that change ids, their number, or the text that they are decoded to.
CONFIG = (
    "tokenizer_class", "add_bos_token", "add_eos_token", "add_prefix_space", "clean_up_tokenization_spaces",
    "model_max_length", "padding_side", "truncation_side", "legacy", "split_special_tokens",
    "spaces_between_special_tokens", "use_default_system_prompt", "do_lower_case", "strip_accents",
    "tokenize_chinese_chars", "sp_model_kwargs", "additional_special_tokens",
)
GENERATION = ("bos_token_id", "eos_token_id", "pad_token_id")
# Parts of tokenizer.json that are told by their digest, with the words for them.
STAGES = ("normalizer", "pre_tokenizer", "decoder", "truncation", "padding")
# What a changed setting does, by the setting's name: told behind the values.
EFFECTS = {
    "bos_token": "another token begins a text, where one is put there",
    "eos_token": "another token ends a text, and generation",
    "pad_token": "another token fills up a batch",
    "unk_token": "another token stands for what is not known",
    "add_bos_token": "whether a text begins with BOS",
    "add_eos_token": "whether a text ends with EOS",
    "add_prefix_space": "whether a space is put before a text",
    "clean_up_tokenization_spaces": "whether decoded text loses spaces before punctuation",
    "model_max_length": "where texts are cut",
    "padding_side": "on which side a batch is filled up",
    "truncation_side": "which end of a long text is cut off",
    "chat_template": "prompts are built otherwise",
    "ids put around a text": "every text that is encoded with special tokens has other ids",
    "eos_token_id": "generation stops at other ids",
    "tokenizer_class": "transformers runs other code, which may change all else",
    "split_special_tokens": "whether the text of special tokens is ordinary text",
}
FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
MOST = 1 << 30
SHOWN = 160


@dataclass(frozen=True)
class Change:
    """A setting that is another one: its name, both values (None: not stated), and a sentence."""

    name: str
    frozen: Any
    now: Any
    sentence: str

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "frozen": self.frozen, "now": self.now, "sentence": self.sentence}


def read_settings(path: Path, form: str) -> Settings | None:
    """The settings of the folder in which the vocabulary file `path` of the format `form` lies; None where nothing
    states any. Raises InputError for a file that is not what its name says."""
    folder = path.parent
    found: Settings = {}
    root: Any = {}
    if form == "tokenizer.json":
        root = _json(path)
        found |= _of_tokenizer(root)
    elif form != "sentencepiece":
        return None  # its folder is the cache's, or nobody's
    config = _json(folder / "tokenizer_config.json")
    mapped = _json(folder / "special_tokens_map.json")
    ids = _ids(root, config)
    for role in ROLES:
        name = f"{role}_token"
        for source, origin in ((config, "tokenizer_config.json"), (mapped, "special_tokens_map.json")):
            if name in source:
                found[f"{origin}: {name}"] = _token(source[name], ids)
    found |= {f"tokenizer_config.json: {name}": config[name] for name in CONFIG if name in config}
    if "additional_special_tokens" in mapped:
        listed = mapped["additional_special_tokens"]
        found["special_tokens_map.json: additional_special_tokens"] = [_token(one, ids) for one in listed or []]
    for number, row in sorted(_decoder(config).items()):
        found[f"tokenizer_config.json: added token {number}"] = row
    generation = _json(folder / "generation_config.json")
    found |= {f"generation_config.json: {name}": generation[name] for name in GENERATION if name in generation}
    found |= _templates(folder, config)
    return found or None


def compare(frozen: Mapping[str, Any], now: Mapping[str, Any]) -> list[Change]:
    """Every setting that is not as it was, in the order of the names."""
    names = sorted({*frozen, *now})
    return [
        Change(name, frozen.get(name), now.get(name), _sentence(name, frozen, now) + _effect(name))
        for name in names
        if (name in frozen) != (name in now) or canonical_json(frozen.get(name)) != canonical_json(now.get(name))
    ]


def _sentence(name: str, frozen: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    if name not in now:
        return f"{name} was {_shown(frozen[name])} and is no longer stated"
    if name not in frozen:
        return f"{name} is new: {_shown(now[name])}"
    old, new = frozen[name], now[name]
    if isinstance(old, dict) and isinstance(new, dict):
        parts = [
            f"{key} was {_shown(old.get(key))} and is {_shown(new.get(key))}"
            for key in sorted({*old, *new})
            if old.get(key) != new.get(key)
        ]
        return f"{name}: {'; '.join(parts)}"
    return f"{name} was {_shown(old)} and is {_shown(new)}"


def _effect(name: str) -> str:
    """What a change of this setting does, in brackets; "" where the values say it."""
    found = EFFECTS.get(name.partition(": ")[2])
    return f" ({found})" if found else ""


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text):,} characters)"


# -- tokenizer.json -----------------------------------------------------------------------------------------


def added_tokens(path: Path) -> list[dict[str, Any]]:
    """The rows of `added_tokens` that have a text and an id."""
    rows = _json(path).get("added_tokens") or []
    return [row for row in rows if isinstance(row, dict) and isinstance(row.get("content"), str) and "id" in row]


@lru_cache(maxsize=4)
def _names(path: Path, stamp: tuple[int, int]) -> dict[int, str]:
    root = _json(path)
    model = root.get("model") if isinstance(root.get("model"), dict) else {}
    table = (model or {}).get("vocab")
    found: dict[int, str] = {}
    if isinstance(table, dict):
        found = {number: text for text, number in table.items() if isinstance(number, int)}
    elif isinstance(table, list):  # Unigram: [text, score] by id
        found = {number: str(row[0]) for number, row in enumerate(table) if isinstance(row, list) and row}
    return found | {row["id"]: row["content"] for row in added_tokens(path) if isinstance(row["id"], int)}


def token_text(path: Path, form: str, number: int) -> str | None:
    """How a tokenizer.json writes a token; None where it is another format, or has no such id."""
    if form != "tokenizer.json":
        return None
    found = path.stat()
    return _names(path, (found.st_mtime_ns, found.st_size)).get(number)


def _of_tokenizer(root: Mapping[str, Any]) -> Settings:
    found: Settings = {}
    for row in root.get("added_tokens") or []:
        if isinstance(row, dict) and "id" in row:
            found[f"tokenizer.json: added token {row['id']}"] = _added(row)
    for name in STAGES:
        stage = root.get(name)
        found[f"tokenizer.json: {name}"] = None if stage is None else _digest(stage)
    model = root.get("model")
    if isinstance(model, dict):
        options = {key: value for key, value in model.items() if key not in ("vocab", "merges")}
        found |= {f"tokenizer.json: model.{key}": value for key, value in options.items()}
        for key in ("vocab", "merges"):
            if model.get(key) is not None:
                # Newer libraries write a merge as two texts, older ones as one with a space between.
                value = model[key]
                if key == "merges" and isinstance(value, list):
                    value = [row.split(" ") if isinstance(row, str) else row for row in value]
                found[f"tokenizer.json: model.{key}"] = {"entries": len(value), "sha256": _sha(value)}
    found["tokenizer.json: ids put around a text"] = around(root.get("post_processor"))
    return found


def around(stage: Any) -> dict[str, Any]:
    """The effect of a post-processor on ids: what it puts before and after one text, and around a pair of texts.

    `single` and `pair` are lists of ids, with "A" and "B" for the texts. A kind that is not known is told by its
    digest.
    """
    stages = [] if stage is None else stage.get("processors", []) if stage.get("type") == "Sequence" else [stage]
    made: dict[str, Any] = {"single": ["A"], "pair": ["A", "B"]}
    for row in stages:
        kind = row.get("type")
        if kind == "ByteLevel":
            continue  # it moves offsets
        if kind == "TemplateProcessing":
            made = {name: _template(row.get(name), row.get("special_tokens") or {}) for name in ("single", "pair")}
        elif kind in ("BertProcessing", "RobertaProcessing"):
            sep, cls = ((row.get(name) or [None, None])[1] for name in ("sep", "cls"))
            twice = [sep, sep] if kind == "RobertaProcessing" else [sep]
            made = {"single": [cls, "A", sep], "pair": [cls, "A", *twice, "B", sep]}
        else:
            made["not known"] = [*made.get("not known", []), _digest(row)]
    return made


def _template(pieces: Any, specials: Mapping[str, Any]) -> list[Any]:
    made: list[Any] = []
    for piece in pieces or []:
        if "Sequence" in piece:
            made.append(piece["Sequence"].get("id"))
        elif "SpecialToken" in piece:
            name = piece["SpecialToken"].get("id")
            made += (specials.get(name) or {}).get("ids") or [name]
    return made


def _added(row: Mapping[str, Any]) -> dict[str, Any]:
    flags = [flag for flag in FLAGS if row.get(flag, flag == "normalized" and not row.get("special"))]
    return {"content": row.get("content"), "flags": flags}


# -- the other files ----------------------------------------------------------------------------------------


def _ids(root: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, int]:
    """Text -> id of special and added tokens, and of the model's own."""
    model = root.get("model")
    table = model.get("vocab") if isinstance(model, dict) else None
    found = dict(table) if isinstance(table, dict) else {}
    for row in root.get("added_tokens") or []:
        if isinstance(row, dict) and isinstance(row.get("content"), str):
            found[row["content"]] = row.get("id")
    for number, row in _decoder(config).items():
        found.setdefault(row["content"], number)
    return {text: number for text, number in found.items() if isinstance(number, int)}


def _decoder(config: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
    rows = config.get("added_tokens_decoder")
    if not isinstance(rows, dict):
        return {}
    return {int(number): _added(row) for number, row in rows.items() if str(number).isdigit() and isinstance(row, dict)}


def _token(value: Any, ids: Mapping[str, int]) -> dict[str, Any] | None:
    """Text and id of a token that is written as a text or as an object."""
    text = value.get("content") if isinstance(value, dict) else value
    return None if text is None else {"content": text, "id": ids.get(text)}


def _templates(folder: Path, config: Mapping[str, Any]) -> Settings:
    """Digests of the chat templates, by where they stand: transformers takes the file before the field."""
    found: Settings = {}
    given = config.get("chat_template")
    if isinstance(given, str):
        found["tokenizer_config.json: chat_template"] = _text(given)
    for row in given if isinstance(given, Sequence) and not isinstance(given, str) else ():
        if isinstance(row, dict) and isinstance(row.get("template"), str):
            found[f"tokenizer_config.json: chat_template {row.get('name')}"] = _text(row["template"])
    files = [folder / "chat_template.jinja", *sorted((folder / "additional_chat_templates").glob("*.jinja"))]
    for path in files:
        if path.is_file():
            name = path.relative_to(folder).as_posix()
            found[f"{name}: chat_template"] = _text(_read(path).decode("utf-8", "replace"))
    named = _json(folder / "chat_template.json").get("chat_template")
    if isinstance(named, str):
        found["chat_template.json: chat_template"] = _text(named)
    return found


def _text(template: str) -> dict[str, Any]:
    return {"characters": len(template), "sha256": hashlib.sha256(template.encode("utf-8", "replace")).hexdigest()}


def _sha(value: Any) -> str:
    return hashlib.sha256(canonical_json(value)).hexdigest()


def _digest(stage: Any) -> dict[str, Any]:
    """A stage by its type, and by the digest of all of it."""
    kind = stage.get("type") if isinstance(stage, dict) else None
    return {"type": kind, "sha256": _sha(stage)}


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > MOST:
            raise InputError("larger than 1 GiB", where=str(path), remedy="give the tokenizer's own folder")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path), remedy="check the path") from None


def _json(path: Path) -> dict[str, Any]:
    """The object that a file holds; {} where there is no such file. Raises InputError for anything else."""
    if not path.is_file():
        return {}
    try:
        root = json.loads(_read(path).decode("utf-8-sig"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        place = f"{path}:{error.lineno}:{error.colno}" if isinstance(error, json.JSONDecodeError) else str(path)
        raise InputError(f"not JSON: {error}", where=place, remedy="restore the file") from None
    if not isinstance(root, dict):
        raise InputError("not a JSON object", where=str(path), remedy="restore the file")
    return root
