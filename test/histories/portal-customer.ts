import { InvalidOperation } from '../../gateway/control/invalid-operation.ts';
import type { Session } from '../../gateway/control/session.ts';
import { hashApiKey } from '../../gateway/keys/api-key-format.ts';
import type { IssuedKey } from '../support/kits/keys.ts';
import { enterPortal, sendToPortal } from '../support/kits/portal-kit.ts';

/**
 * Customers in the portal, in a session each, which they have begun at the first gateway.
 * @param urls of the gateways @param connect returns the present connection to Redis
 */
export function createPortalCustomers(urls: readonly string[], connect: () => Promise<Session['redis']>) {
  const sessions = new Map<string, Record<string, string>>();

  /**
   * Changes keys of the customer of a key.
   * @param path below /keys
   * @throws InvalidOperation if it was refused; another error if it may have been made
   */
  async function change(gateway: number, { customerId }: IssuedKey, path: string, body: object = {}) {
    const url = urls[gateway] ?? '';
    const { status, text, json } = await sendToPortal(
      url,
      'POST',
      `/keys${path}`,
      body,
      sessions.get(customerId),
    ).catch((error: unknown) => {
      if (error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED')
        throw new InvalidOperation('no gateway');
      throw error;
    });
    if (status >= 400 && status < 500) throw new InvalidOperation(text);
    if (status >= 500) throw new Error(`the portal responded with ${status}`);
    return json;
  }

  return {
    change,
    async enter(owner: string) {
      const [origin = ''] = urls;
      const { cookie, csrfToken } = await enterPortal(origin, await connect(), owner);
      // As behind a load balancer, where all gateways have one address: the name of the cookie has its port.
      const { host: Host } = new URL(origin);
      sessions.set(owner, { Cookie: cookie, 'X-CSRF-Token': csrfToken, Host, Origin: origin });
    },
    /** The same for a change that issues a key. */
    async issue(gateway: number, key: IssuedKey, path: string, body: object): Promise<IssuedKey> {
      const { customerId } = key;
      const issued = (await change(gateway, key, path, body)) as { id: string; key: string };
      return { key: issued.key, id: issued.id, customerId, keyHash: hashApiKey(issued.key) };
    },
  };
}
