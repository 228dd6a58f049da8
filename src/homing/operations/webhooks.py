"""URLs of one's own to which messages are sent, each with a secret that signs them."""

from homing.model.errors import NotFound
from homing.model.targets import check_url, loopback_allowed, new_signing_secret
from homing.operations.desk import Desk
from homing.operations.place import place_of, points_here
from homing.operations.shapes.base import Listing, Nothing, utc
from homing.operations.shapes.people_asks import AddWebhook, Gone, NewWebhookShape, WebhookRef, WebhookShape
from homing.store import people, sessions
from homing.store.people import Webhook


def list_webhooks(desk: Desk, ask: Nothing) -> Listing[WebhookShape]:
    """List one's webhooks."""
    found = people.list_webhooks(desk.tx, desk.caller.user_id)
    return Listing(items=[WebhookShape(**_plain(webhook)) for webhook in found])


def add_webhook(desk: Desk, ask: AddWebhook) -> NewWebhookShape:
    """Add a webhook; its secret is shown this once."""
    url = check_url(ask.url, loopback=loopback_allowed(desk.settings.host, desk.settings.public_url))
    secret = new_signing_secret()
    local_to = place_of(desk.settings.home) if points_here(url) else None
    webhook = people.add_webhook(desk.tx, user_id=desk.caller.user_id, url=url, secret=secret, local_to=local_to)
    return NewWebhookShape(**_plain(webhook), secret=secret)


def remove_webhook(desk: Desk, ask: WebhookRef) -> Gone:
    """Forget a webhook; sessions no longer answer to it."""
    if not people.remove_webhook(desk.tx, user_id=desk.caller.user_id, webhook_id=ask.webhook_id):
        raise NotFound(f"There is no webhook {ask.webhook_id}. List yours with list_webhooks.")
    address = f"webhook:{ask.webhook_id}"
    sessions.drop_address(desk.tx, address, sessions.with_address(desk.tx, address, desk.caller.user_id))
    return Gone(id=ask.webhook_id)


def _plain(webhook: Webhook) -> dict[str, str]:
    return {
        "id": webhook.id,
        "address": f"webhook:{webhook.id}",
        "url": webhook.url,
        "created_at": str(utc(webhook.created_at)),
    }
