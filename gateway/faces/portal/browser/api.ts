import type { z } from 'zod';
import type { portalKeyPageSchema } from '../../../control/access/portal-keys.ts';
import type {
  newPortalKeySchema,
  portalCustomerSchema,
  portalFailuresSchema,
  portalUsageSchema,
} from '../../../control/access/portal-operations.ts';
import type { portalKeyInput } from '../../../control/keys/key-input.ts';
import { createApi, enterWith } from '../../browser/request.ts';
import { url } from '../../browser/url.ts';
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
type KeyPage = z.infer<typeof portalKeyPageSchema>;
export type Key = KeyPage['items'][number];
/** What a new key is given. */
export type WantedKey = z.input<typeof portalKeyInput>;
export type NewKey = z.infer<typeof newPortalKeySchema> & { warnings: string[] };

/** All that the page shows. */
export type Content = Awaited<ReturnType<typeof readContent>>;

export async function readContent() {
  const [customer, usage, { items: failures }, keys] = await Promise.all([
    api.get<z.infer<typeof portalCustomerSchema>>('/customer'),
    api.get<z.infer<typeof portalUsageSchema>>('/usage?days=30'),
    api.get<z.infer<typeof portalFailuresSchema>>('/failures'),
    readKeys(),
  ]);
  // Newest first.
  keys.sort((one, other) => other.createdAt.localeCompare(one.createdAt));
  return { customer, usage, failures, keys };
}

/** All keys. @param query asks for a further page */
async function readKeys(query = ''): Promise<Key[]> {
  const { items, next } = await api.get<KeyPage>(`/keys${query}`);
  return next === null ? items : [...items, ...(await readKeys(url`?after=${next}`))];
}
