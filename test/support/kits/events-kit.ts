import { addWebhook, type WebhookWithSecret } from '../../../gateway/control/webhooks/webhooks.ts';
import { createAuditLog } from '../../../gateway/platform/redis/record-change.ts';
import type { RedisClient } from '../../../gateway/platform/redis/redis-client.ts';
import { startReceiver, type Receiver } from '../webhooks/receiver.ts';
import { startGatewayKit, type GatewayKit } from './gateway-kit.ts';

/** Receivers on this machine are allowed. */
export const localNetworks = ['127.0.0.1'];
export const webhookSettings = { WEBHOOK_ALLOWED_NETWORKS: localNetworks.join(',') };

export const eventSession = (redis: RedisClient) => ({
  redis,
  audit: createAuditLog({ redis, who: 'tests' }),
  now: Date.now,
});

interface WantedWebhook {
  types?: readonly string[];
  customerId?: string;
}

export interface EventsKit extends GatewayKit {
  receiver: Receiver;
  session: ReturnType<typeof eventSession>;
  /** Adds a webhook with a path of the receiver. */
  webhook(path: string, wanted?: WantedWebhook): Promise<WebhookWithSecret>;
}

/** A gateway that delivers events, and a receiver as another process. */
export async function startEventsKit(env: Record<string, string> = {}): Promise<EventsKit> {
  await using stack = new AsyncDisposableStack();
  const receiver = stack.use(await startReceiver());
  const kit = stack.use(await startGatewayKit({ ...webhookSettings, ...env }));
  const session = eventSession(kit.redis);
  const disposables = stack.move();
  return {
    ...kit,
    receiver,
    session,
    webhook: (path, wanted) =>
      addWebhook(session, { url: `${receiver.url}${path}`, ...wanted }, localNetworks),
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  };
}
