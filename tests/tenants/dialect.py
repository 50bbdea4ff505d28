"""A dialect of somebody's own server."""

from rig.plugins.served.dialects.base import Dialect, Identity, choose_model


class Mine(Dialect):
    name = "mine"

    def recognises(self, client):
        return client.try_get("/about").get("program") == "mine"

    def identify(self, client, model):
        return Identity(model=str(choose_model(client, model)["id"]), build="1.0")


def register(registry):
    registry.dialects.add(Mine)
