"""The encoding of a text: by its byte-order mark, else UTF-8, else a Western European code of one byte a character."""

import codecs

from tenfold.data.errors import Decision, TableError

MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def as_utf8(data: bytes, name: str, encoding: str | None = None) -> tuple[bytes, list[Decision]]:
    """The text as UTF-8 without a byte-order mark, and the decisions; `encoding` overrules the detection."""
    code, mark, decisions = encoding_of(data, name, encoding)
    if encoding is None and code == "utf-8" and not mark:
        return data, decisions  # encoding_of has decoded it
    return _check_nulls(_recode(data[mark:], code, name), name), decisions


def encoding_of(data: bytes, name: str, encoding: str | None = None) -> tuple[str, int, list[Decision]]:
    """The encoding, the length of its byte-order mark, and the decisions."""
    if encoding is not None:
        code = codecs.lookup(encoding).name
        return code, len(codecs.BOM_UTF8) if code == "utf-8" and data.startswith(codecs.BOM_UTF8) else 0, []
    for mark, code in MARKS.items():
        if data.startswith(mark):
            return code, len(mark), [Decision("encoding", f"{code.upper()}, by the byte-order mark at the beginning")]
    _check_nulls(data, name)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as reason:
        code, decisions = _find_legacy(data, reason, name)
        return code, 0, decisions
    return "utf-8", 0, []


def _recode(data: bytes, encoding: str, name: str) -> bytes:
    try:
        text = data.decode(encoding)
        return data if encoding == "utf-8" else text.lstrip("\ufeff").encode("utf-8")
    except UnicodeDecodeError as reason:
        line = data[: reason.start].decode(encoding, "replace").count("\n") + 1
        raise TableError(
            f"the bytes {data[reason.start : reason.start + 4].hex(' ')} are not {encoding}. Give the encoding that "
            "the file has, encoding=...",
            source=name,
            line=line,
        ) from None


def _check_nulls(data: bytes, name: str) -> bytes:
    at = data.find(b"\0")
    if at < 0:
        return data
    start = data[:400]
    if sum(b < 9 or 13 < b < 32 for b in start if b) > 0.05 * len(start):
        raise TableError("this is a binary file, not a table of text, Parquet or Arrow.", source=name)
    for code, offset in (("utf-16-le", 1), ("utf-16-be", 0)):
        if len(start) > 3 and start[offset::2].count(0) > 0.9 * len(start[offset::2]):
            raise TableError(f"this looks like {code} without a byte-order mark. Give encoding={code!r}.", source=name)
    line = data.count(b"\n", 0, at) + 1
    if data[:4096].count(b"\0") > 40:
        raise TableError("this is a binary file, not a table of text, Parquet or Arrow.", source=name)
    raise TableError(
        "there is a NUL byte in the text. The file is damaged, or not text: write it again, or remove the bytes with "
        "tr -d '\\000'.",
        source=name,
        line=line,
    )


def _find_legacy(data: bytes, reason: UnicodeDecodeError, name: str) -> tuple[str, list[Decision]]:
    """The encoding of text that is not UTF-8: Western European, unless some lines *are* UTF-8."""
    bad = data.count(b"\n", 0, reason.start) + 1
    byte = data[reason.start]
    start = data[:4096]
    if sum(b < 32 and b not in b"\t\n\r\f" for b in start) > 0.05 * len(start):
        raise TableError("this is a binary file, not a table of text, Parquet or Arrow.", source=name)
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.isascii():
            continue
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            continue
        raise TableError(
            f"the byte 0x{byte:02x} is not UTF-8, but line {number} is: the file mixes encodings, perhaps because two "
            "files were joined. Convert the parts to UTF-8 first, or give encoding='cp1252' to take all of it as that.",
            source=name,
            line=bad,
        )
    for code in ("cp1252", "latin-1"):
        try:
            data.decode(code)
        except UnicodeDecodeError:
            continue
        sentence = (
            f"{code}: line {bad} has the byte 0x{byte:02x}, which is not UTF-8; give encoding=... where that is wrong"
        )
        return code, [Decision("encoding", sentence)]
    raise AssertionError("latin-1 decodes everything")
