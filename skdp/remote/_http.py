"""Messages over HTTP, part by part, none of which is without end."""

__all__ = ["bounded_http", "parts_of"]

MOST_BESIDE = 2**16  # bytes of a message beside its body, but for the last piece


def bounded_http():
    """Return what reads HTTP, and the head of a message only as far as any of an analyst goes."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ImportError:
        return "h11"  # which has a bound

    class Bounded(HttpToolsProtocol):
        beside = 0  # bytes since the last ones of a body

        def data_received(self, data):
            if self.beside > MOST_BESIDE:
                self.transport.abort()
            else:
                self.beside += len(data)
                super().data_received(data)

        def on_body(self, body):
            self.beside = 0
            super().on_body(body)

        def on_message_complete(self):
            self.beside = 0
            super().on_message_complete()

    return Bounded


async def parts_of(receive):
    """Yield the parts of a message; raise EOFError if it breaks off."""
    more = True
    while more:
        part = await receive()
        if part["type"] == "http.disconnect":
            raise EOFError
        yield part.get("body", b"")
        more = part.get("more_body", False)
