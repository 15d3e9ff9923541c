"""Refusals as responses of Starlette and FastAPI.

    from rampmeter import Refusal
    from rampmeter.starlette import refusal_response

    async def export(request):
        return refusal_response(Refusal.windowed(until_next="day", limit=50, policy="exports"))

In FastAPI a dependency that refuses can raise instead; clients that keep to the
contract find the members in ``detail`` too:

    raise HTTPException(answer.status, answer.json(), answer.headers)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

if TYPE_CHECKING:
    from rampmeter import Answer
    from rampmeter.types import AnswerForm

__all__ = ["refusal_response"]


def refusal_response(answer: Answer, form: AnswerForm | None = None, *, id: str | float | None = None) -> Response:
    """The answer as a response.

    ``form`` is that of the body, ``json`` unless given; ``id`` is the request's,
    for ``json-rpc``.

    Raises ``ConfigError`` for a form or id that cannot be.
    """
    status, headers, body = answer.render(form, id=id)
    return Response(body, status, headers)
