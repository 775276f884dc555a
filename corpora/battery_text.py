"""Battery families of plain text: white space, contractions, digits, case, punctuation, special tokens,
repetition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tokassay.corpora.document import Document

# Code points with the White_Space property, the same in Unicode 15.0 to 17.0 (a test compares them).
WHITE_SPACE = (
    *range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F,
    0x3000,
)  # fmt: skip
# Characters that one language or another takes for white space and that do not have the property.
NEARLY_SPACE = (0x1C, 0x1D, 0x1E, 0x1F, 0x180E, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0x3164, 0x2800)
SPECIAL_TEXTS = (
    "<|endoftext|>", "<|startoftext|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>",
    "<|endofprompt|>",
    "<|im_start|>", "<|im_end|>", "<|begin_of_text|>", "<|eot_id|>", "<|reserved_special_token_0|>", "<s>",
    "</s>",
    "[CLS]", "[INST]", "<unk>",
)  # fmt: skip


def _text(name: str, text: str, reason: str) -> Document:
    return Document(name, text.encode(), reason)


def empty() -> Iterator[Document]:
    """The document without bytes."""
    yield Document("empty", b"", "no bytes, so no ids and no crash")


def fixed_points() -> Iterator[Document]:
    """Short inputs whose ids are published for GPT-2; they make a wrong table visible at once."""
    for text in (
        "a", "ab", "hello", "Hello", "HELLO", " hello", "hello world", "a\0b", "Hello, world!",
        " Hello World", "the", " the",
    ):  # fmt: skip
        yield _text(text.replace("\0", "NUL"), text, "a short input whose ids are published for GPT-2")


def white_space() -> Iterator[Document]:
    """Every White_Space code point alone, doubled and at each kind of border."""
    for cp in (*WHITE_SPACE, *NEARLY_SPACE):
        c, u = chr(cp), f"U+{cp:04X}"
        kind = "white space" if cp in WHITE_SPACE else "looks like white space and is not"
        yield _text(f"{u} alone", c, f"{kind}, alone")
        yield _text(f"{u} doubled", c + c, f"{kind}, a run that ends the document")
        yield _text(
            f"a {u} b", f"a{c}b", f"{kind} between letters: only U+0020 may join the next word in GPT-2"
        )
        yield _text(
            f"a {u} {u} b", f"a{c}{c}b", f"{kind}: \\s+(?!\\S) gives back the last of a run before a word"
        )
        yield _text(f"{u} b", f"{c}b", f"{kind} at the start, before a letter")
        yield _text(f"a {u}", f"a{c}", f"{kind} at the end, after a letter")
        yield _text(f"space {u} b", f" {c}b", f"{kind} between a space and a letter")
        yield _text(f"a {u} space b", f"a{c} b", f"{kind}, then the space that joins the word")
        yield _text(f"a {u} 1", f"a{c}1", f"{kind} before a digit")
        yield _text(f"a {u} !", f"a{c}!", f"{kind} before punctuation")


def space_runs() -> Iterator[Document]:
    """Runs of spaces of each length, before words, digits, punctuation and the end."""
    for n in (2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 80, 81, 100, 127, 128, 129):
        run = " " * n
        yield _text(f"{n} spaces", run, "a run of spaces alone; vocabularies hold such runs up to a length")
        yield _text(
            f"{n} spaces word", run + "x", "all but the last space of a run stay together before a word"
        )
        yield _text(f"word {n} spaces", "x" + run, "trailing spaces are one run")
        yield _text(
            f"{n} spaces newline", run + "\n", "spaces before a newline: cl100k takes \\s*[\\r\\n]+ first"
        )
    for n in (1, 2, 4, 8):
        yield _text(f"{n} tabs code", "\t" * n + "return x", "indentation by tabs")
        yield _text(f"{n} spaces between digits", "1" + " " * n + "2", "a space run between digits")


def line_ends() -> Iterator[Document]:
    """Mixed line ends in every short order."""
    ends = (
        "\n", "\r", "\r\n", "\n\r", "\n\n", "\r\r", "\r\n\r\n", "\n \n", " \n", "\n ", "\t\n", "\n\t",
        "\r \n",
        " \r\n ", "\n\n\n", "\x0b\n", "\x0c\n", "\x85\n", "\u2028\n",
    )  # fmt: skip
    for end in ends:
        shown = end.encode("unicode_escape").decode()
        yield _text(
            f"alone {shown}", end, "line ends are white space; their runs differ between vocabularies"
        )
        yield _text(f"between {shown}", f"a{end}b", "line ends between words")
        yield _text(f"last {shown}", f"a.{end}", "punctuation, then a line end: o200k and cl100k join them")
        yield _text(f"slash {shown}", f"a/{end}/b", "o200k joins [\\r\\n/]* to punctuation, and only there")


def contractions() -> Iterator[Document]:
    """'s 't 're 've 'm 'll 'd in all cases, with every apostrophe, at every position."""
    suffixes = ("s", "t", "re", "ve", "m", "ll", "d")
    for suffix in suffixes:
        cases = {suffix, suffix.upper(), suffix.capitalize(), suffix[0] + suffix[1:].upper()}
        for cased in sorted(cases):
            yield _text(
                f"it'{cased}",
                f"it'{cased}",
                "a contraction; the r50k rule is lower case only, cl100k's any case",
            )
            yield _text(f"alone '{cased}", f"'{cased}", "a contraction at the start")
            yield _text(
                f"space '{cased}",
                f" '{cased}",
                "the space joins the apostrophe before the contraction is tried",
            )
            yield _text(
                f"longer '{cased}x", f"it'{cased}x", "a contraction matches although a letter follows"
            )
            yield _text(f"digit '{cased}", f"1'{cased}", "a contraction after a digit")
        for apostrophe, u in (
            ("’", "U+2019"), ("‘", "U+2018"), ("ʼ", "U+02BC"), ("＇", "U+FF07"), ("`", "U+0060"),
            ("´", "U+00B4"),
        ):  # fmt: skip
            yield _text(f"{u} {suffix}", f"it{apostrophe}{suffix}", f"{u} is not the apostrophe of the rule")
    for text in (
        "''s", "'s's", "'ll've", "y'all'd've", "'", "''", "'''", "'r", "'v", "'l", "'re'", "o'clock",
        "rock'n'roll", "'\n's", "' s", "\t's", "!'s", "!!'ll", "'1", "'é", "DON'T", "Don'T",
    ):  # fmt: skip
        yield _text(
            text.encode("unicode_escape").decode(),
            text,
            "apostrophes where the contraction rule nearly applies",
        )
    for text, reason in (
        ("it'ſ", "U+017F folds to s: a case-insensitive rule matches it, a hand-written one rarely does"),
        ("'ſ", "U+017F right after the apostrophe"),
        ("'ſt", "U+017F then a letter"),
        ("it'\u212a", "U+212A folds to k: no contraction has it"),
        ("'ſſ", "U+017F twice"),
        ("ſ", "U+017F alone"),
        ("it'İ", "U+0130 folds to two code points"),
        ("it'ı", "U+0131 dotless i"),
    ):
        yield _text(text, text, reason)


