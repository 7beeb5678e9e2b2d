"""Mathematics as MathML, which browsers draw by themselves: the pages need no network."""

from docutils.nodes import SkipNode
from math_core import LatexToMathML
from sphinx.util.math import get_node_equation_number

__all__ = ["setup"]

RENDER = LatexToMathML()


def inline(self, node):
    """Write a formula within a line."""
    self.body.append(RENDER.convert_with_local_state(node.astext(), displaystyle=False))
    raise SkipNode


def block(self, node):
    """Write a formula on lines of its own, with its number."""
    self.body.append(self.starttag(node, "div", CLASS="math-block"))
    self.body.append(RENDER.convert_with_local_state(node.astext(), displaystyle=True))
    if node["number"]:
        number = get_node_equation_number(self, node)
        self.body.append(f'<span class="eqno">({number})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append("</div>")
    raise SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
