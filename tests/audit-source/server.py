"""Answers 429 (HTTP 429 Too Many Requests)."""

from http import HTTPStatus

from fastapi import FastAPI, HTTPException, status
from fastapi.responses import JSONResponse
from flask import abort, jsonify
from werkzeug.exceptions import TooManyRequests

RETRYABLE = {429, 500, 502}
RETRY_TUPLE = (429, 503)
PHRASES = {429: "Too Many Requests", HTTPStatus.TOO_MANY_REQUESTS: "slow down"}
SLOW_DOWN = 429
RATE_LIMITED = status.HTTP_429_TOO_MANY_REQUESTS
app = FastAPI(responses={429: {"description": "slow down"}})


@app.get("/bare")
def bare():
    raise HTTPException(429, "slow down")  # SENDS nothing


@app.get("/header")
def header():
    raise HTTPException(status_code=status.HTTP_429_TOO_MANY_REQUESTS, headers={"Retry-After": "30"})  # SENDS header


@app.get("/whole")
def whole():
    return JSONResponse(
        {"retry": True, "retryAfter": 30},
        status_code=HTTPStatus.TOO_MANY_REQUESTS,  # SENDS windowed
        headers={"Retry-After": "30"},
    )


@app.get("/own")
def own_name():
    return JSONResponse({"retry": False}, SLOW_DOWN)  # SENDS permanent


def flask_tuple():
    return jsonify(retryAfter=30), 429  # SENDS body


def flask_abort():
    abort(429)  # SENDS nothing


def werkzeug_class():
    raise TooManyRequests()  # SENDS nothing


def response_object(response):
    response.status_code = 429  # SENDS nothing
    return response


def later(response, waiting):
    if waiting > 8:
        response.status = RATE_LIMITED  # SENDS capacity
        response.media = {"retry": True}
    elif waiting == 429:
        response.media = {}


class Limited(Exception):
    status_code = 429  # SENDS nothing


def wsgi(environ, start_response):
    start_response("429 Too Many Requests", [("Retry-After", "30")])  # SENDS header
    return [b"slow down"]


def client(response, session):
    if response.status_code == 429 or response.status_code in (429, 503):
        return "429"
    if response.status_code == HTTPStatus.TOO_MANY_REQUESTS:
        return HTTPStatus.TOO_MANY_REQUESTS.phrase
    match response.status_code:
        case 429:
            return f"{response.reason}: 429"
    return Retry(total=3, status_forcelist=[429, 500], seed=429)


def test_limits(client, mock):
    mock.get("/x").respond(200)
    assert client.get("/x").status_code == 429
    assertEqual(client.get("/x").status_code, 429)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(429)  # SENDS header
        self.send_header("Retry-After", "30")


def django_view(request):
    if spent(request):
        response = JsonResponse({"retry": True, "retryAfter": 30}, status=429)  # SENDS windowed
        response["Retry-After"] = "30"
        return response
    return HttpResponse(status=429 if spent(request) else 200)  # SENDS nothing


def falcon_view(response):
    response.status = falcon.HTTP_429  # SENDS nothing


def aiohttp_view(request):
    raise web.HTTPTooManyRequests(headers={"Retry-After": "30"})  # SENDS header


@app.errorhandler(429)
@app.exception_handler(TooManyRequests)
def slow_down(error):
    return {"retry": True}, HTTPStatus.TOO_MANY_REQUESTS  # SENDS capacity


def lookalikes(error, logger):
    try:
        call()
    except TooManyRequests:
        logger.warning("refused", 429)
    if isinstance(error, TooManyRequests):
        metrics.increment(HTTPStatus.TOO_MANY_REQUESTS)
    with pytest.raises(TooManyRequests):
        call()
    width = 429
    return dict(id=429, width=width)
