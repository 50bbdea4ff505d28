"""Addresses of served models, as in `http://127.0.0.1:8080#NAME`, and which of them rig connects to."""

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from rig.core import opening
from rig.core.errors import DOWNLOAD, RigError

_PORTS = {"http": 80, "https": 443}


def is_loopback(ip: str) -> bool:
    """Return whether only this machine can reach an IP address; `::ffff:127.0.0.1` counts as IPv4."""
    address = ip_address(ip.partition("%")[0])
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a served model. `model` is its name there, which may be empty if there is only one.

    `path` is what precedes `/v1`, which is mostly nothing.
    """

    scheme: str
    host: str
    port: int
    path: str = ""
    model: str = ""

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Parse `URL` or `URL#NAME`. Raises RigError for any other text."""
        fault = f"{text.rpartition('@')[2]!a}: give a server as http://127.0.0.1:8080"
        try:
            parts = urlsplit(text)
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise RigError(fault) from error
        if parts.username or parts.password or parts.query:
            raise RigError(
                f"{host!a}: leave user, password and query out of a server's address; --key-from names the"
                " environment variable that holds a key"
            )
        if parts.scheme not in _PORTS or not host or not text.isprintable():
            raise RigError(fault)
        path = parts.path.rstrip("/").removesuffix("/v1")
        return cls(parts.scheme, host, port or _PORTS[parts.scheme], path, parts.fragment)

    @property
    def origin(self) -> str:
        """The address without the model's name."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path}"

    def __str__(self) -> str:
        return f"{self.origin}#{self.model}" if self.model else self.origin

    def targets(self) -> tuple[str, ...]:
        """Return the hosts to connect to: addresses of this machine, or a host that the user allowed.

        "localhost" is not looked up, so it cannot lead to another machine. Raises RigError for a host that
        was not allowed.
        """
        if self.host.lower() == "localhost":
            return "127.0.0.1", "::1"
        if self.is_here or opening.is_allowed(self.host):
            return (self.host,)
        if self.path.endswith(".gguf") or self.host.removeprefix("www.") in ("huggingface.co", "hf.co"):
            raise RigError(f"{self}: is no server; {DOWNLOAD}")
        raise RigError(
            f"{self}: {self.host} is another machine, and prompts would leave this one;"
            f" --allow-host {self.host} allows that"
        )

    @property
    def is_here(self) -> bool:
        """Whether the server is on this machine."""
        try:
            return self.host.lower() == "localhost" or is_loopback(self.host)
        except ValueError:
            return False
