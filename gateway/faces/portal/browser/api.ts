import type { z } from 'zod';
import type {
  newPortalKeySchema,
  portalCustomerSchema,
  portalFailuresSchema,
  portalKeysSchema,
  portalUsageSchema,
} from '../../../control/access/portal-operations.ts';
import type { portalKeyInput } from '../../../control/keys/key-input.ts';
import { createApi, enterWith } from '../../browser/request.ts';
import type { PortalSessionView } from '../portal-api.ts';

const base = '/portal/api';

/** The session of this browser. The cookie itself is out of reach of scripts. */
let current: PortalSessionView | undefined;

export const api = createApi(base, () => ({ 'X-CSRF-Token': current?.csrfToken ?? '' }));

export const session = {
  get current() {
    return current;
  },

  /**
   * Enters with the code of a link, or goes on with the session that there is.
   * @param code undefined without a link
   * @throws ApiFailure
   */
  async begin(code: string | undefined): Promise<void> {
    current = await (code === undefined
      ? api.get<PortalSessionView>('/session')
      : enterWith<PortalSessionView>(`${base}/session`, code));
  },

  /** @throws ApiFailure */
  async end(): Promise<void> {
    await api.delete('/session');
    current = undefined;
  },
};

/** Responses of the API, as its schemas declare them. */
type Keys = z.infer<typeof portalKeysSchema>;
export type Key = Keys['items'][number];
/** What a new key is given. */
export type WantedKey = z.input<typeof portalKeyInput>;
export type NewKey = z.infer<typeof newPortalKeySchema> & { warnings: string[] };

/** All that the page shows. */
export type Content = Awaited<ReturnType<typeof readContent>>;

export async function readContent() {
  const [customer, usage, { items: failures }, { items: keys }] = await Promise.all([
    api.get<z.infer<typeof portalCustomerSchema>>('/customer'),
    api.get<z.infer<typeof portalUsageSchema>>('/usage?days=30'),
    api.get<z.infer<typeof portalFailuresSchema>>('/failures'),
    api.get<Keys>('/keys'),
  ]);
  return { customer, usage, failures, keys };
}
