"""What a module says: names, scopes and what they resolve to. Facts answer questions; they never decide."""
