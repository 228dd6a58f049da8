"""Where programs cannot run, and the sentence that helps there."""

from homing.model.errors import Conflict, shortened

NO_BUBBLEWRAP = "Running programs needs bubblewrap: sudo apt install bubblewrap (dnf, pacman likewise)."
NO_UTIL_LINUX = "Running programs needs setpriv and prlimit: sudo apt install util-linux (dnf, pacman likewise)."
NO_PYTHON = (
    "Programs reach the network only with a python3 in /usr/bin or /usr/local/bin:"
    " sudo apt install python3 (dnf, pacman likewise)."
)
OTHER_SYSTEM = "Running programs needs Linux with bubblewrap; it does not work on {system} yet."
WINDOWS = "Running programs needs Linux with bubblewrap: run Homing in WSL, which has it."
SWITCHED_OFF = "Running programs is switched off here (HOMING_SANDBOX=off)."
_UBUNTU = (
    "AppArmor forbids bubblewrap to make a sandbox, as Ubuntu does since 23.10: install and load the profile"
    " bwrap-userns-restrict (package apparmor-profiles; part of 25.04)."
)
_CONTAINER = (
    "This container forbids bubblewrap to make a sandbox: start it with --security-opt seccomp=unconfined"
    " --security-opt apparmor=unconfined --security-opt systempaths=unconfined, or run Homing outside it."
)
_LOW_LIMIT = (
    "This process has a lower hard limit than the one that programs get (ulimit -H -a shows them): raise it where"
    " Homing is started, for example LimitNOFILE= or LimitNPROC= of its systemd unit."
)
# What bubblewrap says, and what it means.
_KNOWN = {
    "setting up uid map: Permission denied": _UBUNTU,
    "Failed RTM_NEWADDR": _UBUNTU,
    "Can't mount proc": _CONTAINER,
    "Creating new namespace failed": _CONTAINER,
    "resource limit: Operation not permitted": _LOW_LIMIT,
}
_MOST_OF_ERROR = 500


class NoSandbox(Conflict):
    """Programs cannot run here; the message says how to change that, `error` is what bubblewrap itself said."""

    code = "no_sandbox"

    def __init__(self, detail: str, *, error: str = "") -> None:
        super().__init__(detail)
        self.error = error


def explain(error: str) -> NoSandbox:
    """Turn bubblewrap's own error into the sentence that helps."""
    error = shortened(error.strip(), _MOST_OF_ERROR)
    known = (sentence for words, sentence in _KNOWN.items() if words in error)
    return NoSandbox(next(known, f"Bubblewrap cannot make a sandbox here: {error}"), error=error)
