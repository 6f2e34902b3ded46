"""A job's events as they come, as server-sent events; a plain view, since DRF's are not asynchronous."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from http import HTTPStatus
from uuid import UUID

from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.views import APIView

from environments.api.filters import MAX_ID
from environments.api.permissions import caller_permissions
from environments.api.throttling import MethodThrottle
from environments.core.access import Permission
from environments.core.errors import FieldError
from environments.core.problems import PROBLEM_TYPE, problem_body
from environments.models import Job
from environments.services.streams import release_connections, watch_job


@login_not_required  # token or session, as everywhere below /api/
async def job_stream(request: HttpRequest, code: UUID) -> HttpResponseBase:
    """Streams the job's events: `id` the event's id, `event` its kind, `data` its JSON; then `event: done`.

    A `Last-Event-ID` header, or `?after=<id>`, resumes behind that event. The answer never holds a database
    connection while it waits.
    """
    if request.method != "GET":
        problem = _problem(request, HTTPStatus.METHOD_NOT_ALLOWED, "method_not_allowed", "A stream can only be read.")
        problem["Allow"] = "GET"
        return problem
    found = await sync_to_async(_find_job)(request, code)
    if isinstance(found, HttpResponse):
        return found
    after = _resume_after(request)
    if isinstance(after, HttpResponse):
        return after
    response = StreamingHttpResponse(_messages(found, after), content_type="text/event-stream")
    response["Cache-Control"] = "no-cache"
    response["X-Accel-Buffering"] = "no"
    return response


def _find_job(request: HttpRequest, code: UUID) -> Job | HttpResponse:
    """The job, or the problem; runs in the request's thread and leaves no connection open there."""
    caller = Request(request, authenticators=APIView().get_authenticators())
    try:
        if Permission.VIEW not in caller_permissions(caller):
            return _unauthorized(request, "not_authenticated", "Log in, or send an API token.")
        throttle = MethodThrottle()
        if not throttle.allow_request(caller):
            problem = _problem(request, HTTPStatus.TOO_MANY_REQUESTS, "throttled", "Too many requests.")
            problem["Retry-After"] = str(int(throttle.wait() or 0) + 1)
            return problem
        job = Job.objects.filter(code=code).only("pk").first()
        return job or _problem(request, HTTPStatus.NOT_FOUND, "not_found", f"No job has the code {code}.")
    except APIException as error:
        return _unauthorized(request, "authentication_failed", str(error.detail))
    finally:
        release_connections()


def _resume_after(request: HttpRequest) -> int | HttpResponse:
    unknown = next((name for name in request.GET if name != "after"), None)
    if unknown is not None:
        fault = FieldError(f"?{unknown}", "unknown", "Known parameters: after.")
        return _problem(request, HTTPStatus.BAD_REQUEST, "invalid_input", fault.detail, fault)
    header = request.headers.get("Last-Event-ID")
    given = request.GET.get("after", "0") if header is None else header
    # At most 19 digits: int() refuses very long texts with an error of its own.
    if not re.fullmatch(r"[0-9]{1,19}", given) or int(given) > MAX_ID:
        pointer = "?after" if header is None else "Last-Event-ID"
        fault = FieldError(pointer, "invalid", f"{pointer.lstrip('?')} must be the id of an event.")
        return _problem(request, HTTPStatus.BAD_REQUEST, "invalid_input", fault.detail, fault)
    return int(given)


async def _messages(job: Job, after: int) -> AsyncIterator[str]:
    async with aclosing(watch_job(job=job, after=after)) as events:
        async for event in events:
            if event is None:
                yield ": still here\n\n"
            else:
                yield f"id: {event.id}\nevent: {event.kind}\ndata: {json.dumps(event.data)}\n\n"
    yield "event: done\ndata: {}\n\n"


def _unauthorized(request: HttpRequest, code: str, detail: str) -> JsonResponse:
    problem = _problem(request, HTTPStatus.UNAUTHORIZED, code, detail)
    problem["WWW-Authenticate"] = 'Bearer realm="envfactory"'
    return problem


def _problem(request: HttpRequest, status: HTTPStatus, code: str, detail: str, *faults: FieldError) -> JsonResponse:
    body = problem_body(status, code=code, detail=detail, instance=request.path, fields=faults)
    return JsonResponse(body, status=status, content_type=PROBLEM_TYPE)
