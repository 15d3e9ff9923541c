"""Refusals as responses of Flask.

    from rampmeter import Refusal
    from rampmeter.flask import refusal_response

    @app.get("/export")
    def export():
        return refusal_response(Refusal.windowed(until_next="day", limit=50, policy="exports"))

Deeper inside, abort with it:

    abort(refusal_response(Refusal.permanent("the trial has ended", status=403)))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Response

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
