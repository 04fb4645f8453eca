import { beforeAll, describe, expect, test } from 'vitest';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { type IssuedKey } from '../support/kits/keys.ts';
import { forEachConcurrently, snapshot, startOpsKit } from '../support/kits/ops-kit.ts';
import { shared } from '../support/kits/shared.ts';
import { typeOnTerminal } from '../support/kits/terminal.ts';

interface Shown {
  id: string;
  name: string;
}

interface Entry {
  who: string;
  action: string;
  target: string;
  after: Record<string, unknown> | null;
}

describe('what operators search', { timeout: 120_000 }, () => {
  let keys: Record<'mueller' | 'acme' | 'acmeTwo' | 'formula' | 'expiring' | 'expired', IssuedKey>;

  const kit = shared(startOpsKit);
  beforeAll(async () => {
    keys = {
      mueller: await kit.issue({ name: 'Müller & Söhne' }),
      acme: await kit.issue({ name: 'ACME GmbH', plan: 'pro', minute: 500 }),
      acmeTwo: await kit.issue({ name: 'Acme (test)', plan: 'pro' }),
      formula: await kit.issue({ name: '=1+1', plan: 'business', day: 7 }),
      expiring: await kit.issue({ name: 'Soon', expiresAt: new Date(Date.now() + 86_400_000) }),
      expired: await kit.issue({ name: 'Late', plan: 'pro', expiresAt: new Date('2099-01-01') }),
    };
    await kit.redis.hset(redisKeys.apiKey(keys.expired), 'expiresAt', '2026-01-01T00:00:00Z');
  });

  const idsOf = async (...args: string[]) => (await kit.json<Shown[]>(...args)).map(({ id }) => id);
  const refused = async (...args: string[]) => {
    const { code, stdout, stderr } = await kit.run(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^ops: [^\n]+\n$/);
    return stderr;
  };

  describe('keys list --search and keys show', () => {
    test('find a key by its id, a part of it, its hash, its hint, and a part of its name', async () => {
      const { id, customerId, keyHash, key } = keys.mueller;
      const [idPart, names] = [id.slice(8, 20), ['SÖHNE', 'MU\u{308}LLER']];
      const exact = [
        id,
        keyHash,
        redisKeys.apiKey({ customerId, keyHash }),
        `${key.slice(0, 9)}…`,
        key.slice(0, 12),
      ];
      await forEachConcurrently([...exact, id.slice(0, 14), idPart, ...names], async (text) => {
        expect(await idsOf('keys', 'list', '--search', text), text).toEqual([id]);
      });
      await forEachConcurrently(exact, async (text) => {
        expect(await kit.json('keys', 'show', text), text).toMatchObject({ id, customerId });
      });
      expect(await idsOf('keys', 'list', '--search', 'acme')).toEqual([keys.acme.id, keys.acmeTwo.id]);
      expect(await idsOf('keys', 'list', '--search', id, '--plan', 'free')).toEqual([id]);
      expect(await idsOf('keys', 'list', '--search', id, '--plan', 'pro')).toEqual([]);
    });

    test('refuse a key as an argument, and what finds nothing', async () => {
      const { key } = keys.mueller;
      const pasted = [key, key.slice('pets_'.length), key.slice(0, 30), `Bearer ${key}`];
      await forEachConcurrently(pasted, async (text) => {
        const error = await refused('keys', 'list', '--search', text);
        expect(error).toContain('ops keys show reads a key from standard input');
        expect(error).not.toContain(key.slice(10, 25));
      });
      expect(await refused('keys', 'show', 'nobody')).toContain('there is no API key with the id "nobody"');
      expect(await refused('keys', 'show', 'pets_zzzz')).toContain('no key has the hint pets_zzzz');
      for (const command of [
        ['keys', 'show'],
        ['keys', 'list', '--search'],
      ]) {
        expect(await refused(...command, 'f'.repeat(64))).toContain('no key with this SHA-256 has a record');
        expect(await refused(...command, 'pets_a')).toContain('give at least two characters');
        expect(await refused(...command, ' ')).toContain('It is empty');
      }
    });
  });

  describe('audit', () => {
    const entries = (...args: string[]) => kit.json<Entry[]>('audit', ...args);

    test('filters by action, person, target and time', async () => {
      const { id } = keys.acmeTwo;
      await kit.json('keys', 'set', id, '--scopes', 'all', '--as', 'Alice Ä.');
      await kit.json('plans', 'set', 'silver', '--create', '--minute', '1', '--day', '2', '--as', 'Bob');
      expect(await entries('--who', 'alice ä.')).toMatchObject([{ action: 'keys.set', target: id }]);
      expect(await entries('--action', 'plans.set')).toMatchObject([{ who: 'Bob', target: 'silver' }]);
      expect((await entries('--action', 'keys')).every(({ action }) => action.startsWith('keys.'))).toBe(
        true,
      );
      expect((await entries('--target', id)).map(({ action }) => action)).toEqual(['keys.issue', 'keys.set']);
      expect(await entries('--target', id, '--who', 'Bob')).toEqual([]);
      expect(await entries('--until', '1h')).toEqual([]);
      expect(await entries('--since', '2020-01-01', '--until', '2020-01-02')).toEqual([]);
      // The newest of those that match, as without a filter.
      expect(await entries('--target', id, '--count', '1')).toMatchObject([{ action: 'keys.set' }]);
      expect(await refused('audit', '--since', '1h', '--until', '2h')).toContain('since is not before until');
      expect(await refused('audit', '--action', 'everything')).toContain(
        'is the beginning of no action; they begin with api-tokens, bans, console, customers, keys,',
      );
      expect(await refused('audit', '--since', 'yesterday')).toContain('neither an ISO 8601 time');
    });

    test('reads the whole log in pages, all of it with --since', async () => {
      const pipeline = kit.redis.pipeline();
      for (let index = 0; index < 1200; index += 1) {
        pipeline.xadd(
          redisKeys.audit,
          '*',
          'who',
          index % 400 === 0 ? 'rare' : 'often',
          'action',
          'portal.end',
        );
      }
      await pipeline.exec();
      expect(await entries('--since', '1h', '--action', 'portal.end')).toHaveLength(1200);
      expect(await entries('--action', 'portal.end')).toHaveLength(50);
      expect(await entries('--who', 'rare')).toHaveLength(3);
      const { stdout } = await kit.run('audit', '--action', 'plans.set', '--output', 'csv');
      const [header, line = ''] = stdout.split('\n');
      expect(header).toBe('id,at,who,action,target,before,after,notMade,reason,targetName,targetHint');
      expect(line).toMatch(/,Bob,plans\.set,silver,,"\{""name"":""silver""/);
    });
  });

  describe('a question before a revocation', () => {
    test('needs --yes where there is no terminal, and nothing changes without it', async () => {
      const { id } = await kit.issue({ name: 'Kept' });
      const before = await snapshot(kit.redis);
      expect(await refused('keys', 'revoke', id)).toBe(
        `ops: Revoke ${id} ("Kept", plan free) for good, from its next request on? There is no terminal to ask on: give --yes to do it\n`,
      );
      expect(await snapshot(kit.redis)).toEqual(before);
      expect(await kit.json('keys', 'revoke', id, '--yes')).toMatchObject({ state: 'revoked' });
      // There is nothing to lose any more.
      expect(await kit.json('keys', 'revoke', id)).toMatchObject({ state: 'revoked' });
    });

    test('is asked on a terminal, and only yes means yes', { tags: ['script'] }, async () => {
      const { id } = await kit.issue({ name: 'Asked' });
      const ask = (input: string) =>
        typeOnTerminal(
          ['gateway/faces/command/main.ts', 'keys', 'revoke', id],
          { REDIS_URL: kit.server.url },
          { prompt: '[y/N] ', input },
        );
      await forEachConcurrently(['\r', 'no\r', '\u{3}', '\u{4}'], async (input) => {
        const { code, output } = await ask(input);
        expect(code, output).toBe(2);
        expect(output).toContain(`Revoke ${id} ("Asked", plan free) for good`);
        expect(output).toContain('ops: nothing was changed');
      });
      expect(await kit.json('keys', 'show', id)).toMatchObject({ state: 'valid' });
      expect(await ask('y\r')).toMatchObject({ code: 0 });
      expect(await kit.json('keys', 'show', id)).toMatchObject({ state: 'revoked' });
    });
  });
});
