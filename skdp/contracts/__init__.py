"""What a step reads and what it yields. A guarded room: an unknown step is refused."""

__all__ = []
