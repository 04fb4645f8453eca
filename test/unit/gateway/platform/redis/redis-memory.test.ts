import { expect, test } from 'vitest';
import { parseMemory } from '../../../../../gateway/platform/redis/redis-memory.ts';

const info = (fields: Record<string, number>) =>
  `# Memory\r\n${Object.entries(fields)
    .map(([name, value]) => `${name}:${value}\r\n`)
    .join('')}`;

test.each([
  [
    'maxmemory is the limit',
    { used_memory: 900, maxmemory: 1000, total_system_memory: 9000 },
    { usedBytes: 900, limitBytes: 1000 },
  ],
  [
    'without maxmemory it is the memory of the machine',
    { used_memory: 900, maxmemory: 0, total_system_memory: 9000 },
    { usedBytes: 900, limitBytes: 9000 },
  ],
  [
    'buffers that Redis does not count are left out',
    { used_memory: 900, maxmemory: 1000, mem_not_counted_for_evict: 100 },
    { usedBytes: 800, limitBytes: 1000 },
  ],
  ['a server that does not tell its memory has none', { used_memory: 0, maxmemory: 0 }, undefined],
])('%s', (_name, fields, expected) => {
  expect(parseMemory(info(fields))).toEqual(expected);
});

test('an INFO that was refused tells nothing', () => {
  expect(parseMemory('')).toBeUndefined();
});
