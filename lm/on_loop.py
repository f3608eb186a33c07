"""DSPy's path of one model call on an event loop, without worker threads.

DSPy prepares, prices, looks up and stores a call in worker threads, which a cancelled task leaves running.
For abduce's models these steps are fast, so they run on the loop. All uses of private DSPy parts for this are
here and in :mod:`.engine`. A test compares requests and records of both paths.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .engine import Served

_execution: Any = import_module("dspy.clients.execution")
_error_boundary: Any = import_module("dspy.clients.errors").error_boundary


async def asked_on_loop(lm: Any, prompt: Any, messages: Any, kwargs: dict[str, Any]) -> Any:
    """The result of ``lm(prompt, messages=..., **kwargs)``; the model's engine is a :class:`Served`.

    Raises:
        dspy.LMError: as the call in a thread.
    """
    engine: Served = lm.engine
    call = _execution.prepare(lm, prompt, messages, kwargs)
    result = _execution._cached(lm, call, False)
    if result is None:
        with _error_boundary(lm.model, unexpected=True):
            request = _execution._canonical(call)
            response = await engine.acomplete(request)
            result = _execution._result(lm, response, call, None, request, estimate=False)
        _execution._store(lm, call, result, False)
    return _execution.finalize(lm, call, result)
