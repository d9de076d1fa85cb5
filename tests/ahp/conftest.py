"""What the tests of the protocol share."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("ahp.reducers.cases")
