"""URLs of one's own to which messages are sent, each with a secret that signs them."""

from homing.model.errors import NotFound
from homing.model.webhook_urls import check_url, loopback_allowed, new_signing_secret
from homing.operations.context import Context
from homing.operations.instance_id import instance_id, points_here
from homing.operations.shapes.base import Listing, Nothing
from homing.operations.shapes.people_asks import AddWebhook, Gone, NewWebhookShape, WebhookRef, WebhookShape
from homing.store import deliveries, people, sessions


def list_webhooks(ctx: Context, ask: Nothing) -> Listing[WebhookShape]:
    """List your webhooks."""
    found = people.list_webhooks(ctx.tx, ctx.caller.user_id)
    return Listing(items=[WebhookShape.of(webhook, address=f"webhook:{webhook.id}") for webhook in found])


def add_webhook(ctx: Context, ask: AddWebhook) -> NewWebhookShape:
    """Add a webhook; its secret is shown only once."""
    url = check_url(ask.url, loopback=loopback_allowed(ctx.settings.host, ctx.settings.public_url))
    secret = new_signing_secret()
    local_to = instance_id(ctx.settings.home) if points_here(url) else None
    webhook = people.add_webhook(ctx.tx, user_id=ctx.caller.user_id, url=url, secret=secret, local_to=local_to)
    return NewWebhookShape.of(webhook, address=f"webhook:{webhook.id}", secret=secret)


def remove_webhook(ctx: Context, ask: WebhookRef) -> Gone:
    """Remove a webhook; sessions no longer send to it."""
    if not people.remove_webhook(ctx.tx, user_id=ctx.caller.user_id, webhook_id=ask.webhook_id):
        raise NotFound(f"There is no webhook {ask.webhook_id}. List yours with list_webhooks.")
    address = f"webhook:{ask.webhook_id}"
    revs = sessions.drop_address(ctx.tx, address, sessions.with_address(ctx.tx, address, ctx.caller.user_id))
    deliveries.give_up(ctx.tx, address, revs, error="The webhook was removed before this was sent.")
    return Gone(id=ask.webhook_id)
