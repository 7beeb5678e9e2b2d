"""Statistics of one subject each, for one room of estimators."""
