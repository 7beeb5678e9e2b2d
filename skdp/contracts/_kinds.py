"""The kinds of data that pass between steps."""

from dataclasses import dataclass

__all__ = ["BoundedStatistic", "Core", "Kind", "Released", "Rows"]


@dataclass(frozen=True)
class Kind:
    """What is known about the data between two steps.

    See Also
    --------
    Contract, Rows, Released

    Notes
    -----
    **Privacy**: tells what kind of data comes, not the data: it costs nothing.

    Examples
    --------
    >>> from skdp.contracts._kinds import Core, Kind, Released, Rows
    >>> issubclass(Core, Rows), isinstance(Released(), Kind)
    (True, True)
    """


@dataclass(frozen=True)
class Rows(Kind):
    """Private rows; neighbouring tables differ in one of them.

    See Also
    --------
    Kind, Core

    Notes
    -----
    **Privacy**: tells what kind of data comes, not the data: it costs nothing.

    Examples
    --------
    >>> from skdp import JamesSteinDenoiser
    >>> from skdp.contracts._contract import contract_of
    >>> from skdp.contracts._kinds import Rows
    >>> contract_of(JamesSteinDenoiser()).accepts(Rows())  # it takes released values only
    False
    """


@dataclass(frozen=True)
class Core(Rows):
    """Private rows of which every two share a friend under ``predicate``.

    The predicate, or its class where the fit finds it, is what a plan can tell of the core; a fit
    hands on the core together with the very predicate that certified it.

    Parameters
    ----------
    predicate : Predicate, class or None, default=None

    See Also
    --------
    Rows, skdp.FriendlyCoreFilter

    Notes
    -----
    **Privacy**: tells what kind of data comes, not the data: it costs nothing.

    Examples
    --------
    >>> from skdp import FriendlyCoreFilter
    >>> from skdp.contracts._contract import contract_of
    >>> from skdp.contracts._kinds import Core, Rows
    >>> isinstance(contract_of(FriendlyCoreFilter()).yields(Rows()), Core)
    True
    """

    predicate: object = None


@dataclass(frozen=True)
class BoundedStatistic(Kind):
    """A private statistic, ``name``, that moves by at most ``sensitivity`` between neighbours.

    Parameters
    ----------
    name : str, default=""
    sensitivity : float, default=0.0

    See Also
    --------
    Released, skdp.SensitivityPreprocessor

    Notes
    -----
    **Privacy**: tells what kind of data comes, not the data: it costs nothing.

    Examples
    --------
    >>> from skdp import LaplaceMechanism
    >>> from skdp.contracts._contract import contract_of
    >>> from skdp.contracts._kinds import BoundedStatistic
    >>> contract_of(LaplaceMechanism()).accepts(BoundedStatistic("mean", 0.1))
    True
    """

    name: str = ""
    sensitivity: float = 0.0


@dataclass(frozen=True)
class Released(Kind):
    """A value that has passed the Curator; everything computed from it is free.

    ``law`` names its noise: "gaussian", "laplace" or "mixed". ``vector`` tells whether it is a
    vector with independent noise of known size, which is what a denoiser takes.

    Parameters
    ----------
    law : {"gaussian", "laplace", "mixed"}, default="gaussian"
    vector : bool, default=False

    See Also
    --------
    Kind, skdp.denoising.Denoiser

    Notes
    -----
    **Privacy**: tells what kind of data comes, not the data: it costs nothing.

    Examples
    --------
    >>> from skdp import PrivateMean
    >>> from skdp.contracts._contract import contract_of
    >>> from skdp.contracts._kinds import Rows
    >>> contract_of(PrivateMean()).yields(Rows())
    Released(law='gaussian', vector=True)
    """

    law: str = "gaussian"
    vector: bool = False
