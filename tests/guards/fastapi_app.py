"""An application that refuses in nine places, of which one says whether to come
back, and when, in a form that agrees with itself."""

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.responses import Response

app = FastAPI()


class Spent(Exception):
    pass


@app.exception_handler(Spent)
def spent(request: Request, error: Exception) -> Response:
    return JSONResponse({"detail": "Expected available in 17 seconds."}, 429, {"Retry-After": "17"})


@app.get("/items")
def items() -> dict[str, str]:
    return {"items": "none"}


@app.get("/whole")
def whole() -> Response:
    return JSONResponse({"retry": True, "retryAfter": 30}, 429, {"Retry-After": "30"})


@app.get("/bare")
def bare() -> Response:
    raise HTTPException(429)


@app.get("/header-only")
def header_only() -> Response:
    return PlainTextResponse("slow down", 429, {"Retry-After": "30"})


@app.get("/body-only")
def body_only() -> Response:
    return JSONResponse({"retry": True, "retryAfter": 30}, 429)


@app.get("/two-answers")
def two_answers() -> Response:
    raise HTTPException(429, {"retry": True, "retryAfter": 60}, {"Retry-After": "30"})


@app.get("/decimals")
def decimals() -> Response:
    return JSONResponse({"retry": True, "retryAfter": 29.5}, 429, {"Retry-After": "29.5"})


@app.get("/full")
def full() -> Response:
    return JSONResponse({"retry": True, "class": "capacity", "limit": 8}, 429, {"Retry-After": "5"})


@app.get("/banned")
def banned() -> Response:
    return JSONResponse({"retry": False, "hint": "this key is banned"}, 429, {"Retry-After": "86400"})


@app.get("/sentence")
def sentence() -> Response:
    raise Spent
