"""Typed names against brute force, the alias file, and names that people type every day."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from references import reference
from strategies import few

from flavourbench.environment.names import Match, Resolver, alias_groups
from flavourbench.errors import InputError

# --- suggestions by brute force ------------------------------------------------------------


def levenshtein(a: str, b: str) -> int:
    """Fewest insertions, deletions and replacements, by their definition."""

    @cache
    def distance(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        replaced = distance(i - 1, j - 1) + (a[i - 1] != b[j - 1])
        return min(replaced, distance(i - 1, j) + 1, distance(i, j - 1) + 1)

    return distance(len(a), len(b))


def suggested(items: list[str], text: str) -> tuple[str, ...]:
    """The rule word for word; for lower-case letters without s, so that number is no matter."""
    words = set(text.split())
    parts = {name: name.split("_") for name in items}

    def whole(name: str) -> bool:
        return words <= set(parts[name])

    def part(name: str) -> bool:
        return all(len(w) >= 3 and any(w in own for own in parts[name]) for w in words)

    def extra(name: str) -> int:
        return len(parts[name]) - len(words)

    first = sorted(filter(whole, items), key=lambda n: (extra(n), n))
    first += sorted((n for n in items if part(n) and not whole(n)), key=lambda n: (extra(n), n))
    if not first and len(words) > 1:
        long = {w for w in words if len(w) >= 3}
        shares = {n: len(long & set(parts[n])) for n in items}
        found = [n for n in items if shares[n]]
        first = sorted(found, key=lambda n: (-shares[n], len(parts[n]) - shares[n], n))
    typed = "_".join(text.split())
    limit = len(typed) // 3
    distances = {n: levenshtein(typed, n) for n in items if abs(len(n) - len(typed)) <= limit}
    near = sorted((d, n) for n, d in distances.items() if d <= limit)
    return tuple(dict.fromkeys(first + [n for _, n in near]))[:3]


#: Few letters and words, so that names share words, parts of words and most letters.
_word = st.one_of(st.text("ab", min_size=1, max_size=5), st.sampled_from(["aba", "babab", "bb"]))
_phrase = st.lists(_word, min_size=1, max_size=4)
_items = st.lists(_phrase.map("_".join), min_size=1, max_size=25, unique=True).map(sorted)


@given(_items, _phrase.map(" ".join))
@few(600)
def test_suggestions_follow_the_rule(items: list[str], text: str) -> None:
    match = Resolver(items).find(text)
    if match.how == "miss" and not ambiguous(items, text):
        assert match.suggestions == suggested(items, text)


def ambiguous(items: list[str], text: str) -> bool:
    return sum(name.replace("_", "") == text.replace(" ", "") for name in items) > 1


_long = st.text("abc", min_size=3, max_size=90)


@given(_long, st.data())
@few(200)
def test_edit_distances_of_any_length(text: str, data: st.DataObject) -> None:
    """Around the limit, where being off by one shows."""
    letters = list(text)
    for _ in range(data.draw(st.integers(0, len(text) // 3 + 2))):
        at = data.draw(st.integers(0, len(letters)))
        letters[at : at + data.draw(st.integers(0, 1))] = data.draw(st.sampled_from(["", "a", "d"]))
    other = "".join(letters) or "d"
    match = Resolver([other]).find(text)
    within = levenshtein(text, other) <= len(text) // 3
    assert match == (
        Match(text, other, "exact", ())
        if other == text
        else Match(text, None, "miss", (other,) if within or text in other else ())
    )


# --- equal and ambiguous names -------------------------------------------------------------


@pytest.mark.parametrize(
    ("items", "text", "expected"),
    [
        ("bay_leaf bay_leaves", "Bay Leaf", "bay_leaf"),  # no other number beats another number
        ("bay_leaf bay_leaves", "BAY-LEAVES", "bay_leaves"),
        ("bay_leaf bay_leaves", "bay leafs", ("bay_leaf", "bay_leaves")),
        ("bay_leaf bayleaf", "bay leafs", "bay_leaf"),  # and both are most
        ("sea_bass seabass", "Sea Bass", "sea_bass"),  # a moved separator differs more
        ("sea_bass seabass", "SeaBass", "seabass"),
        ("sea_bass seabass", "s e a bass", ("sea_bass", "seabass")),
        ("a_peas a_pea ape_as", "apeas", ("a_peas", "ape_as")),
        ("bitters", "bitter", ("bitters",)),
        ("bitter", "bitters", ("bitter",)),
        ("cookie cookie_jar cooky", "cookies", ("cookie", "cooky")),
        ("a_bcd ab_cd abc_d abcd", "a b c d", ("a_bcd", "ab_cd", "abc_d")),
    ],
)
def test_the_closest_wins_and_a_draw_is_a_miss(
    items: str, text: str, expected: str | tuple[str, ...]
) -> None:
    match = Resolver(sorted(items.split())).find(text)
    assert (match.name or match.suggestions) == expected


@pytest.mark.parametrize(
    ("word", "cut"),
    [
        ("molasses", "molasse"),
        ("hummus", "hummu"),
        ("asparagus", "asparagu"),
        ("couscous", "couscou"),
        ("citrus", "citru"),
        ("swiss", "swis"),
        ("bass", "bas"),
        ("watercress", "watercres"),
        ("gas", "ga"),
        ("cassis", "cassi"),
    ],
)
def test_an_s_that_belongs_to_the_word_stays(word: str, cut: str) -> None:
    assert Resolver([cut]).find(word).how == "miss"
    assert Resolver([word]).find(cut).how == "miss"
    assert Resolver([f"blue_{cut}"]).find(f"Blue {word}").how == "miss"


@pytest.mark.parametrize(
    ("one", "many"),
    [
        ("berry", "berries"),
        ("cookie", "cookies"),
        ("chili", "chilies"),
        ("leaf", "leaves"),
        ("clove", "cloves"),
        ("olive", "olives"),
        ("radish", "radishes"),
        ("peach", "peaches"),
        ("quiche", "quiches"),
        ("tomato", "tomatoes"),
        ("mango", "mangoes"),
        ("mango", "mangos"),
        ("roe", "roes"),
        ("anchovy", "anchovies"),
        ("pie", "pies"),
        ("cheese", "cheeses"),
        ("octopus", "octopuses"),
        ("octopus", "octopi"),
        ("goose", "geese"),
        ("box", "boxes"),
        ("yuzu", "yuzus"),
        ("kiwi", "kiwis"),
        ("feijoa", "feijoas"),
        ("pupa", "pupae"),
    ],
)
def test_any_word_may_be_singular_or_plural(one: str, many: str) -> None:
    for item, text in ((one, many), (many, one)):
        assert Resolver([item]).find(text).name == item
        assert Resolver([f"red_{item}_oil"]).find(f"Red {text}-oils").name == f"red_{item}_oil"


@pytest.mark.parametrize(
    ("item", "text"),
    [
        ("smorrebrod", "SMØRREBRØD"),
        ("zoladkowa", "Żołądkowa"),
        ("kadayif", "kadayıf"),
        ("ilik_corba", "İlik Çorba"),
        ("oeuf", "Œuf"),
        ("aebleskiver", "ÆBLESKIVER"),
        ("susse_sahne", "süße Sahne"),
        ("pho", "phở"),
        ("nduja", "\u2019Nduja"),
        ("soft_hyphen", "so\xadft hy\xadphen"),
        ("tofu", "\uff34\uff2f\uff26\uff35"),  # full width
        ("tofu", "\U0001d413\U0001d428\U0001d41f\U0001d42e"),  # bold
        ("ol", "\u01fel"),  # a stroke and an accent
    ],
)
def test_letters_of_other_languages(item: str, text: str) -> None:
    for typed in (text, text.upper(), text.lower()):
        assert Resolver([item]).find(typed) == Match(typed, item, "normalised", ())


@pytest.mark.parametrize(
    "apart", ["sweet bread", "white fish", "mince meat", "winter greens", "corn flour"]
)
def test_two_words_that_are_another_thing_are_not_joined(apart: str) -> None:
    joined = apart.replace(" ", "")
    for text in (apart, f"{apart}s"):
        assert Resolver([joined]).find(text).how == "miss"
    assert Resolver([apart.replace(" ", "_")]).find(joined).how == "miss"


# --- the alias file ------------------------------------------------------------------------

GROUPS = alias_groups()
MEMBERS = [name for group in GROUPS for name in group]
#: Names of one ingredient that the published vocabulary has twice.
TWICE = [{"tatsoi", "ta_cai"}, {"kencur", "sand_ginger"}, {"coix_seed", "jobs_tears"}]


def test_aliases_are_well_formed() -> None:
    assert len(MEMBERS) > 1000
    assert [m for m in MEMBERS if not re.fullmatch("[a-z0-9]+(_[a-z0-9]+)*", m)] == []
    assert [group for group in GROUPS if len(group) < 2] == []
    assert sorted(MEMBERS) == sorted(set(MEMBERS))


def test_no_alias_is_another_up_to_number_or_separators() -> None:
    every = Resolver(sorted(MEMBERS))
    for name in MEMBERS:
        if name != "corn_flour":  # and cornflour, which are never taken for each other
            assert every.find(name.replace("_", "")).name == name
        if not name.endswith("ss"):  # as kvass, which some write with one s
            number = name.removesuffix("s") if name.endswith("s") else f"{name}s"
            assert every.find(number).name in (name, None), number


def shortened(text: str, item: str) -> bool:
    """Whether the words of a text are some of an item's, in either number."""
    own = {word.removesuffix("s") for word in item.split("_")} - {"of"}
    words = {word.removesuffix("s") for word in text.split("_")}
    return words < own


