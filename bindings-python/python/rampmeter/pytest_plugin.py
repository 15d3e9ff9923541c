"""The fixture ``refusal_audit`` for pytest. Nothing happens unless a test asks
for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from rampmeter.audit import RefusalAudit


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("refusal_audit_strict", "warnings about refusals fail the run too", type="bool", default=False)


@pytest.fixture(scope="session")
def refusal_audit(pytestconfig: pytest.Config) -> Iterator[RefusalAudit]:
    """Records the refusals of applications that are put into its ``asgi`` or
    ``wsgi``, and fails the run at its end if one does not say whether to come
    back, and when."""
    from rampmeter.audit import RefusalAudit, RefusalsDoNotAnswer

    audit = RefusalAudit(strict=pytestconfig.getini("refusal_audit_strict"))
    yield audit
    found = ""
    try:
        audit.check()
    except RefusalsDoNotAnswer as error:
        found = str(error)
    # Not inside of the handler: both would be shown, with the same page.
    if found:
        pytest.fail(found, pytrace=False)
