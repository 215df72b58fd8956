import hashlib
import hmac
import time


def verify_webhook(raw_body: bytes, header: "str | None", secret: str, tolerance_seconds: int = 300) -> bool:
    """True if the bytes were signed with this secret within the tolerance."""
    parts = [part.strip().split("=", 1) for part in (header or "").split(",") if "=" in part]
    times = [value for name, value in parts if name == "t" and value.isdigit()]
    signatures = [value for name, value in parts if name == "v1"]
    # with an empty secret, anyone could sign
    if not times or not secret.startswith("whsec_") or len(secret) < 30:
        return False
    expected = hmac.new(secret.encode(), times[0].encode() + b"." + raw_body, hashlib.sha256).hexdigest()
    is_signed = any(hmac.compare_digest(expected.encode(), signature.encode()) for signature in signatures)
    return is_signed and abs(time.time() - int(times[0])) <= tolerance_seconds


# ---- from the command line: SIGNATURE='t=…,v1=…' WEBHOOK_SECRET=whsec_… python3 verify.py < body
if __name__ == "__main__":
    import os
    import sys

    good = verify_webhook(sys.stdin.buffer.read(), os.environ.get("SIGNATURE"), os.environ.get("WEBHOOK_SECRET", ""))
    print("verified" if good else "refused")
