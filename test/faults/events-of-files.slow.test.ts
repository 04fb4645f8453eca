import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { eventTypes } from '../../gateway/events/event-types.ts';
import { issueKey } from '../../gateway/operations/keys.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { recordSecrets } from '../support/checks/evidence.ts';
import { startEventsKit, webhookSettings, type EventsKit } from '../support/kits/events-kit.ts';
import { runOps, runProgram, startGateway } from '../support/kits/service.ts';
import { temporaryDirectory, type TemporaryDirectory } from '../support/kits/temporary-directory.ts';
import { contentOf, idOf } from '../support/webhooks/receiver.ts';

const timeout = 60_000;
const tooLateMs = 25 * 3_600_000;

const sorted = (ids: readonly string[]) => ids.toSorted((one, other) => one.localeCompare(other));

describe('keys that are issued from a file', { timeout: 180_000 }, () => {
  let kit: EventsKit;
  let directory: TemporaryDirectory;
  beforeAll(async () => {
    kit = await startEventsKit();
    directory = await temporaryDirectory();
    const begun = () => kit.redis.hget(redisKeys.eventState, 'audit');
    await vi.waitFor(async () => expect(await begun()).not.toBeNull(), { timeout });
  });
  afterAll(async () => {
    await kit[Symbol.asyncDispose]();
    await directory[Symbol.asyncDispose]();
  });

  async function fileOf(name: string, count: number): Promise<string> {
    const lines = Array.from({ length: count }, (_, index) => `${name} ${index},free,2099-01-01`);
    const path = join(directory.path, `${name}.csv`);
    await writeFile(path, ['name,plan,expires', ...lines].join('\n'));
    return path;
  }
  const createdAt = (path: string) => kit.receiver.at(path).map((each) => contentOf(each).data);
  const keyIds = (data: readonly Record<string, unknown>[]) => sorted(data.map(({ keyId }) => String(keyId)));

  test('are each one event, with what the key is', async () => {
    await kit.webhook('operators', '/file', ['key.created']);
    const path = await fileOf('file', 250);
    const { code, stdout } = await runOps(['keys', 'issue', '--from', path, '--json'], {
      REDIS_URL: kit.server.url,
    });
    expect(code).toBe(0);
    const issued = JSON.parse(stdout) as { id: string; name: string; customerId: string }[];
    await expect.poll(() => kit.receiver.at('/file').length, { timeout }).toBeGreaterThanOrEqual(250);
    const received = new Map(
      createdAt('/file').map((data) => [data['keyId'], eventTypes['key.created'].data.strict().parse(data)]),
    );
    const expected = issued.map(({ id: keyId, name: keyName, customerId }) => {
      const expiresAt = '2099-01-01T00:00:00.000Z';
      return [keyId, { customerId, keyId, keyName, expiresAt, replaces: null }] as const;
    });
    expect(received).toEqual(new Map(expected));
    expect(new Set(kit.receiver.at('/file').map(idOf)).size).toBe(250);
  });

  test('are each one event, also if the command and then the gateway that delivers are killed', async () => {
    await kit.webhook('operators', '/killed', ['key.created']);
    const args = ['gateway/ops/main.ts', 'keys', 'issue', '--from', await fileOf('killed', 2000), '--json'];
    const env = { REDIS_URL: kit.server.url };
    const killed = await runProgram(args, env, { signalOnOutput: 'SIGKILL' });
    expect(killed).toMatchObject({ code: null });
    const [{ batch = '' } = {}] = await listed();
    expect(batch).toMatch(/^batch_/);
    // As if it had been killed before it published the events of these.
    const unpublished = await issueKey(kit.session, { plan: 'free', name: 'killed early', batch });
    const past = { ...kit.session, now: () => Date.now() - tooLateMs };
    const old = await issueKey(past, { plan: 'free', name: 'killed a day before', batch });
    recordSecrets(`${unpublished.key} ${old.key}`);
    const further = { ...env, PETS_SERVICE_URL: kit.upstream.url, ...webhookSettings };
    await using next = await startGateway(further);
    kit.gateway.signal('SIGKILL');
    await kit.gateway.exited;
    const created = (await listed()).filter(({ id }) => id !== old.record.id);
    expect(created.map(({ id }) => id)).toContain(unpublished.record.id);
    const distinct = () => [...new Set(keyIds(createdAt('/killed')))];
    await expect.poll(distinct, { timeout }).toEqual(sorted(created.map(({ id }) => id)));
    const stream = await kit.redis.xrange(redisKeys.events, '-', '+');
    const ids = stream.map(([, list]) => list[list.indexOf('id') + 1]);
    expect(new Set(ids).size).toBe(ids.length);
    expect(JSON.stringify(stream)).not.toContain(old.record.id);
    expect(next.output()).not.toContain(unpublished.key);

    /** Keys of the file, as the list has them. */
    async function listed() {
      const { stdout } = await runOps(['keys', 'list', '--name', 'killed', '--json'], env);
      return JSON.parse(stdout) as { id: string; batch?: string }[];
    }
  });
});
