import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { settingPage } from '../../../../gateway/control/plans/settings.ts';
import { apiRoutes } from '../../../../gateway/faces/api/api.ts';
import { program } from '../../../../gateway/faces/command/program.ts';
import { policyFields } from '../../../../gateway/limits/setting-fields.ts';
import { createMetrics } from '../../../../gateway/platform/observability/metrics.ts';
import type { RedisClient } from '../../../../gateway/platform/redis/redis-client.ts';
import { createLiveSettings } from '../../../../gateway/process/live-settings.ts';
import { wholeSettings } from '../../../../gateway/quota/default-settings.ts';

const gateway = new URL('../../../../gateway/', import.meta.url);

const policyInput = apiRoutes.find(({ operation }) => operation.operationId === 'setPolicy')?.operation.input;
const inputFields = policyInput instanceof z.ZodObject ? Object.keys(policyInput.shape) : [];

const live = createLiveSettings({
  redis: {} as RedisClient,
  log: pino({ enabled: false }),
  metrics: createMetrics(),
  now: Date.now,
});

test.each(wholeSettings)('$name is enforced, shown, changed and described', (setting) => {
  const { name, key, advice } = setting;
  expect(Object.keys(live.enforced().defaults)).toContain(key);

  const names = name === 'anonymous' ? ['anonymousMinute'] : Object.keys(setting.values.shape);
  expect(inputFields).toEqual(expect.arrayContaining(names));
  expect(['enabled', ...Object.keys(policyFields)]).toEqual(expect.arrayContaining(names));

  expect(settingPage(key)?.page).toBe('/console/bans');

  for (const document of ['REDIS.md', 'RUNBOOK.md']) {
    const cells = readFileSync(new URL(document, gateway), 'utf8')
      .match(/^ *\|[^|]*/gm)
      ?.join('');
    const names = [key, key.replace(/^gw:plan:.*/, 'gw:plan:<name>')].map((text) => `\`${text}\``);
    expect(cells, document).toSatisfy((text: string) => names.some((name) => text.includes(name)));
  }

  const words = advice.split('ops ').at(-1)?.split(' ') ?? [];
  const command = words.reduce<Command>(
    (above, word) => above.commands.find((below) => below.name() === word) ?? above,
    program,
  );
  const below = command.commands.map((each) => each.name());
  expect(below, 'its advice names a command').toEqual([]);
});
