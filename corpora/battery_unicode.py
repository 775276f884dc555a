"""Battery families of well-formed text beyond ASCII: categories, scripts, marks, emoji, and what Unicode
versions moved.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator

from tokassay.corpora.document import Document

# One or more code points of each general category, old enough to be the same in Unicode 15.0 to 17.0.
CATEGORIES: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("Lu", (0xC9, 0x416, 0x3A9, 0x10A0, 0x1D400, 0x10400)),
    ("Ll", (0xE9, 0x436, 0x3C9, 0x10D0, 0x1D41A, 0x10428)),
    ("Lt", (0x1C5, 0x1C8, 0x1F2, 0x1F88, 0x1FFC)),
    ("Lm", (0x2B0, 0x2BC, 0x559, 0x640, 0x3005, 0x30FC, 0xFF9E)),
    ("Lo", (0xAA, 0x1BB, 0x5D0, 0x627, 0x905, 0xE01, 0x4E00, 0xAC00, 0x20000, 0x1BC00)),
    ("Mn", (0x301, 0x5B4, 0x64E, 0x94D, 0xE31, 0x3099, 0xFE0F, 0xE0100)),
    ("Mc", (0x903, 0x93E, 0xBBE, 0x1D165)), ("Me", (0x488, 0x20DD, 0x20E3)),
    ("Nd", (0x660, 0x966, 0xE50, 0xFF10, 0x1D7CE)), ("Nl", (0x16EE, 0x2167, 0x3007, 0x3021, 0x12400)),
    ("No", (0xB2, 0xBD, 0x2460, 0x9F4, 0x1F100)),
    ("Pc", (0x203F, 0xFF3F)), ("Pd", (0x2014, 0x301C, 0x30A0)), ("Ps", (0x201A, 0x300C)),
    ("Pe", (0x300D, 0xFF09)), ("Pi", (0xAB, 0x201C)), ("Pf", (0xBB, 0x2019)),
    ("Po", (0xA1, 0xB7, 0x3001, 0xFF01)), ("Sm", (0xD7, 0x2211, 0x1D6C1)), ("Sc", (0xA3, 0x20AC, 0x20B9)),
    ("Sk", (0xA8, 0xB4, 0x1F3FB)), ("So", (0xA9, 0x2603, 0x1F600)),
    ("Zs", (0xA0, 0x3000)), ("Cc", (0x01, 0x7F, 0x80, 0x9F)), ("Cf", (0xAD, 0x200E, 0x2066, 0xE0001)),
    ("Co", (0xE000, 0xF8FF, 0xF0000, 0x10FFFD)),
    ("Cn", (0x378, 0xFDD0, 0xFFFF, 0x1FFFE, 0x10FFFF, 0xE0FFF)),
)  # fmt: skip

# (code points, category before, after, the version that changed it); a test compares the derived tables.
MOVED: tuple[tuple[tuple[int, ...], str, str, str], ...] = (
    ((0x2FFC, 0x31EF), "Cn", "So", "15.1"), ((0x2EBF0, 0x2EE5D), "Cn", "Lo", "15.1"),
    ((0x897, 0x10D69, 0x11F5A, 0x1E5EE), "Cn", "Mn", "16.0"),
    ((0x113B8, 0x113CC, 0x1612A), "Cn", "Mc", "16.0"), ((0x1171E,), "Mn", "Mc", "16.0"),
    ((0x1C89, 0xA7CB, 0xA7DA, 0x10D50), "Cn", "Lu", "16.0"), ((0x1C8A, 0xA7CD, 0x10D70), "Cn", "Ll", "16.0"),
    ((0x10D4E, 0x16D40), "Cn", "Lm", "16.0"),
    ((0x105C0, 0x11380, 0x13460, 0x16100, 0x1E5D0), "Cn", "Lo", "16.0"),
    ((0x10D40, 0x116D0, 0x11BF0, 0x1CCF0, 0x1E5F1), "Cn", "Nd", "16.0"),
    ((0x1B4E, 0x113D4, 0x16D6D), "Cn", "Po", "16.0"), ((0x10D6E,), "Cn", "Pd", "16.0"),
    ((0x10D8E,), "Cn", "Sm", "16.0"), ((0x2427, 0x1CC00, 0x1FAE9), "Cn", "So", "16.0"),
    ((0x295,), "Ll", "Lo", "17.0"),
    ((0x88F, 0xC5C, 0xCDC, 0x10940, 0x187F8, 0x2B73A, 0x323B0, 0x33479), "Cn", "Lo", "17.0"),
    ((0x1ACF, 0x1AE0, 0x10EFA), "Cn", "Mn", "17.0"), ((0x11B61,), "Cn", "Mc", "17.0"),
    ((0x20C1,), "Cn", "Sc", "17.0"), ((0x2B96, 0xFBC3, 0x1F6D8, 0x1FAEA), "Cn", "So", "17.0"),
    ((0xA7CE, 0xA7D2, 0x16EA0), "Cn", "Lu", "17.0"), ((0xA7CF, 0x16EBB), "Cn", "Ll", "17.0"),
    ((0xA7F1, 0x10EC5, 0x16FF2), "Cn", "Lm", "17.0"),
    ((0x11DE0,), "Cn", "Nd", "17.0"), ((0x16FF4,), "Cn", "Nl", "17.0"),
    ((0x1CEF0, 0x1F8D0), "Cn", "Sm", "17.0"), ((0x10ED0,), "Cn", "Po", "17.0"),
)  # fmt: skip


def _text(name: str, text: str, reason: str) -> Document:
    return Document(name, text.encode(), reason)


def categories() -> Iterator[Document]:
    """Every general category alone, inside a word, after a space, and before a digit."""
    for category, cps in CATEGORIES:
        for cp in cps:
            c, u = chr(cp), f"U+{cp:04X} {category}"
            yield _text(f"{u} alone", c, f"a code point of category {category}")
            yield _text(f"a {u} b", f"a{c}b", f"{category} between letters: is it part of the word?")
            yield _text(f"space {u}", f" {c}", f"a space before {category}")
            yield _text(f"{u} 1", f"{c}1", f"{category} before a digit")
            yield _text(f"! {u}", f"!{c}", f"{category} after punctuation")


def moved() -> Iterator[Document]:
    """Code points whose category changed between Unicode 15.0 and 17.0: right ids depend on the declared
    version.
    """
    for cps, before, after, version in MOVED:
        for cp in cps:
            c, u = chr(cp), f"U+{cp:04X}"
            reason = f"{before} before Unicode {version}, {after} from it on: a declared difference at most"
            yield _text(f"{u} alone", c, reason)
            yield _text(f"a {u} b", f"a{c}b", reason)
            yield _text(f" {u}1", f" {c}1", reason)
            yield _text(f"{u}{u}!", f"{c}{c}!", reason)


def moved_contraction() -> Iterator[Document]:
    """The same before a contraction: where the code point is a letter or a number, the published patterns cut before
    the apostrophe, where it is neither they cut after it. So the ids show which version it was.
    """
    for cps, before, after, version in MOVED:
        for cp in cps:
            reason = f"{before} before Unicode {version}, {after} from it on: a contraction shows which"
            yield _text(f"U+{cp:04X} 's", f"{chr(cp)}'s", reason)


def lengths_of_utf8() -> Iterator[Document]:
    """First and last code points of each encoded length, and of each plane."""
    for cp in (
        0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFD, 0xFFFE, 0xFFFF, 0x10000, 0x1FFFF, 0x20000, 0x2FFFD,
        0x30000, 0x3FFFF, 0xE0000, 0xEFFFF, 0xFFFFF, 0x100000, 0x10FFFE, 0x10FFFF,
    ):  # fmt: skip
        yield _text(f"U+{cp:04X}", chr(cp), "the border of an encoded length or of a plane")
        yield _text(
            f"x U+{cp:04X} x",
            f"x{chr(cp)}x",
            "the border of an encoded length or of a plane, between letters",
        )
    for cp in (*range(0xFDD0, 0xFDF0, 5), 0x2FFFE, 0x7FFFE, 0xAFFFF):
        yield _text(f"noncharacter U+{cp:04X}", f"a{chr(cp)}", "a noncharacter is well-formed UTF-8")


def marks() -> Iterator[Document]:
    """Combining marks: on letters, digits, spaces, at the start, stacked, and in both normal forms."""
    for base in ("e", "E", "1", " ", "\n", "!", "日", "👍", ""):
        for mark, u in (
            ("\u0301", "U+0301"), ("\u0323\u0301", "two marks"), ("\u20dd", "U+20DD"), ("\u093f", "U+093F"),
        ):  # fmt: skip
            yield _text(
                f"{base.encode('unicode_escape').decode() or 'nothing'} {u}",
                base + mark,
                "a mark is no letter: where the word ends depends on the rule",
            )
            yield _text(
                f"{base.encode('unicode_escape').decode() or 'nothing'} {u} x",
                base + mark + "x",
                "a mark, then a letter",
            )
    for text in (
        "café", "cafe\u0301", "Å", "A\u030a", "\u212b", "ﬁ", "ﬀ", "ẛ\u0323", "Ǆ", "ｶﾞ", "가", "\u1100\u1161",
        "각", "\u1100\u1161\u11a8", "が", "か\u3099", "i\u0307", "İ", "ΐ", "ϓ",
        "Z" + "\u0300\u0301\u0302\u0303\u0304\u0305" * 4 + "algo", "x\ufe0f", "x\u200d", "नि", "क्ष", "க்ஷ",
        "ක්\u200dෂ",
    ):  # fmt: skip
        form = "NFC" if unicodedata.is_normalized("NFC", text) else "not NFC"
        yield _text(
            text.encode("unicode_escape").decode()[:60],
            text,
            f"composed and decomposed forms are different bytes ({form})",
        )


def emoji() -> Iterator[Document]:
    """Emoji: sequences joined by ZWJ, skin tones, flags, keycaps, tags, presentation selectors."""
    for text, what in (
        ("😀", "one symbol"), ("😀😀😀", "a run"), ("a😀b", "between letters"), (" 😀", "after a space"),
        ("👍🏽", "with a skin tone"), ("👨\u200d👩\u200d👧\u200d👦", "a ZWJ family"),
        ("👩🏿\u200d💻", "a tone and a ZWJ"),
        ("🏳\ufe0f\u200d🌈", "a selector and a ZWJ"), ("❤\ufe0f\u200d🔥", "old symbol, selector, ZWJ"),
        ("🇺🇦", "a flag"),
        ("🇺🇦🇯🇵", "two flags"), ("🇺🇦🇯", "a flag and a half"), ("🇦", "half a flag"),
        ("🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "a tag sequence"),
        ("1\ufe0f\u20e3", "a keycap"), ("#\ufe0f\u20e3", "a keycap of a mark"), ("☃", "text presentation"),
        ("☃\ufe0f", "emoji presentation"), ("©\ufe0f", "an ASCII-like symbol with a selector"),
        ("\u200d", "a joiner alone"),
        ("\ufe0f", "a selector alone"),
        ("👩\u200d", "a cut sequence"), ("👨\u200d❤\ufe0f\u200d💋\u200d👨", "eight code points"),
        ("🧑🏻\u200d🤝\u200d🧑🏿", "two tones"),
        ("🫠", "Unicode 14"), ("\U0001fae8", "Unicode 15"), ("🐦\u200d⬛", "an Emoji 15 sequence"),
        ("🙂\u200d↔\ufe0f", "an Emoji 15.1 sequence"),
        ("hello👋🏼world 🌍!", "in a sentence"), ("👍👍🏻👍🏼👍🏽👍🏾👍🏿", "all tones"),
        ("🀄🃏🎴", "game symbols"),
        ("🅰\ufe0f🅱\ufe0f", "enclosed letters"), ("㊙\ufe0f㊗\ufe0f", "enclosed ideographs"),
    ):  # fmt: skip
        yield _text(text.encode("unicode_escape").decode()[:60], text, f"emoji: {what}")


SENTENCES: tuple[tuple[str, str], ...] = (
    ("English", "All human beings are born free and equal in dignity and rights."),
    ("German", "Alle Menschen sind frei und gleich an Würde und Rechten geboren."),
    ("French", "Tous les êtres humains naissent libres et égaux en dignité et en droits."),
    ("Spanish", "¿Dónde está? ¡Aquí, señor!"), ("Turkish", "Iğdır'ın ılık İstanbul'u"),
    ("Vietnamese", "Tất cả mọi người sinh ra đều được tự do"), ("Polish", "Zażółć gęślą jaźń."),
    ("Greek", "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι"), ("Polytonic", "Ἐν ἀρχῇ ἦν ὁ λόγος, ᾧ"),
    ("Russian", "Все люди рождаются свободными"), ("Ukrainian", "Їжак із п'ятьма об’єктами"),
    ("Hebrew", "כל בני האדם נולדו בני חורין"), ("Pointed Hebrew", "בְּרֵאשִׁ֖ית בָּרָ֣א אֱלֹהִ֑ים"),
    ("Arabic", "يولد جميع الناس أحرارًا"), ("Quranic", "بِسْمِ ٱللَّهِ ٱلرَّحْمَٰنِ"),
    ("Persian", "می\u200cخواهم ۱۲۳"), ("Urdu", "تمام انسان آزاد"), ("Hindi", "सभी मनुष्यों को गौरव"),
    ("Bengali", "সমস্ত মানুষ ১২৩"),
    ("Tamil", "மனிதப் பிறவியினர்"), ("Telugu", "ప్రతిపత్తిస్వత్వముల"), ("Kannada", "ಎಲ್ಲಾ ಮಾನವರೂ"),
    ("Malayalam", "മനുഷ്യരെല്ലാവരും"), ("Sinhala", "සියලු මනුෂ්\u200dයයෝ"),
    ("Thai", "มนุษย์ทั้งหลายเกิดมามีอิสระ"),
    ("Lao", "ມະນຸດທຸກຄົນເກີດມາ"), ("Khmer", "មនុស្សទាំងអស់កើតមក"), ("Burmese", "လူတိုင်းသည်"),
    ("Tibetan", "འགྲོ་བ་མིའི་རིགས་རྒྱུད་"), ("Georgian", "ყველა ადამიანი"), ("Armenian", "Բոլոր մարդիկ"),
    ("Amharic", "የሰው ልጅ ሁሉ፡ ፩፪፫"), ("Cherokee", "ᏂᎦᏓ ᎠᏂᏴᏫ ꮒꭶꮣ"), ("Canadian syllabics", "ᐃᓄᓕᒫᑦ"),
    ("Mongolian", "ᠬᠦᠮᠦᠨ ᠪᠦᠷ"), ("Chinese", "人人生而自由，在尊严和权利上一律平等。"),
    ("Traditional Chinese", "人人生而自由，在尊嚴和權利上一律平等。"),
    ("Japanese", "すべての人間は、生まれながらにして自由であり、ﾃｽﾄ１２３。"),
    ("Korean", "모든 인간은 태어날 때부터 자유로우며"),
    ("Jamo", "ᄒ\u1161ᆫᄀ\u1173ᆯ"), ("Yi", "ꊿꂷꃅꄿꐨ"), ("Gothic", "𐌼𐌰𐌲 𐌲𐌻𐌴𐍃"), ("Cuneiform", "𒀀𒀭 𒐕"),
    ("Hieroglyphs", "𓀀𓂋𓏤"), ("Deseret", "𐐀𐐨 𐐁𐐩"), ("Adlam", "𞤀𞤢 𞥐𞥑"), ("N'Ko", "ߒߞߏ ߁߂"),
    ("Tifinagh", "ⵉⵎⴷⴰⵏⵏ"), ("Ogham", "᚛ᚁᚂ᚜"), ("Runes", "ᚠᛇᚻ᛫ᛒᛦᚦ"), ("Braille", "⠓⠑⠇⠇⠕"),
    ("Mathematics", "∀x∈ℝ: ⌈x⌉ = −⌊−x⌋, 𝑓(𝒙)"), ("Box", "┌──┐│▓░"),
)  # fmt: skip


def scripts() -> Iterator[Document]:
    """A phrase in each of some fifty scripts and orthographies, then with a space before and an ill-fitting
    neighbour after.
    """
    for script, text in SENTENCES:
        yield _text(script, text, f"{script}: letters, marks and punctuation of one script")
        yield _text(f"space {script}", f" {text}", f"{script} after a space")
        yield _text(
            f"{script} joined",
            f"abc{text}123",
            f"{script} joined to Latin letters and digits without a space",
        )


def direction() -> Iterator[Document]:
    """Right-to-left text, its controls and embedded numbers."""
    for text in (
        "שלום hello עולם", "\u202bעברית\u202c", "\u2067ابجد\u2069", "\u200fאב\u200e", "123 אבג 456",
        "a\u202eb\u202cc", "א'ב", "א׳ב", "ג״ב", "١٢٣,٤٥٦", "א\u05b0", "\u05b0א", "لا", "ـــ", "\u061c1", "۩",
        "﷽", "\ufd3eق\ufd3f",
    ):  # fmt: skip
        yield _text(
            text.encode("unicode_escape").decode()[:60], text, "right-to-left text and directional controls"
        )


def joined_scripts() -> Iterator[Document]:
    """Letters of different scripts and widths side by side: one word by category, several by script."""
    for text in (
        "aбγד", "日本a", "a日本", "日1本2", "ア1ァー", "ー", "々", "〇", "가a나", "한글abc", "１a２", "aＡ",
        "ａA", "ｱa", "aｱ",
        "漢字かなカナ", "ひらがな。カタカナ、漢字！", "「引用」", "中文 English 中文", "中文English中文",
        "日'本", "日's", "é's", "İ's", "ßs",
        "ŉ", "ʼn", "ﬆ", "𝒜𝓁𝑔", "ａｂｃ１２３", "x\u0302ŷ", "H₂O", "E=mc²", "10⁻³", "½kg", "Nº5", "1ª", "№1",
        "℃",
        "㍿",
        "㈱", "⑴⑵", "ⅣⅤ", "ⓐⓑ", "🄰🄱", "㎏㎡", "〜", "～", "・", "·", "‧", "‐", "‑", "\u2060", "\u00ad",
        "soft\u00adhyphen",
        "zero\u200bwidth", "zero\u200cnon", "zero\u200djoin", "word\u2060joiner", "no\u00a0break",
        "narrow\u202fspace", "line\u2028sep", "para\u2029sep", "next\u0085line", "tag\U000e0061",
        "\ufff9a\ufffab\ufffb", "\ufffc", "\ufffd", "\ufffd\ufffd", "a\ufffdb", "Ā", "Ġ", "ĠĠ", "Ġhello", "Ċ",
        "ċ", "Ń", "ł", "▁", "▁hello", "<0xFF>", "##ing",
    ):  # fmt: skip
        yield _text(
            text.encode("unicode_escape").decode()[:60],
            text,
            "neighbours of different script, width or category",
        )


FAMILIES: tuple[tuple[str, Callable[[], Iterable[Document]]], ...] = (
    ("category", categories), ("moved", moved), ("border", lengths_of_utf8), ("mark", marks),
    ("emoji", emoji), ("script", scripts), ("direction", direction), ("joined", joined_scripts),
    ("moved-contraction", moved_contraction),
)  # fmt: skip
