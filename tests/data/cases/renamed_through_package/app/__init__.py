from ._compat import go