def test_a_group_stands_for_the_first_member_that_is_there() -> None:
    for group in GROUPS:
        for at, item in enumerate(group):
            there = Resolver(sorted([*group[at:], "zzz"]))
            for text in group[:at]:
                if shortened(text, item):
                    match = there.find(text)
                    assert (match.how, match.suggestions[0]) == ("miss", item)
                    continue
                assert there.find(text) == Match(text, item, "alias", ())
                # Number and separators are folded before synonyms too.
                assert there.find(text.upper().replace("_", "-")).name == item
        assert [text for text in group if Resolver(["zzz"]).find(text).how != "miss"] == []


def test_aliases_agree_with_the_published_vocabulary(published: Resolver) -> None:
    items = [[m for m in group if published.find(m).how == "exact"] for group in GROUPS]
    assert sum(map(bool, items)) > 300
    assert [set(found) for found in items if len(found) > 1 and set(found) not in TWICE] == []
    for group, found in zip(GROUPS, items, strict=True):
        for name in group:
            match = published.find(name)
            if match.how == "miss" and found:
                assert match.suggestions[0] in found, (name, match)
                assert any(shortened(name, item) for item in found), (name, match)
                continue
            # A group without an item must not be reached by number or separators either.
            assert match.name in (found or [None]), (name, match)


