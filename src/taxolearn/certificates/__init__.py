"""Certificates: primal, dual and gap recomputed from the definition, in float64.

Nothing here is shared with the solvers or their kernels: a certificate takes the problem, the weights and the
dual, and evaluates both objectives as they are written down. Any feasible dual bounds the optimum from
below and any weights bound it from above, so the gap is a proof that does not depend on how the two were found.
"""

from taxolearn.certificates.base import Certificate
from taxolearn.certificates.graph import certify_graph
from taxolearn.certificates.one_vs_rest import certify_one_vs_rest
from taxolearn.certificates.path_sum import certify_path_sum
from taxolearn.certificates.shared import certify_shared
from taxolearn.certificates.softmax import certify_softmax
from taxolearn.certificates.structured import certify_structured

__all__ = [
    "Certificate",
    "certify_graph",
    "certify_one_vs_rest",
    "certify_path_sum",
    "certify_shared",
    "certify_softmax",
    "certify_structured",
]
