"""Connecting to a server: who serves there, what, and whether small requests show anything wrong with it."""

from collections.abc import Mapping
from dataclasses import replace

from rig.engine.core.settings import EngineSettings
from rig.errors import RigError
from rig.models import Notify
from rig.plugins import registered
from rig.serving.dialects.base import Dialect
from rig.serving.model import ServedModel, identify
from rig.serving.probes import probe, settings_for_probes
from rig.serving.wire.address import Address
from rig.serving.wire.client import HttpClient, ServerFault


def load(url: str, settings: EngineSettings, notify: Notify, *, probing: bool = False) -> ServedModel:
    """Find out who serves there, and what; with `probing`, also what is wrong there. Raises RigError."""
    address = Address.parse(url)
    client = HttpClient(address, settings.timeout)
    try:
        client.find()
        if not address.is_here:
            notify(f"{address}: prompts leave this machine, for {address.host}")
        dialect = _dialect(client, settings.dialect)
        model = ServedModel(client, dialect, identify(client, dialect), settings, notify)
        notify(f"{address}: {model.line}")
        if probing:
            _probe(model, notify)
        return model
    except BaseException as error:
        client.close()
        if isinstance(error, ServerFault):
            raise RigError(f"{address.origin}: {error}; see whether the server is at work") from error
        raise


def _dialect(client: HttpClient, name: str | None) -> Dialect:
    dialects: Mapping[str, type[Dialect]] = registered().dialects
    if name is not None:
        return dialects[name]()
    for candidate in dialects:
        dialect = dialects[candidate]()
        if dialect.recognises(client):
            return dialect
    raise RigError(
        f"{client.address.origin}: none of {', '.join(dialects)}; if it answers like one, --dialect NAME"
    )


def _probe(model: ServedModel, notify: Notify) -> None:
    """Tell of what is wrong with the server, with the remedy. The requests are those of no conversation."""
    settings = replace(settings_for_probes(model.settings), format=model.settings.format, thinking_tokens=0)
    tried = ServedModel(model.client, model.dialect, model.identity, settings, notify)
    try:
        for finding in dict.fromkeys(probe(tried, quickly=True)):
            notify(f"{model.name}: {finding.name}: {finding.fault}; {finding.advice}")
    except ServerFault as fault:
        notify(f"{model.name}: probing it failed: {fault}")
