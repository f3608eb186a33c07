"""A shop's categories and 200 products, for the worked example of docs/taxonomies.md."""

from __future__ import annotations

import csv
import random
from pathlib import Path

CATEGORIES = {
    "FT-10": (
        "Running shoes",
        "Footwear",
        ["running shoe", "trail runner", "racing flat", "jogging trainer"],
    ),
    "FT-20": ("Hiking boots", "Footwear", ["hiking boot", "trekking boot", "walking boot", "mountain boot"]),
    "FT-30": ("Sandals", "Footwear", ["sandal", "flip-flop", "beach slide"]),
    "CL-10": ("Rain jackets", "Clothing", ["rain jacket", "waterproof shell", "cagoule", "storm anorak"]),
    "CL-20": ("Winter coats", "Clothing", ["winter coat", "down parka", "padded coat"]),
    "CL-30": ("Base layers", "Clothing", ["base layer", "merino undershirt", "thermal top"]),
    "CL-40": ("Gloves", "Clothing", ["glove", "mitten", "liner glove"]),
    "BG-10": ("Backpacks", "Bags", ["backpack", "daypack", "rucksack"]),
    "BG-20": ("Travel bags", "Bags", ["travel bag", "duffel", "cabin holdall"]),
    "CP-10": ("Tents", "Camping", ["tent", "bivouac shelter", "tunnel tent"]),
    "CP-20": ("Sleeping bags", "Camping", ["sleeping bag", "down quilt", "sleep bag"]),
    "CP-30": ("Camping stoves", "Camping", ["camping stove", "gas burner", "cooking stove"]),
    "CP-40": ("Water bottles", "Camping", ["water bottle", "insulated flask", "drinking bottle"]),
    "BK-10": ("Bicycle lights", "Cycling", ["bicycle light", "rear lamp", "front light"]),
    "BK-20": ("Bicycle locks", "Cycling", ["bicycle lock", "folding lock", "chain lock"]),
    "BK-30": ("Cycling helmets", "Cycling", ["cycling helmet", "road helmet", "commuter helmet"]),
}
"""Code to name, parent, and what products of it are called."""

MAKERS = ["Alder", "Borel", "Corvo", "Dunmore", "Eyre", "Fjordlys", "Gannet", "Harrow"]
QUALITIES = [
    "light",
    "classic",
    "compact",
    "women's",
    "men's",
    "recycled",
    "grey",
    "blue",
    "size 42",
    "1.5 l",
]
ROWS = 200


def write_shop(folder: Path) -> None:
    """Write ``categories.csv`` (code, name, parent) and ``products.csv`` (sku, title, category)."""
    draw = random.Random(7)
    with (folder / "categories.csv").open("w", newline="") as stream:
        lines = csv.writer(stream)
        lines.writerow(["code", "name", "parent"])
        lines.writerows([code, name, parent] for code, (name, parent, _) in CATEGORIES.items())
    with (folder / "products.csv").open("w", newline="") as stream:
        lines = csv.writer(stream)
        lines.writerow(["sku", "title", "category"])
        for number in range(ROWS):
            code = draw.choice(list(CATEGORIES))
            title = f"{draw.choice(MAKERS)} {draw.choice(QUALITIES)} {draw.choice(CATEGORIES[code][2])}"
            lines.writerow([f"P{number:04}", title, code])
