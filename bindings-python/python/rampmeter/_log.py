"""Lines of the native module on their way to ``logging``.

No handler is added and no level set: an unconfigured program then shows
warnings, and nothing else, through ``logging``'s handler of last resort.
"""

import logging

_logger = logging.getLogger("rampmeter")


def notice(warning: bool, message: str) -> None:
    """Logs one line: holds as warnings, single waits for debugging."""
    _logger.log(logging.WARNING if warning else logging.DEBUG, "%s", message)


def listener_failed(error: BaseException) -> None:
    """Logs what an ``on_event`` callback raised."""
    _logger.error("on_event callback raised; the call goes on", exc_info=error)
