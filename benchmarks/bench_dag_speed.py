"""CPU time of recursive regularization on a DAG: tree sweeps over the unfolded DAG against descent with kept vectors.

    python benchmarks/bench_dag_speed.py FOLDER_OF_DATA [--rows 10000]

wordnet_nouns (words of glosses, labels at inner nodes too), squared hinge, C = 1, intercepts tied to 0, pinned root,
one thread, both from a cold start to a gap of 5e-2; compilation is not in it. Also told: how much longer the walk over
the unfolded DAG is than one that could visit every node once.

Prints the ratio last; exits with 1 if it is above 0.5, or if a gap is not certified.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings

import numpy as np
import table_recursive

from taxolearn.certificates import certify
from taxolearn.losses import SquaredHinge
from taxolearn.objective import Objective
from taxolearn.problem import make_problem
from taxolearn.solvers import Limits, solve_path_descent, solve_tree_sweeps
from taxolearn.solvers.tree_forest import make_forest
from taxolearn.ties import path_sum

TOL, LIMIT = 5e-2, 0.5


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder")
    parser.add_argument("--rows", type=int, default=10_000)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    table_recursive.WORDNET_ROWS = arguments.rows
    X, y, _, _, taxonomy = table_recursive.data_of(arguments.folder, "wordnet_nouns")
    problem = make_problem(X, list(y), taxonomy)
    scale = np.ones(taxonomy.n_nodes)
    scale[0] = 0.0
    tie = path_sum(taxonomy, problem.class_nodes, scale)
    forest = make_forest(tie, np.ones(problem.n_classes, dtype=bool))
    print(
        f"{problem.n_classes} classes, {taxonomy.n_nodes} nodes, {len(forest.end)} places of the walk; "
        f"{forest.unfolding:.2f} classes below places for each one below nodes"
    )
    objective, seconds, proved = Objective(problem, SquaredHinge(), tie), {}, True
    for solve in (solve_tree_sweeps, solve_path_descent):
        solve(objective, Limits(0.99, max_iter=1))  # compiles
        began = time.process_time()
        solution = solve(objective, Limits(TOL))
        seconds[solve] = time.process_time() - began
        certificate = certify(objective, solution)
        proved &= certificate.holds(TOL)
        print(
            f"{solve.__name__}: {seconds[solve]:.1f} s, {solution.n_iter} passes, certified gap {certificate.gap:.1e}"
        )
    ratio = seconds[solve_tree_sweeps] / seconds[solve_path_descent]
    print(f"tree sweeps take {ratio:.2f} of the CPU time of path descent (limit {LIMIT})")
    return 0 if proved and ratio <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
