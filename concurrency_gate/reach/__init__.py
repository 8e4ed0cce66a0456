"""What a call inside a transaction block reaches, and by which way."""
