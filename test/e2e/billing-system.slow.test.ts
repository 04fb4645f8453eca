import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { recordSecrets } from '../support/checks/evidence.ts';
import { startOpsKit } from '../support/kits/ops-kit.ts';
import { sendToPortal } from '../support/kits/portal-kit.ts';
import { shared } from '../support/kits/shared.ts';
import { pythonPath } from '../support/programs.ts';

const command = pythonPath ?? '';
const program = fileURLToPath(new URL('../../gateway/faces/api/examples/billing.py', import.meta.url));

interface Subscribed {
  customer: string;
  key: string;
}

describe('a billing system', () => {
  const kit = shared(startOpsKit);

  const issueToken = async (name: string) => {
    const scopes = 'customers:write,keys:write,links:write,usage:read';
    const issue = `api-tokens issue --name ${name} --scopes ${scopes} --expires 90d --as Ada`;
    const issued = await kit.json<{ id: string; token: string }>(...issue.split(' '));
    recordSecrets(issued.token);
    return issued;
  };

  /** Runs the example as its reader does. @returns the lines of JSON that it prints */
  async function run<T>(token: string, ...args: string[]): Promise<T[]> {
    const env = { PATH: process.env['PATH'], OPS_API: kit.gateway.adminUrl, OPS_TOKEN: token };
    const child = spawn(command, [program, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const [output, errors] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ]);
    recordSecrets(output);
    expect(errors).toBe('');
    return output
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as T);
  }

  test('makes a customer with a key and a link to the portal, moves it to another plan, and reads the month', async ({
    skip,
  }) => {
    if (command === '') return skip('python3');
    const { id, token } = await issueToken('billing');
    const subscribe = () => run<Subscribed>(token, 'subscribe', 'C-4711', 'Shop', 'free');
    const [subscribed] = await subscribe();
    // The checkout is repeated, since its response was lost.
    expect(await subscribe()).toEqual([subscribed]);
    const { customer = '', key = '' } = subscribed ?? {};
    expect((await kit.pets(key)).header('ratelimit-policy')).toContain('q=60;w=60');
    const [linked] = await run<{ link: string }>(token, 'portal', customer);
    const [, code] = linked?.link.split('/portal#code=') ?? [];
    const enter = () => sendToPortal(kit.gateway.url, 'POST', '/session', { code });
    const entered = await enter();
    recordSecrets(`${String(entered.headers['set-cookie'])} ${entered.text}`);
    expect(entered).toMatchObject({ status: 200, json: { customerId: customer } });
    expect(await enter()).toMatchObject({ status: 401, json: { code: 'invalid_code' } });
    expect(await run(token, 'move', customer, 'pro')).toEqual([{ customer, plan: 'pro' }]);
    expect((await kit.pets(key)).header('ratelimit-policy')).toContain('q=300;w=60');
    const month = new Date().toISOString().slice(0, 7);
    const use = await run<{ customer: string; units: number }>(token, 'use', month);
    expect(use).toContainEqual({ customer, units: 2 });

    const entries = await kit.json<{ who: string; action: string }[]>('audit', '--who', `billing (${id})`);
    expect(entries.map(({ action }) => action)).toEqual([
      'customers.create',
      'keys.issue',
      'portal.link',
      'customers.set',
    ]);
    expect(JSON.stringify(entries)).not.toContain(token);
  });
});
