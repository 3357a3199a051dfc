"""Errors of saving and loading."""


class SaveError(ValueError):
    """A model that cannot be written as data alone; the sentence says which part, and what to do."""


class LoadError(ValueError):
    """A file that is not a model, or not one that may be used; the sentence says what is wrong with it."""
