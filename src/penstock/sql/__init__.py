"""Text to bound algebra: the dialect, the DDL and the binder."""

from penstock.sql.script import Script, bind_text

__all__ = ["Script", "bind_text"]
