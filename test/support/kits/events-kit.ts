import { addWebhook, type WebhookWithSecret } from '../../../gateway/operations/webhooks.ts';
import { createAuditLog } from '../../../gateway/redis/record-change.ts';
import type { RedisClient } from '../../../gateway/redis/redis-client.ts';
import type { WebhookOwner } from '../../../gateway/redis/redis-keys.ts';
import { startReceiver, type Receiver } from '../webhooks/receiver.ts';
import { startGatewayKit, type GatewayKit } from './gateway-kit.ts';

/** Receivers on this machine are allowed. */
export const webhookSettings = {
  WEBHOOK_ALLOW_HTTP: 'true',
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1',
  WEBHOOK_CUSTOMER_NETWORKS: '127.0.0.1',
};
export const localRules = {
  allowHttp: true,
  allowedNetworks: ['127.0.0.1'],
  customerNetworks: ['127.0.0.1'],
  followRedirects: false,
};

export const eventSession = (redis: RedisClient) => ({
  redis,
  audit: createAuditLog({ redis, who: 'tests' }),
  now: Date.now,
});

export interface EventsKit extends GatewayKit {
  receiver: Receiver;
  session: ReturnType<typeof eventSession>;
  /** Adds a webhook with a path of the receiver. */
  webhook(owner: WebhookOwner, path: string, types?: string[]): Promise<WebhookWithSecret>;
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
    webhook: (owner, path, types) =>
      addWebhook(session, owner, { url: `${receiver.url}${path}`, types }, localRules),
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  };
}