# --- everyday names ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def published() -> Resolver:
    path = reference("epicure-cooc/vocab.json")
    return Resolver(sorted(json.loads(path.read_text(encoding="utf-8"))))


#: Item → what people type for it.
EVERYDAY = {
    "tomato": "Tomatoes | TOMATO | tomatos",
    "potato": "potatoes | Irish potatoes | spuds",
    "onion": "Onions | brown onion | yellow onions",
    "scallion": "spring onions | Spring-Onion | green onion | scallions | salad onions",
    "garlic": "Garlic | GARLIC ",
    "carrot": "carrots | Carrot",
    "eggplant": "aubergine | Aubergines | brinjal | egg plant | eggplants",
    "zucchini": "courgette | courgettes | Zucchinis",
    "arugula": "rocket | Rocket leaves | roquette",
    "beet": "beetroot | beetroots | beets | Red-beet",
    "rutabaga": "swede | swedes | rutabagas",
    "bell_pepper": "capsicum | sweet peppers | bell-peppers | BELL PEPPER",
    "chickpea": "garbanzos | garbanzo beans | chick peas | Chick-Pea | ceci",
    "snow_pea": "mange-tout | mangetout | snow peas",
    "fava_bean": "broad beans | faba bean | Fava-Beans",
    "navy_bean": "haricot beans | haricots | navy-beans",
    "corn": "maize | sweet corn | sweetcorn | Corn",
    "cornstarch": "cornflour | corn starch | maize starch",
    "coriander": "cilantro | Coriander leaves | fresh coriander | Chinese parsley",
    "bay_leaf": "bay leaf | bay leaves | Bay-Leaves | bayleaf | bay-leafs | laurel leaves",
    "basil": "Basil | sweet basil | basil leaves",
    "mint": "spearmint | mint leaves",
    "chili_pepper": "chilli | chillies | chile peppers | chilli-pepper",
    "birds_eye_chili": "bird's eye chilli | Bird\u2019s-eye chilies | thai chili | bird chillis",
    "jalapeno": "jalapeño | Jalapeños | jalapeno peppers | JALAPEN\u0303O",
    "shrimp": "prawn | Prawns | shrimps",
    "anchovy": "anchovies | Anchovy | anchovy fillets",
    "squid": "calamari | squids",
    "salmon": "Salmon | salmons",
    "egg": "eggs | hen's egg | hens' eggs",
    "egg_yolk": "egg yolks | Egg-Yolk",
    "yogurt": "yoghurt | Yogurts | yoghourt | plain yoghurt",
    "cheddar_cheese": "Cheddar Cheese | cheddar-cheeses",
    "parmesan_cheese": "Parmesan cheese | Parmigiano-Reggiano | parmigiano",
    "gruyere_cheese": "Gruyère cheese | gruyere-cheese | GRUYE\u0300RE CHEESE",
    "creme_fraiche": "crème fraîche | Creme-Fraiche",
    "milk": "whole milk | cow's milk | MILK",
    "flour": "plain flour | all-purpose flour | Flour",
    "baking_soda": "bicarbonate of soda | bicarb | baking-soda | bread soda",
    "sugar": "granulated sugar | white sugar | sugars",
    "molasses": "Molasses",
    "black_treacle": "Black Treacle | black-treacle",
    "raisin": "raisins | sultanas | golden raisins",
    "chia_seed": "chia seeds | Chia-Seed",
    "sesame_seed": "sesame seeds | Sesame-Seed",
    "peanut": "groundnuts | monkey nuts | pea nuts",
    "strawberry": "strawberries | Strawberry | straw berries",
    "mango": "mangoes | mangos",
    "peach": "peaches | Peach",
    "cherry": "cherries | Cherry",
    "radish": "radishes | red radish",
    "cookie": "cookies | Cookie",
    "cotton_candy": "candyfloss | candy floss | fairy floss",
    "soybean": "soya | soya beans | soy beans | soy",
    "soy_sauce": "soya sauce | shoyu | soy-sauce",
    "hummus": "houmous | Hummus",
    "asparagus": "Asparagus",
    "couscous": "cous cous | cous-cous",
    "zaatar": "za'atar | Za\u2019atar | za\u02bfatar",
    "bok_choy": "pak choi | bok choi | Pak-Choy",
    "olive_oil": "extra virgin olive oil | olive oils | EVOO",
    "canola_oil": "rapeseed oil | canola oil",
    "lambs_quarters": "lamb's quarters | lambs' quarters | lamb quarter",
    "hearts_of_palm": "heart of palm | palm hearts",
    "okra": "lady's finger | lady's fingers | ladies' fingers | bhindi",
    "ladyfinger": "ladyfingers | lady finger | savoiardi",
    "gammon": "gammon | gammon steak",
    "ghee": "clarified butter | Ghee",
    "whiskey": "whisky | whiskies | whiskeys",
}

