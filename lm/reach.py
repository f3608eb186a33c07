"""Check once, before a run starts, whether a model server accepts connections.

During a run, requests wait for a server that is away (:class:`~abduce.lm.faults.Patience`). If the server was
never started, every fact would wait that long, so the run stops with one line instead.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from ..retrievers.errors import InputError
from .check import wire
from .profiles import Profile
from .wire import LeadsElsewhere, NoConnection, TooLarge, TransportRequest, Unreachable

SECONDS = 5.0
"""How long one address is given to take a connection."""


def why_away(profile: Profile, url: str, seconds: float = SECONDS) -> str | None:
    """Why no connection to an address can be made. None if one can, whatever the reply is: the engine handles
    errors and timeouts.
    """
    transport = wire(profile, seconds)
    try:
        transport.exchange(TransportRequest(method="GET", url=f"{url}/models"))
    except NoConnection as error:
        reason = error.__cause__
        if "TLS" in str(error):
            return None
        return str(getattr(reason, "strerror", None) or reason or error)
    except (Unreachable, LeadsElsewhere, TooLarge):
        return None
    finally:
        transport.close()
    return None


def refuse_if_away(profile: Profile, needed_by: str, seconds: float = SECONDS) -> None:
    """Raise if none of a profile's servers accepts a connection.

    Not checked: a ``llama-cpp`` profile that starts its own server, and any profile with ``probe`` off.

    Raises:
        InputError: one line with the addresses, the reason, and what to start.
    """
    urls = profile.urls
    if not urls or not profile.probe:
        return
    with ThreadPoolExecutor(min(16, len(urls))) as pool:
        reasons = list(pool.map(lambda url: why_away(profile, url, seconds), urls))
    if None in reasons:
        return
    start = {
        "vllm": f"start one ('abduce lm serve vllm --run' serves {profile.served_model})",
        "llama-cpp": "start one ('abduce lm serve llama-cpp --path FILE.gguf --run')",
    }.get(profile.kind, "start one")
    raise InputError(
        f"{needed_by} needs a model server and none answers at {', '.join(urls)} ({reasons[0]}): {start}, "
        "or name another address in [lm] base_url; 'abduce lm check' tries it out"
    )