def digits() -> Iterator[Document]:
    """Digit groups: GPT-2 takes any length, cl100k at most three from the left."""
    for n in range(1, 13):
        run = ("1234567890" * 2)[:n]
        yield _text(f"{n} digits", run, "cl100k and o200k cut digits into threes from the left")
        yield _text(f"space {n} digits", " " + run, "a space joins digits in GPT-2 and not in cl100k")
        yield _text(f"word {n} digits word", f"x{run}y", "digits between letters")
        yield _text(
            f"{n} Arabic-Indic digits", "".join(chr(0x660 + int(d)) for d in run), "\\p{N} is not only ASCII"
        )
    for text in (
        "1,234,567.89", "-1", "+1", "1e10", "0x1F", "3.14", "1/2", "½", "²³", "x²", "Ⅷ", "①②", "１２３",
        "१२३४",
        "1٢३", "12½3", "1 000", "1\u00a0000", "2024-01-31T00:00:00Z", "192.168.0.1", "$100", "100%", "1st",
        "007", "𝟘𝟙𝟚𝟛", "𐄇", "৴", "〇一二",
    ):  # fmt: skip
        yield _text(text, text, "numbers of several categories and their neighbours")


def case_patterns() -> Iterator[Document]:
    """Case borders: o200k splits words where a capital follows small letters."""
    for text in (
        "camelCase", "CamelCase", "camelCaseHTTPServer", "HTTPServer", "HTTPserver", "iPhone", "McDonald",
        "XMLHttpRequest",
        "snake_case_name", "SCREAMING_CASE", "kebab-case", "Title Case Words", "aB", "Ab", "AB", "aBc", "ABc",
        "AbC", "ABC", "aBC",
        "éCole", "ÉCOLE", "École", "ñÑñ", "ЖжЖ", "ΑαΑ", "straßeSTRASSE", "ǅungla", "ǄǅǆǇǈǉ", "aǅb", "AǅB",
        "ʰA", "aʰ", "Aʰb", "日A", "a日B",
        "A日b", "ªº", "aªB", "ⅷⅧ", "Ⓐⓐ", "A\u0301B", "a\u0301B", "\u0301A", "A\u0301b", "ᾈᾳ", "Ა", "აბ", "ꭰᎠ",
        "𝐀𝐚", "A's", "ABC's", "abcDEF's",
        "camelCase's", "HTTPServer'LL", "don'tStop", "DON'Tstop", "a'B", "xY'sZ",
    ):  # fmt: skip
        yield _text(text, text, "a case border: o200k's two word rules meet here")


