"""Reports print what the gate found; they decide nothing."""
