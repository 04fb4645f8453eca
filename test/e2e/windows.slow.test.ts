import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { currentTitle, windowNames, windowOf } from '../../gateway/limits/windows.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { send } from '../support/http/http.ts';
import { startConsole } from '../support/kits/console-kit.ts';
import { placeOfKey } from '../support/kits/keys.ts';
import { runOps } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';

type Issued = { key: string; id: string; customerId: string };

describe('each window', { tags: ['chromium'], timeout: 120_000 }, () => {
  const started = shared(startConsole);

  const run = async (...args: string[]) => {
    const ended = await runOps(args, { REDIS_URL: started.server.url });
    expect(ended, args.join(' ')).toMatchObject({ code: 0 });
    return ended;
  };
  const json = async <T>(...args: string[]) => JSON.parse((await run(...args, '--json')).stdout) as T;
  const usage = async (key: string) => (await send(`${started.gateway.url}/v1/usage`, { key })).json;

  test.each(windowNames)('%s is in all that operators and clients see of limits', async (name) => {
    const { redis } = started;
    const plan = `by-${name}`;
    const set = (limit: number, ...more: string[]) =>
      run('plans', 'set', plan, `--${name}`, String(limit), ...more);
    // The hash of the plan.
    await set(5, '--create');
    expect(await redis.hget(redisKeys.plan(plan), name)).toBe('5');

    // Own limits, headers, usage.
    const { key, id, customerId } = await json<Issued>('keys', 'issue', '--plan', plan, '--name', plan);
    await expect
      .poll(async () => (await started.pets(key)).header('RateLimit-Policy'))
      .toContain(`"${name}";q=5;`);
    const own = (limit: string) => ['customers', 'set', customerId, `--${name}`, limit];
    expect(await json(...own('3'), '--dry-run')).toMatchObject({ [name]: 3 });
    expect(await json('customers', 'show', customerId)).toMatchObject({ [name]: null });
    expect(await json(...own('4'))).toMatchObject({ [name]: 4 });
    await expect.poll(async () => (await started.pets(key)).status).toBe(429);
    const refused = await started.pets(key);
    expect(refused.header('RateLimit-Policy')).toContain(`"${name}";q=4;`);
    expect(refused.json).toMatchObject({ code: 'rate_limit_exceeded' });
    expect(refused.header('X-RateLimit-Window')).toBe(name);
    expect(await usage(key)).toMatchObject({ [name]: { limit: 4, remaining: 0 } });
    expect(await json('keys', 'show', id)).toMatchObject({ windows: { [name]: { limit: 4 } } });

    // The console.
    const { page } = await started.open(`/console/plans/${plan}`);
    const changeLimits = () => page.getByRole('button', { name: 'Change limits…' }).click();
    const label = `Requests ${windowOf(name).each}`;
    await changeLimits();
    await expect.poll(() => page.getByLabel(label, { exact: true }).inputValue()).toBe('5');
    await page.goto(`${started.origin}/console/customers/${customerId}`);
    await page.getByRole('heading', { name: currentTitle(name) }).waitFor();
    await changeLimits();
    await expect
      .poll(() => page.getByLabel(`Own limit ${windowOf(name).each}`, { exact: true }).inputValue())
      .toBe('4');
    await page.goto(`${started.origin}/console/keys/${id}`);
    await page.getByText('4 of 4 used', { exact: true }).waitFor();

    // A new key for the same customer, and a copy of the record.
    const rotated = await json<Issued & Record<string, unknown>>('keys', 'rotate', id);
    expect(rotated).toMatchObject({ customerId, replaces: id });
    await using directory = await temporaryDirectory();
    const file = join(directory.path, 'keys.jsonl');
    await writeFile(file, (await run('keys', 'export')).stdout);
    const place = await placeOfKey(redis, rotated.key);
    const record = redisKeys.customer(place.customerId);
    await redis.del(record, redisKeys.apiKey(place));
    await run('keys', 'import', file);
    expect(await redis.hget(record, name)).toBe('4');

    // Back to the plan.
    expect(await json(...own('plan'))).toMatchObject({ [name]: null });

    // The file of the plans.
    expect((await run('plans', 'export')).stdout).toMatch(
      new RegExp(`by-${name}:[^:]*(\\w+: \\d+\\s+)*${name}: 5`),
    );
  });
});
