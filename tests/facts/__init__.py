"""Facts, tested through the public door: what the gate reports on code in which they are hard to see."""

import pytest

pytest.register_assert_rewrite("tests.facts.marked")
