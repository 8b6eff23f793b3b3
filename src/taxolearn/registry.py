"""The one list of methods: the top-level names, the command line, storage, the checks and the docs table read it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:  # for editors and type checkers; at run time a method is loaded when it is asked for
    from taxolearn.methods.bayesian_recursive_logistic import (
        BayesianRecursiveLogistic as BayesianRecursiveLogistic,
    )
    from taxolearn.methods.covariance_svm import CovarianceSVM as CovarianceSVM
    from taxolearn.methods.graph_recursive_logistic import GraphRecursiveLogistic as GraphRecursiveLogistic
    from taxolearn.methods.graph_recursive_svm import GraphRecursiveSVM as GraphRecursiveSVM
    from taxolearn.methods.hierarchical_svm import HierarchicalSVM as HierarchicalSVM
    from taxolearn.methods.multiclass_svm import MulticlassSVM as MulticlassSVM
    from taxolearn.methods.normalized_svm import NormalizedHierarchicalSVM as NormalizedHierarchicalSVM
    from taxolearn.methods.one_vs_rest_logistic import OneVsRestLogistic as OneVsRestLogistic
    from taxolearn.methods.one_vs_rest_svm import OneVsRestSVM as OneVsRestSVM
    from taxolearn.methods.orthogonal_transfer_svm import OrthogonalTransferSVM as OrthogonalTransferSVM
    from taxolearn.methods.recursive_logistic import RecursiveLogistic as RecursiveLogistic
    from taxolearn.methods.recursive_svm import RecursiveSVM as RecursiveSVM
    from taxolearn.methods.shared_svm import SharedSVM as SharedSVM
    from taxolearn.methods.taxonomy_learning_ridge import TaxonomyLearningRidge as TaxonomyLearningRidge
    from taxolearn.methods.taxonomy_ridge import TaxonomyRidge as TaxonomyRidge
    from taxolearn.methods.top_down_svm import TopDownSVM as TopDownSVM
    from taxolearn.methods.transfer_svm import TransferSVM as TransferSVM
    from taxolearn.methods.tree_loss_svm import TreeLossSVM as TreeLossSVM

_LIBLINEAR = (
    "Fan, Chang, Hsieh, Wang, Lin: LIBLINEAR: A Library for Large Linear Classification. JMLR 9 (2008); "
    "Hsieh et al.: A Dual Coordinate Descent Method for Large-scale Linear SVM. ICML 2008"
)
_LOGISTIC = (
    "Yu, Huang, Lin: Dual Coordinate Descent Methods for Logistic Regression and Maximum Entropy Models. "
    "Machine Learning 85 (2011)"
)
_MULTICLASS = (
    "Crammer, Singer: On the Algorithmic Implementation of Multiclass Kernel-based Vector Machines. "
    "JMLR 2 (2001)"
)
_HSVM = "Cai, Hofmann: Hierarchical Document Categorization with Support Vector Machines. CIKM 2004"
_NHSVM = "Choi, Sasaki, Srebro: Normalized Hierarchical SVM (2015)"
_RECURSIVE = (
    "Gopal, Yang: Recursive Regularization for Large-scale Classification with Hierarchical and Graphical "
    "Dependencies. KDD 2013"
)
_HBLR = "Gopal, Yang, Bai, Niculescu-Mizil: Bayesian Models for Large-scale Hierarchical Classification. NIPS 2012"
_TOP_DOWN = "Dumais, Chen: Hierarchical Classification of Web Content. SIGIR 2000"
_TRANSFER = "Zhou, Xiao, Wu: Hierarchical Classification via Orthogonal Transfer. ICML 2011"
_TAXONOMY_MATRIX = "Mroueh, Poggio, Rosasco: Multi-category and Taxonomy Learning"


class Method(NamedTuple):
    """A method: its name on the command line, its class and the file it lives in, what it is, its losses (default
    first; none: it has one and no parameter for it), and its paper.

    `several` says whether a row may have several labels, `room` in which package the file is.

    >>> METHODS[0].name, METHODS[0].class_name
    ('svm', 'OneVsRestSVM')
    """

    name: str
    class_name: str
    module: str
    title: str
    losses: tuple[str, ...]
    paper: str
    several: bool = True
    room: str = "methods"

    @property
    def home(self) -> str:
        """The module that the class lives in.

        >>> METHODS[0].home
        'taxolearn.methods.one_vs_rest_svm'
        """
        return f"taxolearn.{self.room}.{self.module}"

    @property
    def kind(self) -> Any:
        """The class itself, loaded when asked for.

        >>> METHODS[0].kind.__name__
        'OneVsRestSVM'
        """
        return getattr(import_module(self.home), self.class_name)


_HINGES = ("squared_hinge", "hinge")

METHODS = (
    Method(
        "svm", "OneVsRestSVM", "one_vs_rest_svm", "one-vs-rest support vector machine", _HINGES, _LIBLINEAR
    ),
    Method(
        "logistic",
        "OneVsRestLogistic",
        "one_vs_rest_logistic",
        "one-vs-rest logistic regression",
        ("logistic",),
        _LOGISTIC,
    ),
    Method(
        "multiclass",
        "MulticlassSVM",
        "multiclass_svm",
        "multi-class support vector machine, all classes compared",
        (),
        _MULTICLASS,
    ),
    Method(
        "hierarchical",
        "HierarchicalSVM",
        "hierarchical_svm",
        "hierarchical support vector machine, mistakes cost by the taxonomy",
        (),
        _HSVM,
    ),
    Method(
        "normalized",
        "NormalizedHierarchicalSVM",
        "normalized_svm",
        "hierarchical support vector machine with normalised node scales",
        (),
        _NHSVM,
    ),
    Method(
        "shared",
        "SharedSVM",
        "shared_svm",
        "hierarchical support vector machine that learns its node scales",
        (),
        _NHSVM,
        several=False,
    ),
    Method(
        "recursive",
        "RecursiveSVM",
        "recursive_svm",
        "support vector machine held close to the parent in the taxonomy",
        _HINGES,
        _RECURSIVE,
    ),
    Method(
        "recursive-logistic",
        "RecursiveLogistic",
        "recursive_logistic",
        "logistic regression held close to the parent in the taxonomy",
        ("logistic", "softmax"),
        _RECURSIVE,
    ),
    Method(
        "bayesian",
        "BayesianRecursiveLogistic",
        "bayesian_recursive_logistic",
        "softmax regression held close to the parent in the taxonomy, with learned variances",
        ("softmax",),
        _HBLR,
        several=False,
    ),
    Method(
        "graph",
        "GraphRecursiveSVM",
        "graph_recursive_svm",
        "support vector machine held close to the neighbours in a graph of classes",
        _HINGES,
        _RECURSIVE,
    ),
    Method(
        "graph-logistic",
        "GraphRecursiveLogistic",
        "graph_recursive_logistic",
        "logistic regression held close to the neighbours in a graph of classes",
        ("logistic", "softmax"),
        _RECURSIVE,
    ),
    Method(
        "top-down",
        "TopDownSVM",
        "top_down_svm",
        "a support vector machine or logistic regression at each inner node, from the root down",
        ("multiclass", "squared_hinge", "logistic"),
        _TOP_DOWN,
        several=False,
    ),
    Method(
        "orthogonal-transfer",
        "OrthogonalTransferSVM",
        "orthogonal_transfer_svm",
        "recursive classifier with sibling margins, nodes orthogonal to their ancestors",
        (),
        _TRANSFER,
        several=False,
    ),
    Method(
        "transfer",
        "TransferSVM",
        "transfer_svm",
        "recursive classifier with sibling margins, nodes drawn to their children",
        (),
        _TRANSFER,
        several=False,
    ),
    Method(
        "tree-loss",
        "TreeLossSVM",
        "tree_loss_svm",
        "hierarchical support vector machine, slacks divided by the tree-induced loss",
        (),
        _TRANSFER,
        several=False,
    ),
    Method(
        "covariance",
        "CovarianceSVM",
        "covariance_svm",
        "support vector machine or logistic regression under a given covariance of the classes",
        ("squared_hinge", "hinge", "logistic"),
        _TAXONOMY_MATRIX,
    ),
    Method(
        "ridge",
        "TaxonomyRidge",
        "taxonomy_ridge",
        "least squares under a given covariance of the classes",
        (),
        _TAXONOMY_MATRIX,
    ),
    Method(
        "learned-ridge",
        "TaxonomyLearningRidge",
        "taxonomy_learning_ridge",
        "least squares that learns the covariance of the classes",
        (),
        _TAXONOMY_MATRIX,
    ),
)

# To begin with: chooses one of the methods, and is what is used where no method is named.
STARTER = Method(
    "auto",
    "TaxonomyClassifier",
    "taxonomy_classifier",
    "the method, its strength and its decision chosen on held-out rows",
    (),
    "one of the methods below",
    room="selection",
)

# What the choice of a method may end at: two of them, added up.
BLEND = Method(
    "blend",
    "Blend",
    "blend",
    "methods whose scores are added up",
    (),
    "Genest, Zidek: Combining Probability Distributions. Statistical Science 1 (1986)",
    several=False,
    room="selection",
)


def method_of(class_name: str) -> Method | None:
    """The method of a class name, None if there is none.

    >>> method_of("OneVsRestSVM").name, method_of("TaxonomyClassifier").name
    ('svm', 'auto')
    """
    return next((method for method in (STARTER, BLEND, *METHODS) if method.class_name == class_name), None)
