import { addWebhook, type WebhookWithSecret } from '../../../gateway/control/webhooks/webhooks.ts';
import { startReceiver, type Receiver } from '../webhooks/receiver.ts';
import { startGatewayKit, type GatewayKit } from './gateway-kit.ts';
import { sessionOf } from './keys.ts';

/** Receivers on this machine are allowed. */
export const localNetworks = ['127.0.0.1'];
export const webhookSettings = { WEBHOOK_ALLOWED_NETWORKS: localNetworks.join(',') };

interface WantedWebhook {
  types?: readonly string[];
  customerId?: string;
}

export interface EventsKit extends GatewayKit {
  receiver: Receiver;
  session: ReturnType<typeof sessionOf>;
  /** Adds a webhook with a path of the receiver. */
  webhook(path: string, wanted?: WantedWebhook): Promise<WebhookWithSecret>;
}

/** A gateway that delivers events, and a receiver as another process. */
export async function startEventsKit(env: Record<string, string> = {}): Promise<EventsKit> {
  await using stack = new AsyncDisposableStack();
  const receiver = stack.use(await startReceiver());
  const kit = stack.use(await startGatewayKit({ ...webhookSettings, ...env }));
  const session = sessionOf(kit.redis);
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
