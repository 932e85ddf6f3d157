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
from flavourbench.environment.suggestions import hints
from flavourbench.environment.words import SPELLINGS
from flavourbench.errors import InputError

# --- suggestions by brute force ------------------------------------------------------------


@cache
def slips(a: str, b: str) -> int:
    """Fewest insertions, deletions, replacements and exchanges of neighbours, by definition."""

    @cache
    def distance(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        ways = [distance(i - 1, j) + 1, distance(i, j - 1) + 1]
        ways.append(distance(i - 1, j - 1) + (a[i - 1] != b[j - 1]))
        if i > 1 and j > 1 and a[i - 2 : i] == b[j - 1] + b[j - 2]:
            ways.append(distance(i - 2, j - 2) + 1)
        return min(ways)

    return distance(len(a), len(b))


def with_slips(text: str, other: str) -> float:
    """Likeness of two texts: the share of letters without a slip, 0 beyond a third."""
    if len(text) < 4 or abs(len(text) - len(other)) > len(text) // 3:
        return 0
    found = slips(text, other)
    # Several leave the first letter as it is.
    likely = found <= (len(text) // 3 if text[0] == other[0] else 1)
    return 1 - found / len(text) if likely else 0


def alike(word: str, other: str, *, known: bool) -> float:
    """Likeness of a typed word to a word of a name."""
    if word == other:
        return 1
    share = len(word) / len(other)
    ends = other.startswith(word) or other.endswith(word)
    part = 0.5 + 0.4 * share if len(word) >= 3 and ends and share >= 0.5 else 0
    return max(part, 0 if known else with_slips(word, other))


def likeness(items: list[str], text: str) -> dict[str, float]:
    """Likeness of each item, by its definition; for words without s, digits and synonyms."""
    typed = list(dict.fromkeys(text.split()))[:12]
    vocabulary = {word for name in items for word in name.split("_")}

    def telling(word: str) -> bool:
        likes = [alike(word, other, known=word in vocabulary) for other in vocabulary]
        return any(likes) and word not in ("big", "raw")

    weight = {word: 1 if telling(word) else 0.2 for word in typed}
    found = {}
    for name in items:
        own = list(dict.fromkeys(name.split("_")))
        total, used = 0.0, set()
        for word in typed:
            values = {other: alike(word, other, known=word in vocabulary) for other in own}
            total += weight[word] * max(values.values())
            used |= {other for other, value in values.items() if value}
        value = total / sum(weight.values()) - 0.1 * (len(own) - len(used)) if used else 0
        found[name] = max(value, with_slips("".join(text.split()), name.replace("_", "")))
    return found


def suggested(items: list[str], text: str) -> tuple[str, ...]:
    """The rule word for word."""
    values = {name: round(value, 6) for name, value in likeness(items, text).items()}
    order = sorted(items, key=lambda name: (-values[name], len(set(name.split("_"))), name))
    return tuple(name for name in order if values[name] >= 0.3)[:3]


#: Few letters and words, so that names share words, parts of words and most letters.
_word = st.one_of(
    st.text("abc", min_size=1, max_size=7), st.sampled_from(["abca", "babacb", "big", "raw"])
)
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


_long = st.text("abc", min_size=4, max_size=90)


@given(_long, st.data())
@few(300)
def test_slips_in_texts_of_any_length(text: str, data: st.DataObject) -> None:
    """Around the limit, where being off by one shows."""
    letters = list(text)
    for _ in range(data.draw(st.integers(0, len(text) // 3 + 2))):
        at = data.draw(st.integers(0, len(letters)))
        if data.draw(st.booleans()):
            letters[at : at + 2] = letters[at : at + 2][::-1]
        else:
            letters[at : at + data.draw(st.integers(0, 1))] = data.draw(
                st.sampled_from(["", "a", "d"])
            )
    other = "".join(letters) or "d"
    match = Resolver([other]).find(text)
    near = alike(text, other, known=False) >= 0.3
    assert match == (
        Match(text, other, "exact", ())
        if other == text
        else Match(text, None, "miss", (other,) if near else ())
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
    """Whether the words of a text are some of an item's, in either number and any spelling."""

    def words(name: str) -> set[str]:
        return {SPELLINGS.get(word, word).removesuffix("s") for word in name.split("_")}

    return words(text) < words(item) - {"of"}


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


# --- the file of suggestions ---------------------------------------------------------------


def test_suggestions_are_well_formed() -> None:
    names = [name for names, _ in hints() for name in names]
    suggested = [name for _, found in hints() for name in found]
    assert len(names) > 300
    assert len(set(names)) == len(names)
    bad = [n for n in names + suggested if not re.fullmatch("[a-z0-9]+(_[a-z0-9]+)*", n)]
    assert bad == []
    assert all(len(set(found)) == len(found) <= 3 for _, found in hints())
    # An environment with the suggestions alone has no item of those names.
    resolver = Resolver(sorted(set(suggested)))
    assert {name for name in names if resolver.find(name).how != "miss"} <= set(suggested)


def test_suggestions_are_items_of_the_published_vocabulary(published: Resolver) -> None:
    for names, suggested in hints():
        assert [name for name in suggested if published.find(name).how != "exact"] == []
        for name in names:
            assert published.find(name).suggestions == suggested, name


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
    "chili_pepper": "chilli peppers | Chile Pepper | chilli-pepper | hot pepper",
    "chili_sauce": "chilli sauce | Chile sauces",
    "barbecue_sauce": "BBQ sauce | barbeque sauce",
    "bok_choy": "pac choi | pak choi | bok choi | Pak-Choy",
    "cola": "Coke | Coca-Cola",
    "birds_eye_chili": "bird's eye chilli | Bird\u2019s-eye chilies | thai chili | Thai chillies",
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
    "olive_oil": "extra virgin olive oil | olive oils | EVOO",
    "canola_oil": "rapeseed oil | canola oil",
    "lambs_quarters": "lamb's quarters | lambs' quarters | lamb quarter",
    "hearts_of_palm": "heart of palm | palm hearts",
    "okra": "lady's finger | lady's fingers | ladies' fingers | bhindi",
    "ladyfinger": "ladyfingers | savoiardi",
    "garlic_chive": 'Chinese chives, | (garlic chives) | "garlic-chives"!',
    "gammon": "gammon | gammon steak",
    "ghee": "clarified butter | Ghee",
    "whiskey": "whisky | whiskies | whiskeys",
}

#: What people type that no single item is → the first suggestions.
MISSES = {
    # Shortened names are not guessed.
    "cheddar": "cheddar_cheese",
    "Gruyère": "gruyere_cheese",
    "Parmesan": "parmesan_cheese",
    "feta": "feta_cheese",
    "hoisin": "hoisin_sauce",
    "yolks": "egg_yolk",
    "chia": "chia_seed",
    "sesame": "sesame_seed",
    "treacle": "black_treacle",
    "chili": "chili_pepper",
    "chillies": "chili_pepper",
    "bird chillis": "birds_eye_chili",
    "coriander seeds": "coriander",
    "bitter": "bitter_almond bitter_green bitter_melon",
    "lemon grass stalks": "lemongrass",
    # Slips, in names, in synonyms and in a part of a name.
    "brocoli": "broccoli broccoli_rabe",
    "zuchini": "zucchini",
    "Tumeric": "turmeric",
    "oinon": "onion",
    "courgete": "zucchini",
    "aubergene": "eggplant",
    "mozarella": "mozzarella_cheese",
    "parmesean": "parmesan_cheese",
    "worchestershire": "worcestershire_sauce",
    "bluberries": "blueberry",
    "chineese brocoli": "chinese_broccoli",
    "balsamic vinigar": "balsamic_vinegar",
    "sun dryed tomatos": "sun_dried_tomato",
    "\u0422omato": "tomato",  # a Cyrillic capital
    # Words of form and preparation say little.
    "butter, unsalted": "butter",
    "2 tomatoes": "tomato",
    "dried oregano": "oregano",
    "fresh basil leaves, chopped": "basil",
    "lemon juice": "lemon",
    "chicken breasts": "chicken",
    "salted peanuts": "peanut",
    # Kinds, cuts, brands, and names with several meanings.
    "white fish": "whitefish cod fish",
    "sweet bread": "sweetbread bread",
    "corn flour": "cornmeal cornstarch flour",
    "rice flour": "glutinous_rice_flour rice",
    "heavy cream": "cream",
    "double cream": "cream",
    "icing sugar": "sugar",
    "ground beef": "beef",
    "beef mince": "beef",
    "greek yoghurt": "yogurt labneh",
    "chilli flakes": "chili_pepper cayenne_pepper",
    "king prawns": "shrimp",
    "sprouts": "brussels_sprout bean_sprout alfalfa_sprout",
    "pickles": "pickled_cucumber pickle_relish pickle_juice",
    "spaghetti": "pasta",
    "lasagne sheets": "pasta",
    "arborio": "rice",
    "skimmed milk": "milk",
    "caster sugar": "sugar",
    "sea salt": "salt",
    "half-and-half": "cream milk",
    "rashers": "bacon",
    "beef stock": "broth",
    "HP sauce": "brown_sauce",
    "Tabasco": "hot_sauce",
    "Guinness": "stout beer",
    "besan": "chickpea",
    "lady fingers": "okra ladyfinger",
    # What nobody knows says little, and what follows a preposition tells of the thing before.
    "2 free range eggs": "egg",
    "a handful of spinach": "spinach",
    "salt to taste": "salt",
    "tuna in brine": "tuna",
    "salmon fillet, skin on": "salmon",
    "long life milk": "milk",
    "0% fat greek yoghurt": "yogurt",
    "vegetables": "mixed_vegetable",
    "chips": "potato",
    "ham hock": "ham",
    "golden caster sugar": "sugar",
    "half & half": "cream milk",
    # Nothing, rather than chance.
    "xylophone": "",
    "keyboard": "",
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
    assert match.suggestions[: len(first.split()) or None] == tuple(first.split())


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
        ("seeds of coriander", ("coriander_seed", "coriander_leaf"), "miss"),
        ("radsh", ("radish",), "miss"),
        ("xylophone", (), "miss"),
        ("___", (), "miss"),
        ("to\tmato", ("tomatoes",), "miss"),
        ("t\to\tm", (), "miss"),
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


@pytest.mark.timed
def test_building_is_fast(large: tuple[list[str], Resolver]) -> None:
    assert milliseconds(lambda: Resolver(large[0])) < 20


@pytest.mark.timed
@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_odd_texts_miss_fast(large: tuple[list[str], Resolver], text: str) -> None:
    names, resolver = large
    match = resolver.find(text)
    assert match.how == "miss"
    assert set(match.suggestions) <= set(names)
    assert milliseconds(lambda: resolver.find(text)) < 50
