"""OneVsRestSVM and LinearSVC reach the same objective and the same predictions, and the certificate holds.

    python benchmarks/bench_liblinear_equal.py FOLDER_OF_DATA

clef and trec_question, hinge and squared hinge, C = 1, same intercept. LinearSVC gets a million epochs: on clef's
hinge it needs about 200,000 to meet its own default tolerance. Objective and certificate are those of tol=1e-4. Rows
that lie between two classes are decided by further digits, so predictions are compared at tol=1e-6 (those of 1e-4
are printed too); at least 99.5% must be the same.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from _data import load
from bench_liblinear_speed import objective
from sklearn.base import clone
from sklearn.preprocessing import label_binarize
from sklearn.svm import LinearSVC

from taxolearn import OneVsRestSVM

LIMIT = 1e-4


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    warnings.filterwarnings("ignore")
    worst, failed = 0.0, False
    for name in ("clef", "trec_question"):
        X, y, X_test, y_test, taxonomy = load(sys.argv[1], name)
        Y = label_binarize(y, classes=np.unique(y)).astype(bool)
        for loss in ("squared_hinge", "hinge"):
            theirs = LinearSVC(C=1.0, loss=loss, dual=True, max_iter=1_000_000, random_state=0).fit(X, y)
            ours = OneVsRestSVM(taxonomy, C=1.0, loss=loss, tol=1e-4, n_jobs=-1, random_state=0).fit(X, y)
            order = [list(ours.classes_).index(label) for label in theirs.classes_]
            mine = objective(ours.coef_[order], ours.intercept_[order], X, Y, loss)
            reference = objective(theirs.coef_, theirs.intercept_, X, Y, loss)
            difference = (mine - reference) / reference
            expected = theirs.predict(X_test)
            same = [
                float((model.predict(X_test) == expected).mean())
                for model in (ours, clone(ours).set_params(tol=1e-6).fit(X, y))
            ]
            accuracy = ours.score(X_test, y_test), theirs.score(X_test, y_test)
            holds = ours.certificate_.holds(1e-4) and ours.certificate_.primal >= ours.certificate_.dual
            consistent = abs(mine - ours.certificate_.primal) <= 1e-9 * mine
            worst = max(worst, abs(difference))
            bounded = reference >= ours.certificate_.dual * (1 - 1e-12)
            failed |= abs(difference) > LIMIT or not (holds and consistent and bounded) or same[1] < 0.995
            print(
                f"{name:14} {loss:14} objective taxolearn {mine:.6f} LinearSVC {reference:.6f} "
                f"relative {difference:+.1e}  "
                f"certified gap {ours.certificate_.gap:.1e}  "
                f"same predictions {100 * same[0]:.2f}%, at 1e-6 {100 * same[1]:.2f}%  "
                f"accuracy {100 * accuracy[0]:.2f} / {100 * accuracy[1]:.2f}",
                flush=True,
            )
    print(f"largest relative difference between the objectives: {worst:.1e} (limit {LIMIT})")
    sys.exit(failed)


if __name__ == "__main__":
    main()
