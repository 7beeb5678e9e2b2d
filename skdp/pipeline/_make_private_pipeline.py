"""A PrivatePipeline whose steps name themselves."""

from skdp.pipeline._private_pipeline import PrivatePipeline


def make_private_pipeline(*steps, **parameters):
    """Return a PrivatePipeline whose steps are named by their classes.

    Parameters
    ----------
    *steps : estimators
    **parameters
        Of :class:`PrivatePipeline`: ``epsilon``, ``delta``, ``split``, ``random_state``,
        ``ledger``, ``verbose``.

    Returns
    -------
    pipeline : PrivatePipeline

    See Also
    --------
    PrivatePipeline, check_pipeline

    Notes
    -----
    **Privacy**: that of :class:`PrivatePipeline`: one (epsilon, delta) for all steps together.

    Examples
    --------
    >>> from skdp import FriendlyCoreFilter, JamesSteinDenoiser, PrivateMean, make_private_pipeline
    >>> pipe = make_private_pipeline(FriendlyCoreFilter(), PrivateMean(), JamesSteinDenoiser())
    >>> [name for name, _ in pipe.steps]
    ['friendlycorefilter', 'privatemean', 'jamessteindenoiser']
    """
    names = [step if isinstance(step, str) else type(step).__name__.lower() for step in steps]
    numbered = [
        f"{name}-{names[: i + 1].count(name)}" if names.count(name) > 1 else name
        for i, name in enumerate(names)
    ]
    return PrivatePipeline(list(zip(numbered, steps, strict=True)), **parameters)
