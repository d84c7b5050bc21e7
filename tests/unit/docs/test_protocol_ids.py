"""Every sentence of docs/protocol.md that a peer can break has an id, which stays its own for good."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from envwire.conformance.sections import SECTIONS as BY_PREFIX
from tests.each import each
from tests.protocol_ids import IDS, LISTED, WITHDRAWN

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "protocol.md").read_text(encoding="utf-8")
ID = re.compile(r"\[([A-Z]+-\d+)\]")

#: Sections that say what peers do, by their titles. The others tell how to begin, show, or advise.
SECTIONS = {title: prefix for prefix, title in BY_PREFIX.items()}
#: Where a sentence ends: behind its period, and the id that follows it.
_END = re.compile(r"(?<=[.])((?: \[[A-Z]+-\d+\])?) (?=[A-Z`\"*0-9])(?!\[)")
_ITEM = re.compile(r"^(\* |\d\. )")


def blocks(page: str) -> Iterator[tuple[str, str]]:
    """Yields the title of the section and the text of each paragraph and of each item of a list."""
    title, kept, code = "", [""], False
    for line in [*page.splitlines(), ""]:
        code = code != line.startswith("```")
        ends = not line or line.startswith(("#", "|", "```")) or bool(_ITEM.match(line)) or code
        if ends and kept:
            yield title, " ".join(kept)
            kept = []
        if line.startswith("#") and not code:
            title = line.lstrip("# ")
        elif line and not code and not line.startswith(("|", "```")):
            kept.append(_ITEM.sub("", line).strip())


def sentences(text: str) -> list[str]:
    """Returns the sentences of a paragraph; a title in bold belongs to the one behind it."""
    parts = _END.sub(lambda end: f"{end[1]}\n", text).split("\n")
    for index in reversed(range(len(parts) - 1)):
        if parts[index].endswith(".**"):
            parts[index : index + 2] = [f"{parts[index]} {parts[index + 1]}"]
    return parts


NORMATIVE = [
    (title, sentence)
    for title, text in blocks(PAGE)
    if title in SECTIONS and text
    for sentence in sentences(text)
]


@each(("title", "sentence"), NORMATIVE)
def test_every_normative_sentence_has_an_id_of_its_section(title: str, sentence: str) -> None:
    found = ID.findall(sentence)
    assert len(found) == 1, f"give it the next number that {SECTIONS[title]} never had: {sentence}"
    assert found[0].startswith(f"{SECTIONS[title]}-")
    assert sentence.endswith(f"[{found[0]}]")


def test_no_id_is_used_twice() -> None:
    assert [name for name, count in Counter(ID.findall(PAGE)).items() if count > 1] == []


def test_no_id_is_lost_and_none_is_new_without_being_listed() -> None:
    assert sorted(ID.findall(PAGE)) == sorted(IDS)
    assert len(LISTED) == len(IDS) + len(WITHDRAWN)
    by_number = sorted(set(LISTED), key=lambda id_: (id_.split("-")[0], int(id_.split("-")[1])))
    assert by_number == LISTED


def test_all_sections_are_there() -> None:
    titles = {title for title, _ in blocks(PAGE)}
    assert titles >= set(SECTIONS)
