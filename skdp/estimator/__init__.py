"""The life of a fit: what every estimator shares."""
