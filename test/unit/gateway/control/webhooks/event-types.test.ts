import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  eventTypeNames,
  eventTypes,
  type GatewayEvent,
} from '../../../../../gateway/control/webhooks/event-types.ts';
import { wants, type Webhook } from '../../../../../gateway/control/webhooks/stored-webhooks.ts';

const guide = readFileSync(
  new URL('../../../../../gateway/control/webhooks/RECEIVING.md', import.meta.url),
  'utf8',
);

test.each(eventTypeNames)('the document for receivers describes %s and each of its fields', (name) => {
  const row = guide.split('\n').find((line) => line.startsWith(`| \`${name}\``));
  const fields = Object.keys(eventTypes[name].data.shape);
  expect(fields.filter((field) => !row?.includes(`\`${field}\``))).toEqual([]);
  expect(row).toContain(eventTypes[name].summary);
});

test('a webhook gets events of its customer and its types, since it was made, while it is on', () => {
  const forAll = { customerId: null, types: null, description: null };
  const createdAt = '2026-11-26T00:00:00.000Z';
  const made: Webhook = { id: 'wh_0', ...forAll, url: '', enabled: true, createdAt, secret: 'whsec_' };
  const at = '2026-11-26T00:00:01.000Z';
  const event: GatewayEvent = { id: 'evt_1', type: 'key.created', customerId: 'cus_1', at, data: {} };
  const isWanted = (webhook: Partial<Webhook>, of: Partial<GatewayEvent> = {}) =>
    wants({ ...made, ...webhook }, { ...event, ...of });
  expect(isWanted({})).toBe(true);
  expect(isWanted({ customerId: 'cus_1', types: ['key.created'] })).toBe(true);
  expect(isWanted({ customerId: 'cus_2' })).toBe(false);
  expect(isWanted({ types: ['ban.began'] })).toBe(false);
  expect(isWanted({ enabled: false })).toBe(false);
  expect(isWanted({}, { at: '2026-11-25T00:00:00.000Z' })).toBe(false);
});
