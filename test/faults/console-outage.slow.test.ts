import { beforeAll, describe, expect, test } from 'vitest';
import { makeConsoleCode } from '../../gateway/control/access/console-codes.ts';
import { signInWith, type ConsoleApi } from '../support/kits/console-kit.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { sessionOf } from '../support/kits/keys.ts';
import { shared } from '../support/kits/shared.ts';

describe('while Redis is down', { tags: ['redis-server'] }, () => {
  let origin: string;

  const kit = shared(startGatewayKit);
  beforeAll(() => {
    origin = kit.gateway.adminUrl;
  });

  const session = () => sessionOf(kit.redis);

  async function signIn(): Promise<ConsoleApi> {
    const { code } = await makeConsoleCode(session(), { name: 'Ada', role: 'operator' });
    return signInWith(origin, code);
  }

  const bodyOf = async (api: ConsoleApi, method: string, path: string) =>
    (await api.send(method, path, {})).body;

  test('a session that was seen may look and change nothing, and an unknown one gets nothing', async () => {
    const api = await signIn();
    const ended = await signIn();
    const unseen = await signIn();
    expect((await api.send('GET', '/api/session')).status).toBe(200);
    expect((await ended.send('GET', '/api/session')).status).toBe(200);
    expect((await ended.send('DELETE', '/api/session')).status).toBe(204);
    const { code } = await makeConsoleCode(session(), { name: 'Ada', role: 'operator' });

    await kit.server.kill();
    await expect.poll(async () => (await unseen.send('GET', '/api/session')).status).toBe(503);
    expect((await api.send('GET', '/api/session')).body).toMatchObject({ name: 'Ada', role: 'operator' });
    expect(await bodyOf(api, 'POST', '/api/nothing')).toMatchObject({ code: 'service_unavailable' });
    expect(await bodyOf(api, 'DELETE', '/api/session')).toMatchObject({ code: 'service_unavailable' });
    expect((await ended.send('GET', '/api/session')).status).toBe(503);
    const attempt = await fetch(`${origin}/api/session`, {
      method: 'POST',
      headers: { origin, 'content-type': 'application/json' },
      body: JSON.stringify({ code }),
    });
    expect(attempt.status).toBe(503);
    expect((await fetch(`${origin}/livez`)).status).toBe(200);

    await kit.server.restart();
    await expect.poll(async () => (await unseen.send('GET', '/api/session')).status).toBe(200);
    // The code was not used up by the attempt.
    expect((await (await signInWith(origin, code)).send('GET', '/api/session')).status).toBe(200);
  });
});
