"""Certificates: primal, dual and gap recomputed from the definition, with bounds on their rounding.

Nothing here is shared with the solvers or their kernels: a certificate takes the objective, the vectors and the dual,
and evaluates both objectives as they are written down. Any feasible dual bounds the optimum from below and any vectors
bound it from above, so the gap is a proof that does not depend on how the two were found.
"""

from taxolearn.certificates.base import Certificate
from taxolearn.certificates.certify import certify
from taxolearn.certificates.cost import expected_seconds

__all__ = ["Certificate", "certify", "expected_seconds"]
