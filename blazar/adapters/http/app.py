"""The Quart application for everything but the hot paths: blueprints in, one error shape out. Owns no state and no policy."""

from collections.abc import Iterable
from typing import Any

from quart import Blueprint, Quart, Response, has_request_context, request, websocket
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound, RequestEntityTooLarge

from blazar.adapters.http.errors import Problem, dialect_for, problem
from blazar.adapters.http.layers.authenticate import KEY_MODELS
from blazar.adapters.http.layers.doors import BODY_LIMIT
from blazar.adapters.http.record import RECORD, record_of
from blazar.adapters.http.routes import Gate, gate_of_row, is_abroad, is_no_id, methods_at
from blazar.domain import errors, teaching


def create_app(blueprints: Iterable[Blueprint]) -> Quart:
    """An app that serves `blueprints`. What it cannot answer itself it raises: the request boundary is outside."""
    app = Quart(__name__, static_folder=None)
    app.config.update(
        MAX_CONTENT_LENGTH=BODY_LIMIT,
        BODY_TIMEOUT=None,  # otherwise a slow upload is cut after 60 s
        RESPONSE_TIMEOUT=None,  # otherwise a slow answer is cut after 60 s, silently
        PROPAGATE_EXCEPTIONS=True,  # to request_log, which answers and logs with the trace
    )
    app.url_map.strict_slashes = False
    app.url_map.merge_slashes = False  # a redirect would lose the body of a POST in many clients
    for blueprint in blueprints:
        app.register_blueprint(blueprint)
    app.before_request(_still_allowed)
    app.before_request(_options)
    app.register_error_handler(errors.BlazarError, _refused)
    app.register_error_handler(HTTPException, _http_error)
    return app


async def _still_allowed() -> None:
    """What was routed decides once more: whoever judges a path outside must not be led past it by another reading of it here."""
    scope: Any = request.scope
    if KEY_MODELS in scope and request.endpoint is not None and gate_of_row(request.endpoint) is Gate.MANAGE:
        raise errors.Forbidden(teaching.key_is_scoped(record_of(scope).key))


async def _options() -> Response | None:
    """OPTIONS from the table: Quart would answer it without the hot paths and the uploads, of which it knows nothing.

    Nor does it know that a hot path is none of its ids.
    """
    allowed = methods_at(request.path)
    if request.method != "OPTIONS":
        if allowed and request.method not in allowed:
            raise MethodNotAllowed
        return None
    return Response(b"", headers={"allow": ", ".join([*allowed, "OPTIONS"])}) if allowed else None


async def _refused(error: Exception) -> Response:
    assert isinstance(error, errors.BlazarError)
    return _response(_problem(error))


async def _http_error(error: Exception) -> Response:
    """Quart's own refusals, in our words."""
    assert isinstance(error, HTTPException)
    asked = _asked()
    method, path = asked.method, asked.path
    if isinstance(error, NotFound | MethodNotAllowed):
        # The table knows the hot paths too, which Quart has never heard of.
        allowed = methods_at(path)
        if allowed and method not in allowed and not is_no_id(path):
            sentence = teaching.method_not_allowed(method, path, allowed)
            shown = _problem(errors.Refusal(sentence), 405)
            return _response(shown._replace(headers=[*shown.headers, (b"allow", ", ".join(allowed).encode())]))
        sentence = teaching.ollama_cloud_not_here() if is_abroad(path) else teaching.route_not_found(method, path)
        return _response(_problem(errors.NotFound(sentence)))
    if isinstance(error, RequestEntityTooLarge):
        return _response(_problem(errors.TooLarge(teaching.body_too_large(BODY_LIMIT))))
    sentence = error.description or error.name
    return _response(_problem(errors.Refusal(sentence), error.code or 400))


def _asked() -> Any:
    """What is being answered: a request, or the handshake of a WebSocket that no route takes."""
    return request if has_request_context() else websocket


def _problem(error: errors.BlazarError, status: int | None = None) -> Problem:
    scope: Any = _asked().scope  # Quart's type knows no keys but the specification's
    record = scope.get(RECORD)
    if record is not None:
        record.refuse(error)
    return problem(error, dialect_for(scope), record.trace if record is not None else None, status=status)


def _response(shown: Problem) -> Response:
    headers = {name.decode(): value.decode() for name, value in shown.headers}
    return Response(shown.body, status=shown.status, headers=headers)
