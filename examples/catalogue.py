"""A product catalogue: paths in, a certified model, an explained answer, and a model on disk.

python examples/catalogue.py
"""

from __future__ import annotations

import tempfile

from taxolearn import OneVsRestSVM, Taxonomy, TextClassifier, load, metrics
from taxolearn.text import TextFeatures

PRODUCTS = [
    ("stainless steel kettle, 1.7 litres", "Kitchen/Kettles"),
    ("whistling kettle for gas stoves", "Kitchen/Kettles"),
    ("electric kettle with temperature control", "Kitchen/Kettles"),
    ("cast iron frying pan, 26 cm", "Kitchen/Pans/Frying pans"),
    ("non-stick frying pan with lid", "Kitchen/Pans/Frying pans"),
    ("copper sauce pan with pouring lip", "Kitchen/Pans/Sauce pans"),
    ("small sauce pan for milk", "Kitchen/Pans/Sauce pans"),
    ("garden hose, 20 metres, with reel", "Garden/Hoses"),
    ("expandable hose with spray gun", "Garden/Hoses"),
    ("pruning shears for roses", "Garden/Shears"),
    ("hedge shears with long handles", "Garden/Shears"),
]


def main() -> None:
    texts = [text for text, _ in PRODUCTS]
    paths = [path for _, path in PRODUCTS]
    taxonomy = Taxonomy.from_paths(paths)
    print(taxonomy.to_text())
    labels = [path.split("/")[-1] for path in paths]
    features = TextFeatures(analyzer="word+char", sublinear_tf=True)
    model = TextClassifier(OneVsRestSVM(taxonomy=taxonomy, random_state=0), features).fit(texts, labels)
    print(model.certificate_)
    print("tree loss on the products themselves:", metrics.tree_loss(labels, model.predict(texts), taxonomy))
    print(model.explain("frying pan of copper"))
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder)
        print(load(folder).predict_path(["a kettle that whistles"]))


if __name__ == "__main__":
    main()
