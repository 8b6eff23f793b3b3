"""Is a taxonomy what the rows say? Findings on held-out rows, none of them within noise."""

from taxolearn.auditing.audit import audit
from taxolearn.auditing.findings import Loose, Misplaced, Move, Suspect, Twins
from taxolearn.auditing.report import Audit, Table

__all__ = ["Audit", "Loose", "Misplaced", "Move", "Suspect", "Table", "Twins", "audit"]
