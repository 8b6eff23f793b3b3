"""omikuji: Parabel's trees of labels at their defaults, from Python."""

from __future__ import annotations

from pathlib import Path

from problem import Problem, Scored, as_sparse

PACKAGE, ENVIRONMENT = "omikuji", "classic"


class Parabel(Scored):
    """Three trees that omikuji makes of the labels; it reads its rows from a file, which is written before."""

    def __init__(self, problem: Problem) -> None:
        import omikuji

        self.problem, self.kind = problem, omikuji.Model
        X = as_sparse(problem.X)
        self.file = problem.scratch / "rows.txt"
        with open(self.file, "w", encoding="ascii") as file:
            file.write(f"{X.shape[0]} {X.shape[1]} {problem.Y.shape[1]}\n")
            for i in range(X.shape[0]):
                labels = problem.Y.indices[problem.Y.indptr[i] : problem.Y.indptr[i + 1]]
                part = slice(X.indptr[i], X.indptr[i + 1])
                pairs = zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True)
                file.write(
                    ",".join(map(str, labels)) + " " + " ".join(f"{j}:{v:.7g}" for j, v in pairs) + "\n"
                )
        asked = as_sparse(problem.X_test)
        self.rows = [
            list(zip(asked.indices[a:b].tolist(), asked.data[a:b].tolist(), strict=True))
            for a, b in zip(asked.indptr[:-1], asked.indptr[1:], strict=True)
        ]

    def fit(self) -> None:
        self.model = self.kind.train_on_data(str(self.file), n_threads=1)

    def pairs(self, k: int) -> list[list[tuple[int, float]]]:
        self.model.init_prediction_thread_pool(1)
        return [self.model.predict(row, top_k=k) for row in self.rows]

    def save(self, folder: Path) -> None:
        self.model.save(str(folder))


ENTRANTS = {"omikuji (Parabel)": Parabel}
