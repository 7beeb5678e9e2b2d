"""What a fitted estimator may keep for its owner although it is private."""


class Local:
    """Base of objects that are **local and private**, as private as the rows they come from.

    Estimators lose them when they are pickled or copied, and they do not show themselves.

    See Also
    --------
    PrivateEstimator

    Notes
    -----
    **Privacy**: none: it is as private as the rows, and only keeps itself out of pickles, copies
    and representations.

    Examples
    --------
    >>> from skdp.base import Local
    >>> class Labels(Local):
    ...     def __init__(self, values):
    ...         self.values = values
    ...
    >>> labels = Labels([0, 1, 1])
    >>> "[0, 1" in repr(labels)
    False
    """

    def __repr__(self):
        return f"<{type(self).__name__}: local and private, contents not shown>"

    def __reduce_ex__(self, protocol):
        raise TypeError(
            f"a {type(self).__name__} is private and cannot be pickled or copied. Release what you "
            "need of it through a Curator."
        )


class DropsPrivateState:
    """Mixin of estimators that may have local attributes, which pickles and copies leave behind."""

    def __getstate__(self):
        """Return what a pickle or a copy takes along: everything but what is local."""
        state = super().__getstate__()
        return {name: value for name, value in state.items() if not isinstance(value, Local)}