#: What people type that no single item is → the first suggestions.
MISSES = {
    "cheddar": "cheddar_cheese",  # shortened names are not guessed
    "Gruyère": "gruyere_cheese",
    "Parmesan": "parmesan_cheese",
    "yolks": "egg_yolk",
    "chia": "chia_seed",
    "sesame": "sesame_seed",
    "treacle": "black_treacle",
    "brocoli": "broccoli",
    "zuchini": "zucchini",
    "Tumeric": "turmeric",
    "chineese brocoli": "chinese_broccoli",
    "white fish": "whitefish",
    "sweet bread": "sweetbread",
    "corn flour": "corn flour corn_flakes",
    "heavy cream": "cream clotted_cream coconut_cream",
    "icing sugar": "sugar brown_sugar coconut_sugar",
    "ground beef": "beef corned_beef ground_ivy",
    "coriander seeds": "coriander",
    "bitter": "bitter_almond bitter_green bitter_melon",
    "sprouts": "alfalfa_sprout bean_sprout brussels_sprout",
    "pickle": "pickle_juice pickle_relish pickled_cucumber",
    "butter, unsalted": "butter",
    "2 tomatoes": "tomato",
    "rice flour": "glutinous_rice_flour",
    "\u0422omato": "tomato",  # a Cyrillic capital
}


@pytest.mark.parametrize(("item", "typed"), EVERYDAY.items())
def test_everyday_names(published: Resolver, item: str, typed: str) -> None:
    for text in typed.split("|"):
        assert published.find(text).name == item, text
        assert published.resolve([text]) == [item]


@pytest.mark.parametrize(("text", "first"), MISSES.items())
def test_everyday_misses(published: Resolver, text: str, first: str) -> None:
    match = published.find(text)
    assert match.how == "miss"
    assert match.suggestions[: len(first.split())] == tuple(first.split())


#: The same kinds on a vocabulary of its own.
SMALL = """aubergine bay_leaves black_pepper blackberry cheddar_cheese chia_seeds coriander_leaf
    coriander_seed cornflour courgette garbanzo_beans hummus lambs_quarters mincemeat molasses
    plain_flour prawn radish spring_onion sweetbread tomatoes whitefish"""