def punctuation() -> Iterator[Document]:
    """Every ASCII punctuation mark alone, after a space, before a letter, doubled; then mixtures."""
    for cp in (*range(0x21, 0x30), *range(0x3A, 0x41), *range(0x5B, 0x61), *range(0x7B, 0x7F)):
        c = chr(cp)
        yield _text(f"{c} alone", c, "ASCII punctuation alone")
        yield _text(f"space {c}", f" {c}", "a space joins punctuation")
        yield _text(f"{c}a", f"{c}a", "cl100k lets one non-letter join the following word")
        yield _text(f"{c}{c}{c}", c * 3, "a run of one mark")
        yield _text(f"a{c}b", f"a{c}b", "a mark inside a word")
        yield _text(f"{c}1", f"{c}1", "a mark before a digit")
        yield _text(f"{c} newline", f"{c}\n\n", "punctuation with line ends")
    for text in (
        "...", "....", "?!", "!?!?", "--", "---", "—", "“quoted”", "«guillemets»", "(a)", "[b]", "{c}", "<d>",
        "a::b", "a->b", "a=>b", "==", "!==", "/* c */", "// c", "# c", "<!-- x -->", "http://x.y/z?a=b&c=d#e",
        "me@example.org", "C:\\dir\\file", "../a/b", "a\\nb", "\\", "()", "();", "});", "\"\"\"", "'''",
        "```", "¿¡", "。、", "…", "‰", "№", "§", "©®™", "€£¥₹", "±×÷", "→", "≠", "∑", "½", "`a`", "@a", "#a",
        "_a", "__init__", "a_", "a_1", "_", "__",
    ):  # fmt: skip
        yield _text(text, text, "punctuation and symbols as they occur in prose and code")


