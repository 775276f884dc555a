"""Adapters of packages that live in environments of their own: what each hands over, with the package planted; and, by
hand, the packages themselves against published ids."""

from __future__ import annotations

import gzip
import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sentencepiece
from tokassay.corpora.fetch import fetch_file, find_entry
from tokassay.engines.client import Host
from tokassay.engines.environments import install
from tokassay.engines.frames import Ids
from tokassay.engines.roster import ROSTER, load_roster
from tokassay.harness import known
from tokassay.harness.engine_check import check

from tests.engines.conftest import PATTERN, contract

QWEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
Load = Callable[..., Any]


class Unsupported(Exception):
    """What the host puts into an adapter's module."""


@pytest.fixture
def adapter(monkeypatch: pytest.MonkeyPatch) -> Load:
    """An adapter by its file's name, its package planted: modules by their names."""

    def load(name: str, **planted: Any) -> Any:
        for module, members in planted.items():
            made = ModuleType(module.replace("__", "."))
            made.__dict__.update(members)
            monkeypatch.setitem(sys.modules, made.__name__, made)
        path = ROSTER.parent / "adapters" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(f"planted_{name}", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        module.__dict__["Unsupported"] = Unsupported
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small SentencePiece model of BPE with byte fallback."""
    folder = tmp_path_factory.mktemp("sp")
    text = folder / "text.txt"
    text.write_text("\n".join(f"hello world number {n} and some more" for n in range(200)), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(text), model_prefix=str(folder / "small"), vocab_size=320, model_type="bpe", byte_fallback=True,
        normalization_rule_name="identity", minloglevel=2,
    )  # fmt: skip
    return folder / "small.model"


def pieces_package() -> dict[str, Any]:
    """pyonmttok as its description has it: a tokenizer that gives pieces, and a Vocab that counts them up."""

    class Tokenizer:
        def __init__(self, path: str) -> None:
            self.processor = sentencepiece.SentencePieceProcessor(model_file=path)

        def __call__(self, text: str, training: bool = True) -> list[str]:
            assert not training  # it would sample pieces
            return list(self.processor.encode(text, out_type=str))

    class Vocab(dict[str, int]):
        default_id = -1

        def __init__(self, special_tokens: list[str]) -> None:
            super().__init__((token, number) for number, token in enumerate(dict.fromkeys(special_tokens)))

        def __call__(self, tokens: list[str]) -> list[int]:
            return [self.get(token, self.default_id) for token in tokens]

    return {"SentencePieceTokenizer": Tokenizer, "Vocab": Vocab, "__version__": "0"}


def test_pieces_have_the_ids_of_the_models_pieces(adapter: Load, model: Path) -> None:
    """Read from the model file without a library; held to SentencePiece's own list and ids."""
    module = adapter("pyonmttok", pyonmttok=pieces_package())
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    read = [piece for piece, _ in module.model_pieces(model.read_bytes())]
    assert read == [processor.id_to_piece(number) for number in range(processor.get_piece_size())]
    engine = module.Adapter()
    engine.load(contract(algorithm="opaque"), {"source": str(model)}, 1, {})
    assert engine.ids.default_id == processor.unk_id() == 0
    for text in ("hello world", "", " a", "\u4e2d\u6587 <s> \n", "more numbers"):
        assert engine.encode(text) == processor.encode(text)


def test_a_model_whose_pieces_do_not_tell_ids_is_refused(adapter: Load, model: Path, tmp_path: Path) -> None:
    module = adapter("pyonmttok", pyonmttok=pieces_package())
    (tmp_path / "text.json").write_text("{}", encoding="utf-8")
    for path, said in ((tmp_path / "text.json", "SentencePiece models only"), (tmp_path / "no", "models only")):
        with pytest.raises(Unsupported, match=said):
            module.Adapter().load(contract(algorithm="opaque"), {"source": str(path)}, 1, {})
    module.model_pieces = lambda _: [("a", 1), ("a", 1)]
    with pytest.raises(Unsupported, match="one text"):
        module.Adapter().load(contract(algorithm="opaque"), {"source": str(model)}, 1, {})


def test_bpe_qwens_module_is_loaded_without_its_package(
    adapter: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package imports what it does not declare; a folder of its three files is what the module reads."""
    package = tmp_path / "bpe_qwen"
    package.mkdir()
    (package / "__init__.py").write_text("import transformers_that_nobody_has\n", encoding="utf-8")
    (package / "bpe_qwen.py").write_text(
        "import os\n\n\nclass QwenTokenizer:\n    def __init__(self, folder):\n"
        "        self.read = {name: open(os.path.join(folder, name)).read() for name in sorted(os.listdir(folder))}\n"
        "    def encode(self, text):\n        return []\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    for name, text in (("encoder.json", '{"a": 0}'), ("vocab.bpe", "#version: 0.2\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = {name: str(tmp_path / name) for name in ("encoder.json", "vocab.bpe")}
    options = load_roster()["bpe-qwen"].options
    assert options["pretokenizer"] == [QWEN]
    qwen = contract(pretokenizer=[QWEN], normalizer="nfc")
    module = adapter("bpe_qwen")
    engine = module.Adapter()
    engine.load(qwen, files, 1, options)
    assert engine.tokenizer.read == {"vocab.json": '{"a": 0}', "merges.txt": "#version: 0.2\n"}
    engine.load({**qwen, "specials": "on", "special_tokens": [["<|x|>", 7]]}, files, 1, options)
    assert engine.tokenizer.read["tokenizer_config.json"] == '{"added_tokens_decoder": {"7": {"content": "<|x|>"}}}'
    for changes, said in (({"normalizer": "none"}, "NFC"), ({"pretokenizer": [PATTERN]}, "Qwen's pattern")):
        with pytest.raises(Unsupported, match=said):
            engine.load({**qwen, **changes}, files, 1, options)
    with pytest.raises(Unsupported, match="merges"):
        engine.load(qwen, {}, 1, options)


def bling(calls: list[Any]) -> dict[str, Any]:
    """blingfire: what it is called with, and the bytes of a text as ids."""

    def text_to_ids(handle: str, text: str, most: int, unknown: int, no_padding: bool) -> Any:
        assert no_padding and most > len(text.encode())
        return np.frombuffer(bytes(text.encode()), np.uint8).astype(np.uint32)

    def spans(handle: str, data: bytes, most: int, unknown: int, no_padding: bool) -> Any:
        return np.array([5, 6]), np.array([-1, 3]), np.array([2, 4])

    def load_model(path: str) -> str:
        calls.append(Path(path).name)
        return Path(path).name

    return {
        "__file__": "/nowhere/blingfire/__init__.py", "load_model": load_model, "text_to_ids": text_to_ids,
        "utf8text_to_ids_with_offsets": spans,
        "change_settings_dummy_prefix": lambda handle, add: calls.append((handle, add)),
    }


def test_blingfire_serves_what_its_models_are_compiled_from(adapter: Load) -> None:
    """By the digest of the vocabulary: a contract of the same pattern over other tokens is refused."""
    calls: list[Any] = []
    options = load_roster()["blingfire"].options
    engine = adapter("blingfire", blingfire=bling(calls)).Adapter()
    gpt2 = contract(vocabulary=options["models"]["gpt2.bin"]["contract"]["vocabulary"])
    engine.load(gpt2, {}, 1, options)
    assert calls == ["gpt2.bin", "gpt2.i2w", ("gpt2.bin", False)]
    assert engine.documents_list(engine.prepare("h\u00e9".encode())) == [104, 0xC3, 0xA9]
    assert engine.offsets(engine.prepare(b"hello")) == [(0, 3), (3, 5)]
    for other in ({"vocabulary": "00"}, {"pretokenizer": [QWEN]}, {"normalizer": "nfc"}):
        with pytest.raises(Unsupported, match=r"gpt2\.bin"):
            engine.load({**gpt2, **other}, {}, 1, options)


def test_the_tables_of_c_bpe_are_unpacked_whole_or_not_at_all(adapter: Load, tmp_path: Path) -> None:
    module = adapter("c_bpe", c_bpe={}, c_bpe__openai={"__file__": str(tmp_path / "openai.py")})
    table = tmp_path / "precomputed_toy.bin"
    (tmp_path / "precomputed_toy.bin.gz").write_bytes(gzip.compress(b"table"))
    module.unpack(table)
    assert table.read_bytes() == b"table" and sorted(path.name for path in tmp_path.iterdir()) == [
        "precomputed_toy.bin", "precomputed_toy.bin.gz",
    ]
    table.write_bytes(b"another's")
    module.unpack(table)
    assert table.read_bytes() == b"another's"
    (tmp_path / "precomputed_no.bin.gz").write_bytes(b"cut")
    with pytest.raises(OSError, match="gzip"):
        module.unpack(tmp_path / "precomputed_no.bin")
    assert not (tmp_path / "precomputed_no.bin").exists()


def test_mistral_common_reads_the_file_that_was_given(adapter: Load, tmp_path: Path) -> None:
    class Reader:
        def __init__(self, path: str, tokenizer_version: str = "") -> None:
            if Path(path).suffix != ".model":
                raise RuntimeError("not a model")

        @classmethod
        def from_file(cls, path: str) -> str:
            return {"tekken.json": "tekken"}[Path(path).name]

        def encode(self, text: str, bos: bool, eos: bool) -> list[int]:
            return [int(bos), int(eos)]

    tokens = "mistral_common__tokens__tokenizers__"
    module = adapter(
        "mistral_common",
        **{
            "mistral_common": {}, "mistral_common__tokens": {}, tokens.removesuffix("__"): {},
            f"{tokens}base": {"TokenizerVersion": SimpleNamespace(v1="v1")},
            f"{tokens}sentencepiece": {"SentencePieceTokenizer": Reader}, f"{tokens}tekken": {"Tekkenizer": Reader},
        },
    )
    engine = module.Adapter()
    engine.load(contract(), {"source": "tekken.json"}, 1, {})
    assert engine.tokenizer == "tekken"
    engine.load(contract(algorithm="opaque"), {"source": "x.model"}, 1, {})
    assert engine.encode("text") == [0, 0]  # neither a beginning nor an end
    for algorithm, source in (("bpe-ranks", "ranks.tiktoken"), ("opaque", "tokenizer.json")):
        with pytest.raises(Unsupported, match="tekken files and SentencePiece models only"):
            engine.load(contract(algorithm=algorithm), {"source": source}, 1, {})


def test_youtokentome_reads_its_own_models_only(adapter: Load, model: Path, tmp_path: Path) -> None:
    module = adapter("youtokentome", youtokentome={"BPE": lambda model, n_threads: SimpleNamespace(encode=list)})
    with pytest.raises(Unsupported, match="its own trainer"):
        module.Adapter().load(contract(algorithm="opaque"), {"source": str(model)}, 1, {})
    own = tmp_path / "own.model"
    own.write_text("2 0\n97 4\n9601 5\n1 0 2 3\n", encoding="utf-8")
    engine = module.Adapter()
    engine.load(contract(algorithm="opaque"), {"source": str(own)}, 2, {})
    with pytest.raises(Unsupported, match="was started with 2 threads"):
        engine.encode_batch(["a"], 3)


# ---- the packages themselves (run by hand, or `nox -s network`)

# And the vocabulary that has to be fetched, where the embedded ones are not served.
CHECKED = {
    "c-bpe": "", "tokendagger": "", "nanotok": "", "bpe-qwen": "qwen", "mistral-common": "tekken", "blingfire": "",
}  # fmt: skip


@pytest.mark.network
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", CHECKED)
def test_it_installs_and_gives_published_ids(name: str) -> None:
    spec = load_roster()[name]
    install(spec)
    if encoding := CHECKED[name] and known.find(CHECKED[name]):
        fetch_file(find_entry(encoding.catalog))
    found = check(spec)
    assert found.verified, found.note()


@pytest.mark.network
@pytest.mark.timeout(900)
def test_pyonmttok_gives_sentencepieces_ids_of_a_model(model: Path) -> None:
    spec = load_roster()["pyonmttok"]
    documents = [b"hello world", b"", "number 12 \u4e2d".encode(), b"more\nlines"]
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    with Host(spec, install(spec).interpreter) as host:
        host.load(contract(algorithm="opaque"), {"source": str(model)})
        for operation in spec.operations:
            output = host.encode(documents, operation).output
            assert isinstance(output, Ids)
            assert output.rows() == [processor.encode(document) for document in documents]


def merged(text: str, rows: list[list[int]]) -> list[int]:
    """A text of one word by a model's own lines: (character, id) and then (left, right, made), the first rule first."""
    (characters, rules), lines = rows[0], rows[1:]
    ids = dict(lines[:characters])  # type: ignore[arg-type]
    made = [ids[ord(character)] for character in text]
    for left, right, result in lines[characters : characters + rules]:
        at = 0
        while at < len(made) - 1:
            if made[at : at + 2] == [left, right]:
                made[at : at + 2] = [result]
            at += 1
    return made


@pytest.mark.network
@pytest.mark.timeout(900)
def test_youtokentome_merges_by_the_rules_of_its_model(tmp_path: Path) -> None:
    spec = load_roster()["youtokentome"]
    python = install(spec).interpreter
    (tmp_path / "text.txt").write_text("hello world hello there\n" * 50, encoding="utf-8")
    train = "import sys, youtokentome; youtokentome.BPE.train(sys.argv[1], sys.argv[2], 30, n_threads=1)"
    made = str(tmp_path / "own.model")
    subprocess.run([str(python), "-c", train, str(tmp_path / "text.txt"), made], check=True, capture_output=True)
    rows = [[int(each) for each in line.split()] for line in Path(made).read_text("utf-8").splitlines()]
    with Host(spec, python) as host:
        host.load(contract(algorithm="opaque"), {"source": made})
        output = host.encode([b"hello", b"there", b"", b"\xff"]).output
    assert isinstance(output, Ids)
    assert output.rows() == [merged("\u2581hello", rows), merged("\u2581there", rows), [], []]
    assert [bool(status) for status in output.status] == [False, False, False, True]
