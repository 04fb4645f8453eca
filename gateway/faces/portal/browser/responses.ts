/** Responses of the API, as its schemas declare them. Only types: a browser loads none of that code. */
import type { z } from 'zod';
import type { portalKeyPageSchema } from '../../../control/access/portal-keys.ts';
import type {
  newPortalKeySchema,
  portalCustomerSchema,
  portalFailuresSchema,
  portalUsageSchema,
} from '../../../control/access/portal-operations.ts';
import type { portalKeyInput } from '../../../control/keys/key-input.ts';

export type Customer = z.infer<typeof portalCustomerSchema>;
export type Usage = z.infer<typeof portalUsageSchema>;
export type Failures = z.infer<typeof portalFailuresSchema>;
export type KeyPage = z.infer<typeof portalKeyPageSchema>;
export type Key = KeyPage['items'][number];
/** What a new key is given. */
export type WantedKey = z.input<typeof portalKeyInput>;
export type NewKey = z.infer<typeof newPortalKeySchema> & { warnings: string[] };
