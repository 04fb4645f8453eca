import { expect, test } from 'vitest';
import { logOwnStore } from '../../../../../gateway/platform/runtime/own-store.ts';

test('in production, a store of its own is a warning that names the missing setting', () => {
  const lines: string[] = [];
  const log = {
    info: (text: string) => void lines.push(`info ${text}`),
    warn: (text: string) => void lines.push(`warn ${text}`),
  };
  const store = { text: 'Redis: private', setting: 'REDIS_URL' };
  logOwnStore(log, store, { NODE_ENV: 'production' });
  logOwnStore(log, store, {});
  expect(lines).toEqual(['warn Redis: private; REDIS_URL is not set', 'info Redis: private']);
});
