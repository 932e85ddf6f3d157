"""Categories, regions and diets: the vocabulary of tags, and what complements what."""

from __future__ import annotations

#: Category → the categories that complement it. Its keys are the core categories.
COMPLEMENTS: dict[str, tuple[str, ...]] = {
    "Beverage": ("Fruit", "Herb", "Spice", "Sweet"),
    "Dairy": ("Fruit", "Grain", "Herb", "Spice", "Sweet"),
    "Fat/Oil": ("Herb", "Spice", "Vegetable", "Grain"),
    "Fish": ("Herb", "Spice", "Vegetable", "Grain"),
    "Fruit": ("Dairy", "Herb", "Spice", "Sweet", "Nut/Seed"),
    "Grain": ("Dairy", "Legume", "Meat", "Vegetable", "Spice"),
    "Herb": ("Meat", "Fish", "Seafood", "Vegetable", "Dairy"),
    "Legume": ("Herb", "Grain", "Spice", "Vegetable", "Fat/Oil"),
    "Meat": ("Herb", "Spice", "Vegetable", "Grain"),
    "Nut/Seed": ("Fruit", "Sweet", "Grain", "Vegetable", "Spice"),
    "Seafood": ("Herb", "Spice", "Vegetable", "Grain"),
    "Spice": ("Meat", "Fish", "Seafood", "Vegetable", "Fruit"),
    "Sweet": ("Fruit", "Dairy", "Grain", "Nut/Seed", "Beverage"),
    "Vegetable": ("Herb", "Spice", "Grain", "Legume", "Dairy"),
}
#: The others exist in the data and take no part in tasks.
CATEGORIES = (*COMPLEMENTS, "Bakery", "Pantry", "Seed")
REGIONS = (
    "Japanese",
    "East_Asian",
    "Southeast_Asian",
    "South_Asian",
    "Latin_American",
    "Mediterranean",
    "Eastern_European",
    "Western_Atlantic",
)
#: The tag of items at home everywhere; no region of its own.
UNIVERSAL = "universal"
#: Region tags in the order of their bits.
REGION_TAGS = (*REGIONS, UNIVERSAL)
DIETS = ("vegan", "vegetarian")
NOVA_LEVELS = (1, 2, 3, 4)
#: Said wherever diet or NOVA flags are shown.
FLAGS_NOTE = (
    "Diet and NOVA flags are the benchmark's own rules, not dietary or allergen advice: they"
    " follow the category, so that lard or fish sauce may pass as vegan."
)
