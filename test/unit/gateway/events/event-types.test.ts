import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { eventTypeNames, eventTypes } from '../../../../gateway/events/event-types.ts';
import { isFor, wantsType, type Webhook } from '../../../../gateway/events/webhook-record.ts';

const guide = readFileSync(new URL('../../../../gateway/events/RECEIVING.md', import.meta.url), 'utf8');

test.each(eventTypeNames)('the document for receivers describes %s and each of its fields', (name) => {
  const row = guide.split('\n').find((line) => line.startsWith(`| \`${name}\``));
  const fields = Object.keys(eventTypes[name].data.shape);
  expect(fields.filter((field) => !row?.includes(`\`${field}\``))).toEqual([]);
  expect(row).toContain(eventTypes[name].summary);
});

test('a webhook of a customer gets all types but those for operators, and one of operators these if it asks', () => {
  const webhook = (owner: Webhook['owner'], types: string[] | null): Webhook => ({
    id: 'wh_0000000000000000',
    owner,
    types,
    url: '',
    enabled: true,
    description: null,
    createdAt: '2026-11-26T00:00:00.000Z',
  });
  const wanted = (one: Webhook) => eventTypeNames.filter((type) => wantsType(one, type));
  const all = eventTypeNames.filter((type) => type !== 'usage.day');
  expect(wanted(webhook('cus_1', null))).toEqual(all);
  expect(wanted(webhook('operators', null))).toEqual(all);
  expect(wanted(webhook('cus_1', ['usage.day', 'key.created']))).toEqual(['key.created']);
  expect(wanted(webhook('operators', ['usage.day']))).toEqual(['usage.day']);
  const event = { id: 'evt_1', type: 'key.created', at: '2026-11-26T00:00:01.000Z', data: {} } as const;
  expect(isFor(webhook('cus_1', null), { ...event, customerId: 'cus_1' })).toBe(true);
  expect(isFor(webhook('cus_1', null), { ...event, customerId: 'cus_2' })).toBe(false);
  expect(isFor(webhook('operators', null), { ...event, customerId: 'cus_2' })).toBe(true);
  expect(
    isFor(webhook('cus_1', null), { ...event, customerId: 'cus_1', at: '2026-11-25T00:00:00.000Z' }),
  ).toBe(false);
  expect(isFor(webhook('cus_1', null), { ...event, customerId: 'cus_1', webhook: 'wh_other' })).toBe(false);
});
