"""The kinds of data that pass between steps."""

from dataclasses import dataclass

__all__ = ["BoundedStatistic", "Core", "Joined", "Kind", "Released", "Rows"]


@dataclass(frozen=True)
class Kind:
    """What is known about the data between two steps.

    Notes
    -----
    **Privacy**: tells what kind of data comes, not the data: it costs nothing.
    """


@dataclass(frozen=True)
class Rows(Kind):
    """Private rows; neighbouring tables differ in one of them.

    Notes
    -----
    **Privacy**: tells what kind of data comes, not the data: it costs nothing.
    """


@dataclass(frozen=True)
class Core(Rows):
    """Private rows of which every two share a friend under ``predicate``.

    The predicate, or its class where the fit finds it, is what a plan can tell of the core; a fit
    hands on the core together with the very predicate that certified it.

    Notes
    -----
    **Privacy**: tells what kind of data comes, not the data: it costs nothing.
    """

    predicate: object = None  # Predicate, class or None


@dataclass(frozen=True)
class Joined(Rows):
    """Private rows of which each person has one, made of all rows that it had before.

    Notes
    -----
    **Privacy**: tells what kind of data comes, not the data: it costs nothing.
    """


@dataclass(frozen=True)
class BoundedStatistic(Kind):
    """A private statistic, ``name``, that moves by at most ``sensitivity`` between neighbours.

    Notes
    -----
    **Privacy**: tells what kind of data comes, not the data: it costs nothing.
    """

    name: str = ""
    sensitivity: float = 0.0


@dataclass(frozen=True)
class Released(Kind):
    """A value that has passed the Curator; everything computed from it is free.

    ``law`` names its noise: "gaussian", "laplace" or "mixed". ``vector`` tells whether it is a
    vector with independent noise of known size, which is what a denoiser takes.

    Notes
    -----
    **Privacy**: tells what kind of data comes, not the data: it costs nothing.
    """

    law: str = "gaussian"  # {"gaussian", "laplace", "mixed"}
    vector: bool = False
