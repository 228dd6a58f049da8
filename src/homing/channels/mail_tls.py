"""Why a mail server's certificate was not accepted, and what to do about it."""

import ssl

_OTHER_NAME = {62, 64}
_UNKNOWN_ISSUER = {18, 19, 20, 21}


def why_not_encrypted(error: ssl.SSLError, setting: str) -> str:
    """Say it in one line; `setting` names the server."""
    said = getattr(error, "verify_message", "") or error.reason or str(error)
    why = " ".join(said.split())[:300].rstrip(".") or "no reason was given"
    code = getattr(error, "verify_code", None)
    if code in _OTHER_NAME:
        return f"{why}. Write the name that its certificate has into {setting}."
    if code in _UNKNOWN_ISSUER:
        return (
            f"{why}. If this server is your own, add its authority to the certificates of this machine, or name a file"
            " that has all of them in SSL_CERT_FILE."
        )
    return f"{why}."


def untrusted_in(error: BaseException) -> ssl.SSLCertVerificationError | None:
    """Find behind another error that a certificate was not accepted: then nothing was said to that server."""
    found: BaseException | None = error
    while found is not None and not isinstance(found, ssl.SSLCertVerificationError):
        found = found.__cause__
    return found
