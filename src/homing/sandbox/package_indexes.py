"""What uv and npm are given of our environment, and which index they ask: the one that this host is set up with.

uv reads its own variables (UV_*) and files (uv.toml), npm its own (npm_config_*, .npmrc). uv does not read pip's. Where
uv is told no index at all, pip's settings (PIP_*, pip.conf) are handed on to it: somebody who set a mirror or a
private index for pip did not mean us to ask the public one, nor to tell it the names of private packages.
Nothing else of our environment is passed on: no key of a model, no secret, nothing of Homing.
"""

import configparser
import os
import re
from collections.abc import Mapping
from pathlib import Path

from homing.sandbox.bubblewrap import SEARCHED

# Proxies, certificates, and where the settings files are.
_PASSED = re.compile(
    r"HOME|USER|LOGNAME|NETRC|XDG_(CONFIG|DATA)_(HOME|DIRS)|(?i:https?|all|no)_(?i:proxy)|SSL_CERT_(FILE|DIR)"
    r"|NODE_EXTRA_CA_CERTS"
)
_INDEX = ("INDEX", "DEFAULT_INDEX", "INDEX_URL", "EXTRA_INDEX_URL", "FIND_LINKS", "NO_INDEX")
# Which index is asked and how. What is installed and where is ours to say.
_UV_PASSED = re.compile(
    r"UV_(INDEX.*|DEFAULT_INDEX|EXTRA_INDEX_URL|FIND_LINKS|NO_INDEX|INSECURE_HOST|KEYRING_PROVIDER|NATIVE_TLS|SYSTEM_CERTS"
    r"|HTTP_.*|REQUEST_TIMEOUT|CONFIG_FILE|NO_CONFIG|OFFLINE|CONCURRENT_.*|EXCLUDE_NEWER|CREDENTIALS_DIR)"
)
_NPM_PASSED = re.compile(
    r"(?i)npm_config_((userconfig|globalconfig|registry|proxy|https[-_]proxy|noproxy|ca|cafile|strict[-_]ssl|before"
    r"|min[-_]release[-_]age|fetch[-_].*|maxsockets)|@.*|//.*)"
)


def uv_environment(host: Mapping[str, str], cache: Path) -> dict[str, str]:
    """Give the environment of uv."""
    passed = _common(host) | {name: value for name, value in host.items() if _UV_PASSED.fullmatch(name)}
    if not _has_uv_index(passed):
        passed |= _from_pip(host)
    return passed | {
        "UV_CACHE_DIR": str(cache),
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_NO_PROGRESS": "1",
    }


def npm_environment(host: Mapping[str, str], cache: Path) -> dict[str, str]:
    """Give the environment of npm. No script is run, no program but node is started, only registries are asked."""
    passed = _common(host) | {name: value for name, value in host.items() if _NPM_PASSED.fullmatch(name)}
    ours = {
        "cache": str(cache),
        "git": "/bin/false",
        "allow_git": "none",
        "allow_remote": "none",
        "allow_file": "none",
        "allow_directory": "none",
        "omit_lockfile_registry_resolved": "true",
        "lockfile_version": "3",
        "package_lock": "true",
        "install_strategy": "hoisted",
        "bin_links": "true",
        "omit": "dev",
        "audit": "false",
        "fund": "false",
        "update_notifier": "false",
        "loglevel": "error",
        "logs_max": "0",
        "global": "false",
        "dry_run": "false",
        "fetch_retries": host.get("npm_config_fetch_retries", "1"),
        "fetch_retry_mintimeout": host.get("npm_config_fetch_retry_mintimeout", "1000"),
    }
    return passed | {f"npm_config_{name}": value for name, value in ours.items()}


def _common(host: Mapping[str, str]) -> dict[str, str]:
    passed = {name: value for name, value in host.items() if _PASSED.fullmatch(name)}
    return passed | {"PATH": SEARCHED, "LANG": "C.UTF-8", "NO_COLOR": "1"}


def _has_uv_index(env: Mapping[str, str]) -> bool:
    if any(env.get(f"UV_{name}") for name in _INDEX):
        return True
    home = Path(env.get("HOME") or "/")
    user = Path(env.get("XDG_CONFIG_HOME") or home / ".config")
    system = [Path(folder) for folder in (env.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":") if folder]
    files = [user / "uv/uv.toml", *(folder / "uv/uv.toml" for folder in system), Path("/etc/uv/uv.toml")]
    return bool(env.get("UV_CONFIG_FILE")) or any(file.is_file() for file in files)


def _from_pip(host: Mapping[str, str]) -> dict[str, str]:
    """Read pip's settings as pip does, the last one wins, and spell what uv knows of them as its variables."""
    settings: dict[str, str] = {}
    for file in _pip_files(host):
        parser = configparser.RawConfigParser()
        try:
            parser.read_string(file.read_text("utf-8"))
        except (OSError, UnicodeDecodeError, configparser.Error):
            continue
        for section in ("global", "install"):
            if parser.has_section(section):
                settings |= dict(parser.items(section))
    for name in ("index-url", "extra-index-url", "find-links", "no-index", "trusted-host"):
        if value := host.get(f"PIP_{name.upper().replace('-', '_')}"):
            settings[name] = value
    spelled = {
        "UV_DEFAULT_INDEX": settings.get("index-url", "").strip(),
        "UV_INDEX": " ".join(settings.get("extra-index-url", "").split()),
        "UV_FIND_LINKS": ",".join(settings.get("find-links", "").split()),
        "UV_NO_INDEX": "1" if settings.get("no-index", "").strip().lower() in ("1", "true", "yes", "on") else "",
        "UV_INSECURE_HOST": " ".join(settings.get("trusted-host", "").split()),
    }
    return {name: value for name, value in spelled.items() if value}


def _pip_files(host: Mapping[str, str]) -> list[Path]:
    given, home = host.get("PIP_CONFIG_FILE"), Path(host.get("HOME") or "/")
    if given == os.devnull:
        return []
    system = [Path(folder) / "pip/pip.conf" for folder in (host.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")]
    user = Path(host.get("XDG_CONFIG_HOME") or home / ".config") / "pip/pip.conf"
    return [*system, Path("/etc/pip.conf"), home / ".pip/pip.conf", user, *([Path(given)] if given else [])]
