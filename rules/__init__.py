"""The rules that come with the gate: one module a family, and the catalogue they are driven by."""
