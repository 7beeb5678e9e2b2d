"""The pieces of everything shown: JSON, frames, aligned columns, rows and tables of HTML."""

import json
from html import escape

__all__ = ["AsJson", "bullets", "columns", "data_frame", "row", "table"]


class AsJson:
    """Mixin of reports that have ``to_dict``."""

    def to_json(self):
        """Return the report as a JSON text.

        Returns
        -------
        text : str
        """
        return json.dumps(self.to_dict(), indent=2)


def data_frame(data, otherwise, **parameters):
    """Return a table of pandas; ``otherwise`` names what to use where it is not installed."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            f"to_frame needs pandas: pip install pandas. Without it, use {otherwise}."
        ) from error
    return pd.DataFrame(data, **parameters)


def columns(rows, left=()):
    """Return rows of texts as lines: columns in ``left`` flush left, the others flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = ["<" if i in left else ">" for i in range(len(widths))]
    return [
        "  ".join(f"{cell:{side}{w}}" for cell, side, w in zip(line, sides, widths, strict=True))
        for line in rows
    ]


def row(cells, *, tags=("td",), kinds=("",), kind="", tail=""):
    """Return a row of HTML; tags and attributes of cells repeat the last, ``tail`` is markup."""
    tags, kinds = ([*x, *x[-1:] * (len(cells) - len(x))] for x in (tags, kinds))
    parts = zip(tags, kinds, cells, strict=True)
    body = "".join(f"<{tag}{how}>{escape(str(cell))}</{tag}>" for tag, how, cell in parts)
    return f"<tr{kind}>{body}{tail}</tr>"


def table(head, rows, **parameters):
    """Return a table of HTML with titles and rows, ready-made ones."""
    titles = row(head, tags=("th",), **parameters) if head else ""
    return f"<table>{titles}{''.join(rows)}</table>"


def bullets(texts):
    """Return a list of HTML, nothing where there are no texts."""
    return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>" if texts else ""
