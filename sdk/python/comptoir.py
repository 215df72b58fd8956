"""Comptoir in one file: the ten commonest calls and webhook verification. Python 3.9 or newer, no dependency."""

import base64
import datetime
import hashlib
import hmac
import http.client
import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
import warnings


class ComptoirError(Exception):
    """A call failed. `code` is stable; `status` is 0 when there was no answer.

    `idempotency_key`: with which a POST was sent. The same call with it is done once: the service keeps it for 48 hours.
    `may_be_done`: the answer to a try was lost, so the call may have been done. Repeat it under `idempotency_key`.
    """

    def __init__(self, status, code, message, request_id=None, details=None, docs=None):
        super().__init__(message)
        self.status, self.code, self.request_id = status, code, request_id
        self.details, self.docs = details or [], docs
        self.idempotency_key, self.may_be_done = None, False


class WebhookVerificationError(Exception):
    """The webhook must not be believed. Answer 400."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect is an error: following it would give the API secret to another host."""

    def redirect_request(self, *_given):
        return None


_opener = urllib.request.build_opener(_NoRedirects)


# seconds; sockets count milliseconds in 31 bits
_LONGEST_TIMEOUT = 2_147_483


class Comptoir:
    def __init__(self, base_url, api_key, api_secret, timeout=30, max_retries=3):
        if timeout is not None and not timeout > 0:
            raise ValueError("timeout must be more than 0")
        self.base_url = base_url.rstrip("/")
        self.headers = {"x-api-key": api_key, "x-api-secret": api_secret, "accept": "application/json"}
        self.timeout = None if timeout is None else min(timeout, _LONGEST_TIMEOUT)
        self.max_retries = max_retries

    def call(self, method, path, body=None, idempotency_key=None):
        """Any operation of the reference. Retries 429, 502, 503 and lost connections under one Idempotency-Key.

        Returns the data. Of an answer that is no JSON, a download for example, it is the text, or bytes where it is none.
        `idempotency_key`: 1 to 255 printable characters of ASCII.
        """
        return self._exchange(method, path, body, idempotency_key, takes_files=True)

    def _exchange(self, method, path, body=None, idempotency_key=None, takes_files=False):
        if idempotency_key is not None and not re.fullmatch(r"[\x20-\x7e]{1,255}", idempotency_key):
            raise ValueError("idempotency_key must be 1 to 255 printable characters of ASCII; encode or hash any other")
        headers, data, was_open = dict(self.headers), None, False
        key = idempotency_key or uuid.uuid4().hex if method == "POST" else None
        if key is not None:
            headers["idempotency-key"] = key
        if method == "POST" or body:
            headers["content-type"] = "application/json"
            data = json.dumps(body or {}).encode()
        for attempt in range(self.max_retries + 1):
            error, wait = None, 0.4 * 2**attempt
            try:
                request = urllib.request.Request(self.base_url + path, data, headers, method=method)
                with _opener.open(request, timeout=self.timeout) as answer:
                    _warn_of_ignored(answer.headers.get("comptoir-ignored"), f"{method} {path}")
                    return _data_of(answer, takes_files)
            except urllib.error.HTTPError as failed:
                error = _error_of(failed)
                if failed.headers.get("retry-after", "").isdigit():
                    wait = int(failed.headers["retry-after"])
                if failed.code not in (429, 502, 503) and error.code != "IDEMPOTENCY_IN_PROGRESS":
                    raise _for_repetition(error, key, _stays_open(error, was_open)) from None
            except ComptoirError as unexpected:
                raise _for_repetition(unexpected, key, _is_open(unexpected)) from None
            except http.client.InvalidURL as wrong:
                raise ValueError(f"{method} {path}: {wrong}") from None
            except (OSError, http.client.HTTPException) as lost:
                error = ComptoirError(0, "CONNECTION_FAILED", f"{method} {path}: {lost}")
            was_open = _stays_open(error, was_open)
            if attempt == self.max_retries or wait > 60:
                raise _for_repetition(error, key, was_open)
            time.sleep(wait)

    def _order(self, method, path, body=None, key=None):
        return self._exchange(method, "/api/next/confirm_conversion" + path, body, key)

    def create_order(self, idempotency_key=None, **body):
        """amount (decimal text), fromAsset, merchantIdentifier, webhookUrl, alias … → {code, order, paymentUrl}"""
        return self._order("POST", "/request", body, idempotency_key)

    def get_order(self, code):
        return self._order("GET", "/status/" + _segment("code", code))

    def get_order_by_reference(self, reference, company_id=None):
        """The newest order with your alias; company_id: of this company, for credentials that see more than one."""
        return self._order("GET", "/status/order/" + _segment("reference", reference) + _query({"companyId": company_id}))

    def list_orders(self, **filters):
        """All orders that the filters match, page after page: status=["PAID", "REFUNDED"], **{"from": "2026-01-01"}.

        A datetime without a zone is taken as the machine's local time.
        """
        query = {"limit": 100, **filters}
        while True:
            page = self._order("GET", _query(query))
            yield from page["orders"]
            if page["nextCursor"] is None:
                return
            query["cursor"] = page["nextCursor"]

    def accept_order(self, code, **body):
        return self._order("POST", "/accept/" + _segment("code", code), body)

    def confirm_order(self, code):
        return self._order("POST", "/confirm/" + _segment("code", code))

    def cancel_order(self, code):
        return self._order("POST", "/cancel/" + _segment("code", code))

    def refund_order(self, code, idempotency_key=None, **body):
        """amount (USDC, decimal text; default: all that is left), reason → {refundId}"""
        return self._order("POST", "/revert/" + _segment("code", code), body, idempotency_key)

    def get_refund(self, refund_id):
        return self._exchange("GET", "/api/next/refunds/" + _segment("refund_id", refund_id))

    def list_events(self, after=None, limit=100):
        return self._exchange("GET", "/api/next/events" + _query({"limit": limit, "after": after or None}))


