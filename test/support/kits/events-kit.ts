import type { EventType } from '../../../gateway/control/webhooks/event-types.ts';
import { addWebhook } from '../../../gateway/control/webhooks/webhooks.ts';
import { startReceiver } from '../webhooks/receiver.ts';
import { startGatewayKit } from './gateway-kit.ts';
import { sessionOf } from './keys.ts';
import { together } from './together.ts';

/** Receivers on this machine are allowed. */
export const localNetworks = ['127.0.0.1'];
export const webhookSettings = { WEBHOOK_ALLOWED_NETWORKS: localNetworks.join(',') };

/** A gateway that delivers events, and a receiver as another process. */
export const startEventsKit = () =>
  together(async (stack) => {
    const receiver = stack.use(await startReceiver());
    const kit = stack.use(await startGatewayKit(webhookSettings));
    const session = sessionOf(kit.redis);
    /** Adds a webhook with a path of the receiver. */
    const webhook = (path: string, wanted: { types?: EventType[]; customerId?: string } = {}) =>
      addWebhook(session, { url: `${receiver.url}${path}`, ...wanted }, localNetworks);
    return { ...kit, receiver, session, webhook };
  });