INLINE = Resolver(sorted(SMALL.split()))


@pytest.mark.parametrize(
    ("text", "expected", "how"),
    [
        ("aubergine", "aubergine", "exact"),
        ("Eggplants", "aubergine", "alias"),
        ("bay leaf", "bay_leaves", "normalised"),
        ("laurel leaves", "bay_leaves", "alias"),
        ("Chia-Seed", "chia_seeds", "normalised"),
        ("chia", ("chia_seeds",), "miss"),
        ("black berries", "blackberry", "normalised"),
        ("chickpea", "garbanzo_beans", "alias"),  # through a member in another number
        ("corn starch", "cornflour", "alias"),
        ("zucchini", "courgette", "alias"),
        ("Shrimps", "prawn", "alias"),
        ("green onions", "spring_onion", "alias"),
        ("coriander", ("coriander_leaf", "coriander_seed"), "miss"),
        ("cilantro", "coriander_leaf", "alias"),
        ("ground coriander", "coriander_seed", "alias"),
        ("all-purpose flour", "plain_flour", "alias"),
        ("Lamb’s Quarters", "lambs_quarters", "normalised"),
        ("tómâtö", "tomatoes", "normalised"),
        ("molasse", ("molasses",), "miss"),
        ("mince meat", ("mincemeat",), "miss"),
        ("pepper", ("black_pepper",), "miss"),
        ("berry", ("blackberry",), "miss"),
        ("seeds of coriander", ("coriander_seed", "chia_seeds", "coriander_leaf"), "miss"),
        ("radsh", ("radish",), "miss"),
        ("xylophone", (), "miss"),
        ("___", (), "miss"),
        ("to\tmato", (), "miss"),
    ],
)
def test_everyday_names_anywhere(text: str, expected: str | tuple[str, ...], how: str) -> None:
    match = INLINE.find(text)
    assert (match.name or match.suggestions, match.how) == (expected, how)


# --- errors and odd texts ------------------------------------------------------------------


def test_every_miss_is_named() -> None:
    typed = ["prawns", *(f"qqq{i:02}" for i in range(25)), "radsh", "radsh", "x\n" * 9 + "x"]
    with pytest.raises(InputError) as caught:
        INLINE.resolve(typed)
    line = str(caught.value)
    assert line.isprintable()
    for text in typed[1:26]:
        assert f"{text} (nothing is similar)" in line
    assert line.count("radsh (try radish)") == 1
    assert "x\\nx" in line
    assert "prawn" not in line


@pytest.mark.parametrize("text", ["", " ", "\t\n", "\u00a0\u3000"])
def test_an_empty_name_is_refused(text: str) -> None:
    for call in (INLINE.find, lambda t: INLINE.resolve(["prawn", t])):
        with pytest.raises(InputError, match="empty name"):
            call(text)


LONG = {
    "letters": "abcdefghij" * 1000,
    "one letter": "e" * 10_000,
    "one word": "w7 " * 3333,
    "words": " ".join(f"w{i} s{i}s" for i in range(1000)),
    "accents": "é" * 5000,
    "expanding": "\ufdfa" * 3333,
    "controls": "\x00\x1b[" * 3000,
    "separators": "-_ '" * 2500 + ".",
    "numbers": "12 345" * 1700,
    "typical": "chineese w1brocoli",
    "sentence": "an ordinary sentence about w3 and w17 of the usual kind of length",
}


def milliseconds(run: Callable[[], object]) -> float:
    """Best of some runs: what it costs when nothing else runs."""
    spent = []
    for _ in range(7):
        start = time.perf_counter()
        run()
        spent.append(time.perf_counter() - start)
    return min(spent) * 1000


@pytest.fixture(scope="module")
def large() -> tuple[list[str], Resolver]:
    """As many names as the published vocabulary has, of its lengths."""
    names = sorted(f"w{i % 400}{'brocolix'[: i % 9]}_s{i}s_n{i % 7}es" for i in range(1790))
    return names, Resolver(names)


def test_building_is_fast(large: tuple[list[str], Resolver]) -> None:
    assert milliseconds(lambda: Resolver(large[0])) < 20


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_odd_texts_miss_fast(large: tuple[list[str], Resolver], text: str) -> None:
    names, resolver = large
    match = resolver.find(text)
    assert match.how == "miss"
    assert set(match.suggestions) <= set(names)
    assert milliseconds(lambda: resolver.find(text)) < 50
