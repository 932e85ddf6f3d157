"""Laws of typed names, on any vocabulary."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from strategies import few

from flavourbench.environment.names import Match, Resolver, alias_groups
from flavourbench.errors import InputError

#: Words that inflect in every way, that are synonyms, and that mean nothing.
_KNOWN = """bay berry cookie leaf leaves molasses hummus swiss bass radish mango mangoes anchovy
    chia seed seeds sea seabass bitter bitters corn flour cornflour sweet bread sweetbread
    aubergine courgette zucchini prawn cheddar cheese"""
_words = st.one_of(
    st.sampled_from(_KNOWN.split()),
    st.from_regex("[a-z0-9]{1,6}", fullmatch=True),
    st.text("es", min_size=1),
)
_names = st.lists(_words, min_size=1, max_size=3).map("_".join)
_synonyms = st.sampled_from([name for group in alias_groups() for name in group])
vocabularies = st.lists(st.one_of(_names, _synonyms), min_size=1, max_size=30, unique=True).map(
    sorted
)
_separators = st.text("_- \u2010\u2011\u2013\u00a0", min_size=1, max_size=3)
#: What people type: names as above with slips.
_typed = st.one_of(
    st.lists(_words, min_size=1, max_size=4).map(" ".join),
    _synonyms.map(lambda name: name.replace("_", " ")),
    st.text("aesy _-'2\x00,", min_size=1, max_size=12),
).filter(str.strip)
#: And what else may arrive.
texts = st.one_of(_typed, st.text(min_size=1, max_size=30).filter(str.strip))
_accents = [chr(code) for code in (0x300, 0x301, 0x302, 0x303, 0x308, 0x30C, 0x327, 0x328)]


@st.composite
def disguises(draw: st.DrawFn, name: str) -> str:
    """``name`` in other case, with accents, apostrophes, other separators and space around."""
    parts = []
    for letter in name:
        if letter == "_":
            parts.append(draw(_separators))
            continue
        parts.append(draw(st.sampled_from([letter, letter.upper()])))
        parts.append(draw(st.sampled_from(["", "", "", "'", "\u2019", *_accents])))
    form = draw(st.sampled_from(["NFC", "NFD"]))
    around = draw(st.sampled_from(["", " ", "\t", "\n", "\u3000"]))
    return around + unicodedata.normalize(form, "".join(parts)) + around


@given(vocabularies)
@few(60)
def test_an_item_stands_for_itself(items: list[str]) -> None:
    resolver = Resolver(items)
    for item in items:
        assert resolver.find(item) == Match(item, item, "exact", ())
    assert resolver.resolve(items) == items


@given(vocabularies, st.data())
@few(300)
def test_case_accents_apostrophes_and_separators_do_not_matter(
    items: list[str], data: st.DataObject
) -> None:
    item = data.draw(st.sampled_from(items))
    typed = data.draw(disguises(item))
    match = Resolver(items).find(typed)
    assert match == Match(typed, item, "exact" if typed == item else "normalised", ())


@given(vocabularies, _typed, _separators)
@few(300)
def test_other_case_and_separators_never_change_the_answer(
    items: list[str], text: str, separator: str
) -> None:
    resolver = Resolver(items)
    found = resolver.find(text)
    for typed in (re.sub("[_ -]", separator, text.strip()), text.upper(), f" {text}\n"):
        if typed.strip():
            again = resolver.find(typed)
            assert (again.name, again.suggestions) == (found.name, found.suggestions)


@given(vocabularies, texts)
@few(500)
@example(["bay_leaf", "bay_leaves"], "bay leafs")
@example(["a"], "_")
@example(["a"], "\ud800")
def test_an_answer_is_an_item_or_some_items(items: list[str], text: str) -> None:
    match = Resolver(items).find(text)
    assert match.text == text
    assert (match.name is None) == (match.how == "miss")
    assert match.how in ("exact", "normalised", "alias", "miss")
    assert {*match.suggestions, match.name or items[0]} <= set(items)
    assert len(match.suggestions) == len(set(match.suggestions)) <= (0 if match.name else 3)
    assert Resolver(items).find(text) == match
    if match.name is not None:
        # What stands for an item is found there alone as well, and finding it again is no news.
        assert Resolver([match.name]).find(text).name == match.name
        assert Resolver(items).find(match.name).name == match.name


@given(vocabularies, texts)
@few(200)
def test_a_synonym_needs_an_item_of_its_group(items: list[str], text: str) -> None:
    match = Resolver(items).find(text)
    if match.how == "alias":
        members = [set(group) for group in alias_groups()]
        holder = Resolver(sorted({name for group in alias_groups() for name in group}))
        typed, item = holder.find(text).name, holder.find(match.name or "").name
        assert any({typed, item} <= group for group in members)


@given(vocabularies, st.lists(texts, max_size=8), st.data())
@few(200)
def test_nothing_is_dropped(items: list[str], typed: list[str], data: st.DataObject) -> None:
    resolver = Resolver(items)
    typed = data.draw(st.permutations([*typed, *items[:3]]))
    matches = [resolver.find(text) for text in typed]
    missed = [match for match in matches if match.name is None]
    if not missed:
        assert resolver.resolve(iter(typed)) == [match.name for match in matches]
        return
    with pytest.raises(InputError) as caught:
        resolver.resolve(iter(typed))
    line = str(caught.value)
    assert line.isprintable()
    for match in missed:
        assert all(name in line for name in match.suggestions)
        assert match.text in line or not match.text.isprintable() or len(match.text) > 50


@given(vocabularies, st.text(st.characters(categories=["Zs", "Cc"]), max_size=5), texts)
@few(100)
def test_an_empty_name_is_an_error_and_others_are_not(
    items: list[str], blank: str, text: str
) -> None:
    assume(not blank.strip())
    resolver = Resolver(items)
    with pytest.raises(InputError):
        resolver.find(blank)
    with pytest.raises(InputError):
        resolver.resolve([text, blank])
