"""Old names of public attributes and parameters: they work, and warn that they will go."""

import warnings
from functools import wraps

from skdp.utils._warnings import stack_level
from skdp.utils._wrong_names import ExplainsNames, explains_keywords

__all__ = ["KeepsOldNames", "Renamed", "keeps_old_names", "old_names"]

REMOVED = "0.3"  # the version without the old names


def warn_renamed(old, new):
    """Warn that a name is an old one."""
    warnings.warn(
        f"{old} is called {new} now, and goes in skdp {REMOVED}. Write {new}.",
        FutureWarning,
        stacklevel=stack_level(),
    )


class Renamed(property):
    """Attribute under its old name: ``sure_ = Renamed("risk_estimate_")``.

    ``read`` makes the old value of the new one, where they differ.
    """

    def __init__(self, new, read=lambda value: value):
        super().__init__(self._get, self._set, doc=f"Deprecated: read ``{new}``.")
        self.new, self.read = new, read

    def __set_name__(self, owner, name):
        """Learn the old name."""
        self.old = name

    def _get(self, instance):
        value = getattr(instance, self.new)  # none before a fit, and then no warning
        warn_renamed(self.old, self.new)
        return self.read(value)

    def _set(self, instance, value):
        warn_renamed(self.old, self.new)
        setattr(instance, self.new, value)


def old_names(cls):
    """Return a dict from the old names of attributes and parameters of a class to the new ones."""
    return {
        name: member.new
        for base in reversed(cls.__mro__)
        for name, member in vars(base).items()
        if isinstance(member, Renamed)
    }


def old_keywords(function, names):
    """Return the function, which takes old keywords too."""

    @wraps(function)
    def call(*args, **keywords):
        return function(*args, **_with_new_names(keywords, names))

    return call


def _with_new_names(keywords, names):
    for old in keywords.keys() & names.keys():
        warn_renamed(f"{old}=", f"{names[old]}=")
    return new_state(keywords, names)


def new_state(state, names):
    """Return a dict, as it is in an older pickle, under the new names."""
    return {names.get(name, name): value for name, value in state.items()}


def keeps_old_names(cls):
    """Return a dataclass, with :class:`Renamed` fields: old pickles, old code."""
    names = old_names(cls)
    cls.__init__ = old_keywords(cls.__init__, names)
    cls.__setstate__ = lambda self, state: self.__init__(**new_state(state, names))
    return cls


class KeepsOldNames(ExplainsNames):
    """Mixin of classes with :class:`Renamed` attributes and parameters: old pickles, old code."""

    def __init_subclass__(cls, **keywords):
        """Let ``__init__`` take old keywords, and explain unknown ones."""
        super().__init_subclass__(**keywords)
        names = {old: new for old, new in old_names(cls).items() if not old.endswith("_")}
        if "__init__" in vars(cls):
            cls.__init__ = explains_keywords(cls.__init__)
            if names:
                cls.__init__ = old_keywords(cls.__init__, names)

    def set_params(self, **params):
        """Set the parameters of this estimator.

        Parameters
        ----------
        **params : dict
            Parameters by name; by ``<step>__<name>`` those of nested estimators.

        Returns
        -------
        self : object
        """
        return super().set_params(**_with_new_names(params, old_names(type(self))))

    def __setstate__(self, state):
        """Read a pickle, also one with old names."""
        super().__setstate__(new_state(state, old_names(type(self))))
