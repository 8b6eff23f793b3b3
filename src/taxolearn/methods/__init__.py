"""One file per published method: the estimators."""