def verify_webhook(raw_body, headers, secret, tolerance_seconds=300, test_events=False):
    """The body of a genuine webhook. `raw_body`: the bytes as received. Both signatures are checked where they are there.

    The "event" of a test event, which no one paid, is "test". `test_events=True` keeps what it plays: only where nothing
    is shipped.
    """
    key = _key_of(secret)
    given = {name.lower(): value for name, value in headers.items()}
    claims = []
    if given.get("service-signature"):
        parts = [part.strip().split("=", 1) for part in given["service-signature"].split(",") if "=" in part]
        at = next((value for name, value in parts if name == "t"), "")
        expected = hmac.new(secret.encode(), at.encode() + b"." + raw_body, hashlib.sha256).hexdigest()
        claims.append((at, expected, [value for name, value in parts if name == "v1"]))
    if given.get("webhook-signature"):
        at = given.get("webhook-timestamp", "")
        signed = f"{given.get('webhook-id', '')}.{at}.".encode() + raw_body
        expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        found = [part[3:] for part in given["webhook-signature"].split(" ") if part.startswith("v1,")]
        claims.append((at, expected, found))
    if not claims:
        raise WebhookVerificationError("no signature")
    for at, expected, signatures in claims:
        if not any(hmac.compare_digest(expected.encode(), one.encode()) for one in signatures):
            raise WebhookVerificationError("signed by another secret, or changed on the way")
        if not (at.isascii() and at.isdigit()) or abs(time.time() - int(at)) > tolerance_seconds:
            raise WebhookVerificationError(f"signed more than {tolerance_seconds} s from now")
    event = json.loads(raw_body)
    if event.get("test") is True and not test_events:
        event["event"] = "test"
    return event


def _is_undone(error):
    """The service says itself that it did nothing. A gateway's 502 or 503 may come after it has done what was asked."""
    return error.status == 429 or (error.status == 503 and error.code == "BUSY")


def _is_open(error):
    return not _is_undone(error) and (error.status < 400 or error.status >= 500 or error.code == "IDEMPOTENCY_IN_PROGRESS")


_BEFORE_KEY = ("NOT_FOUND", "VALIDATION_FAILED", "UNEXPECTED_ANSWER", "IDEMPOTENCY_IN_PROGRESS")


def _stays_open(error, was_open):
    """Whether the call may have been done, after this answer. Only Comptoir's own word under the key says that no earlier
    try has done it: a proxy's page is none, and other refusals may come before the key is looked up."""
    is_settled = error.status in (404, 409, 422) and error.code not in _BEFORE_KEY
    return _is_open(error) or (was_open and not is_settled)


def _for_repetition(error, key, may_be_done):
    """The error of a call that may change something, with what its caller needs to repeat it safely."""
    if key is not None:
        error.idempotency_key, error.may_be_done = key, may_be_done
    if error.may_be_done:
        said = str(error).rstrip(".")
        error.args = (f"{said}. It may have been done. To do it once, repeat it with the idempotency_key {key}.",)
    return error


def _segment(name, value):
    """A part of a path. Without it the path would be another one: that of the whole list."""
    if value is None or str(value).strip() in ("", ".", ".."):
        raise ValueError(f"{name} is {value!r}: nothing was sent, because without it the call means something else")
    return urllib.parse.quote(str(value), safe="")


def _query(filters):
    def text(value):
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (list, tuple, set)):
            return ",".join(value)
        # the service takes no time without a zone; Python means the machine's own by it
        if isinstance(value, datetime.datetime) and value.utcoffset() is None:
            value = value.astimezone()
        return value.isoformat() if hasattr(value, "isoformat") else value

    return "?" + urllib.parse.urlencode({name: text(value) for name, value in filters.items() if value is not None})


def _warn_of_ignored(names, call):
    if names:
        warnings.warn(f"Comptoir ignored {urllib.parse.unquote(names)}: {call} knows no such name.", stacklevel=5)


def _key_of(secret):
    text = re.fullmatch(r"whsec_([A-Za-z0-9+/]{22,}={0,2})", secret)
    try:
        return base64.b64decode(text[1], validate=True)
    except (TypeError, ValueError):
        # with an empty key, anyone could sign
        raise WebhookVerificationError("the secret is not one of Comptoir's: whsec_ and base64") from None


def _data_of(answer, takes_files):
    text = answer.read()
    kind = answer.headers.get_content_type()
    # a web page is of another program
    if takes_files and "content-type" in answer.headers and kind not in ("application/json", "text/html"):
        return text.decode() if kind.startswith("text/") else text
    try:
        return json.loads(text)["data"]
    except (ValueError, KeyError, TypeError):
        message = f"the answer {answer.status} is not one of Comptoir's. Check the address."
        raise ComptoirError(answer.status, "UNEXPECTED_ANSWER", message) from None


def _error_of(failed):
    try:
        error = json.load(failed)["error"]
        return ComptoirError(
            failed.code, error["code"], error["message"], error.get("requestId"), error.get("details"), error.get("docs")
        )
    except (ValueError, KeyError, TypeError, OSError, http.client.HTTPException):
        return ComptoirError(failed.code, "UNEXPECTED_ANSWER", f"the answer {failed.code} is not one of Comptoir's")
