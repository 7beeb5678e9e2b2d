"""Every block of Python on a page runs when the page is built, and shows what it prints and draws.

A block that fails, or that shows nothing, is a warning of the build.
"""

import base64
import tempfile

from _runner import Blocks
from docutils import nodes
from sphinx.directives.code import CodeBlock
from sphinx.util import logging

__all__ = ["setup"]

PICTURE = "Picture that the block above draws."


class RunBlock(CodeBlock):
    """A block of code; one of Python runs, and its output follows it."""

    def run(self):
        found = super().run()
        page = self.env.docname
        if self.arguments != ["python"] or "/" in page or not self.env.config.run_blocks:
            return found
        if not hasattr(self.state.document, "skdp_blocks"):
            folder = tempfile.TemporaryDirectory()
            self.state.document.skdp_blocks = Blocks(folder.name)
            self.state.document.skdp_folder = folder
        try:
            text, pictures = self.state.document.skdp_blocks.run("\n".join(self.content))
        except Exception as error:
            raise self.error(f"a block fails: {type(error).__name__}: {error}") from error
        if not text and not pictures:
            logging.getLogger(__name__).warning("a block shows nothing", location=found[0])
        if text:
            found.append(nodes.literal_block(text, text, language="none", classes=["skdp-output"]))
        for picture in pictures:
            data = base64.b64encode(picture).decode()
            html = f'<img class="skdp-picture" alt="{PICTURE}" src="data:image/png;base64,{data}"/>'
            found.append(nodes.raw("", html, format="html"))
        return found


def release(app, document):
    """Drop the names and the folder of a page that has been read: pages are pickled."""
    if document.__dict__.pop("skdp_blocks", None):
        document.__dict__.pop("skdp_folder").cleanup()


def setup(app):
    app.add_config_value("run_blocks", True, "env")
    app.add_directive("code-block", RunBlock, override=True)
    app.connect("doctree-read", release)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
