import { expect, test } from 'vitest';
import type { ApiKeyChange } from '../../../../gateway/control/keys/keys.ts';
import { assertRev } from '../../../../gateway/control/overtaken-change.ts';
import type { ApiKeyRecord } from '../../../../gateway/keys/api-key-record.ts';
import { forAll, type WindowName } from '../../../../gateway/limits/windows.ts';

const record: ApiKeyRecord = {
  id: 'key_1',
  customerId: 'cus_1',
  name: 'Acme',
  plan: 'free',
  hint: 'pets_ab12',
  createdAt: '2026-11-26T00:00:00.000Z',
  rev: 2,
};

type Field = keyof Omit<ApiKeyChange, 'rev'> | 'plan' | WindowName;

/** What somebody else has changed, of the key or of its customer. */
const changes: { [Name in Field]: Pick<ApiKeyRecord, Name> } = {
  name: { name: 'Other' },
  plan: { plan: 'pro' },
  expiresAt: { expiresAt: '2099-01-01T00:00:00.000Z' },
  scopes: { scopes: ['pets-service:read'] },
  ...forAll((window) => ({ [window]: 7 })),
};

test.each(Object.entries(changes))('a change that was overtaken by one of %s says so', (_field, change) => {
  const message = (after: ApiKeyRecord) => {
    try {
      assertRev(after, 1);
      return '';
    } catch (error) {
      return String(error);
    }
  };
  expect(message({ ...record, ...change })).toMatch(/^OvertakenChange: .+ \(revision 2\)$/);
  expect(message({ ...record, ...change })).not.toBe(message(record));
});