def specials() -> Iterator[Document]:
    """Special-token text and near misses: ordinary text unless specials are on."""
    for text in SPECIAL_TEXTS:
        yield _text(
            text,
            text,
            "a special token's text alone: one id with specials on, ordinary text with specials off",
        )
        yield _text(f"a {text} b", f"a{text}b", "a special token's text inside a word")
        yield _text(f"spaces {text}", f" {text} ", "a special token's text between spaces")
        yield _text(f"twice {text}", text * 2, "two special tokens without anything between")
        yield _text(f"cut {text}", text[:-1], "a special token's text that lacks its last character")
        yield _text(f"headless {text}", text[1:], "a special token's text that lacks its first character")
    name = "<|endoftext|>"
    for k in range(1, len(name)):
        yield _text(f"prefix {k}", name[:k], "a proper prefix of a special token at the end of the document")
        yield _text(f"again {k}", name[:k] + name, "a partial match that restarts inside itself")
    for text in (
        "<|ENDOFTEXT|>", "<|endoftext |>", "<| endoftext|>", "<|endoftext|>\n", "\n<|endoftext|>",
        "\n\n<|endoftext|>\n\n", "<|endoftext|><|im_start|>", "<|<|endoftext|>|>", "<<|endoftext|>>",
        "<|endoftext|>'s", "'<|endoftext|>'", "<|endoftext|>1", "1<|endoftext|>", "＜|endoftext|＞",
        "<|endo\0ftext|>", "<|endoftext|>\ud7ff", "<|endof\u200btext|>", "<｜begin▁of▁sentence｜>",
        "<|fim_prefix|><|fim_prefix", "<|endofprompt|><|endoftext|>",
    ):  # fmt: skip
        yield _text(text.encode("unicode_escape").decode(), text, "special-token borders and near misses")


def repetition() -> Iterator[Document]:
    """One character (or short unit) repeated: long pieces, ties between equal merges, caches and stack
    limits.
    """
    for unit, what in (
        ("a", "letter"), ("aA", "case"), (" ", "space"), ("\n", "newline"), ("!", "mark"), ("0", "digit"),
        ("é", "two-byte letter"), ("日", "three-byte letter"), ("😀", "four-byte symbol"), ("ab", "pair"),
        ("the ", "word"), ("=", "rule"), ("-", "dash"), ("\t", "tab"), ("\0", "NUL"),
    ):  # fmt: skip
        for n in (8, 16, 31, 64, 127, 256, 500, 1024, 2048, 5000):
            yield _text(
                f"{what} x{n}", unit * n, "equal merges tie everywhere: the leftmost lowest rank goes first"
            )


def code() -> Iterator[Document]:
    """Small pieces of program text."""
    for text in (
        "def f(x):\n    return x + 1\n", "if (a && b) {\n\tc();\n}\n",
        "for i in range(10):\n        print(i)\n", "SELECT * FROM t WHERE a = 'b';",
        '{"a": [1, 2.5, null], "b": "\\u00e9"}', "<p class=\"x\">y</p>\n", "#include <stdio.h>\r\n",
        "x = y if z else w  # comment\n", "\n\n\n    pass\n",
        "a\tb\tc\n1\t2\t3\n", "```python\nx\n```\n", "\\begin{x} $a^2$ \\end{x}", "let s = r#\"a\"#;",
        "%s %d\n", "$HOME/bin:$PATH", "i++; ++i; i += 1;",
    ):  # fmt: skip
        yield _text(
            text.encode("unicode_escape").decode()[:40], text, "program text: indentation, operators, quoting"
        )


FAMILIES: tuple[tuple[str, Callable[[], Iterable[Document]]], ...] = (
    ("empty", empty), ("fixed", fixed_points), ("space", white_space), ("runs", space_runs),
    ("lines", line_ends),
    ("contraction", contractions), ("digits", digits), ("case", case_patterns), ("punctuation", punctuation),
    ("special", specials), ("repeat", repetition), ("code", code),
)  # fmt: skip
