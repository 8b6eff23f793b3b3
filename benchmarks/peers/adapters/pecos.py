"""PECOS: XR-Linear over a tree of labels that hierarchical 2-means makes, as its manual has it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from problem import Problem, Scored, as_sparse

PACKAGE, ENVIRONMENT = "libpecos", "pecos"


class XLinear(Scored):
    """Labels embedded by the mean of their rows, clustered, then a linear ranker at each node."""

    def __init__(self, problem: Problem) -> None:
        from pecos import xmc
        from pecos.xmc.xlinear import model

        self.problem, self.xmc, self.kind = problem, xmc, model.XLinearModel
        self.X, self.X_test = as_sparse(problem.X), as_sparse(problem.X_test)
        self.Y = as_sparse(problem.Y)

    def fit(self) -> None:
        of_labels = self.xmc.LabelEmbeddingFactory.create(self.Y, self.X, method="pifa")
        chain = self.xmc.Indexer.gen(of_labels, indexer_type="hierarchicalkmeans", threads=1)
        self.model = self.kind.train(self.X, self.Y, C=chain, threads=1)

    def pairs(self, k: int) -> list[list[tuple[int, float]]]:
        found = self.model.predict(self.X_test, only_topk=k, threads=1)
        rows = []
        for a, b in zip(found.indptr[:-1], found.indptr[1:], strict=True):
            order = np.argsort(-found.data[a:b], kind="stable")
            rows.append(
                list(zip(found.indices[a:b][order].tolist(), found.data[a:b][order].tolist(), strict=True))
            )
        return rows

    def save(self, folder: Path) -> None:
        self.model.save(str(folder))


ENTRANTS = {"PECOS XR-Linear": XLinear}
