import { describe, expect, test } from 'vitest';
import { makeAttacks } from '../support/http/attacks.ts';
import { send, sendRaw } from '../support/http/http.ts';
import { parseMessages } from '../support/http/strict-http.ts';
import { shortTimeouts, startBothServices } from '../support/kits/both-services.ts';
import { startReverseProxy, type ProxyName } from '../support/kits/reverse-proxy.ts';
import { startRawUpstream } from '../support/upstreams/raw-upstream.ts';

/*
 * Behind a proxy, a hidden request would share a connection with the requests of others: the proxy takes it for a body,
 * the gateway for a request, and the next client of the proxy gets its response.
 */
const lanes = 24;

describe.each<ProxyName>(['nginx', 'haproxy'])('behind %s', (name) => {
  test('no attack hides a request from the proxy', { tags: [name], timeout: 600_000 }, async () => {
    await using upstream = await startRawUpstream();
    await using both = await startBothServices(shortTimeouts);
    const gateway = await both.addGateway({ PETS_SERVICE_URL: upstream.url });
    await using proxy = await startReverseProxy(name, gateway.port);

    /** What another client of the proxy gets. A proxy responds with 502 if its connection has just been closed. */
    async function targetOfVictim(mark: string): Promise<unknown> {
      const { status, json } = await send(`${proxy.url}/v1/pets?victim=${mark}`, { key: both.key });
      expect(status).toBe(200);
      return (json as { target: string }).target;
    }

    const attacks = [...makeAttacks(`Bearer ${both.key}`).entries()];
    const attackAll = async () => {
      for (let next = attacks.shift(); next !== undefined; next = attacks.shift()) {
        const [index, attack] = next;
        await sendRaw(proxy.port, Buffer.from(attack.bytes, 'latin1'));
        const mark = `v${index}`;
        expect({ attack: attack.name, target: await targetOfVictim(mark) }).toEqual({
          attack: attack.name,
          target: `/v1/pets?victim=${mark}`,
        });
      }
    };
    await Promise.all(Array.from({ length: lanes }, attackAll));

    const received = upstream.received.flatMap((bytes) => {
      const { messages, rest, broken } = parseMessages(bytes, 'requests');
      expect({ rest, broken }).toEqual({ rest: '' });
      return messages.map(({ start }) => start.split(' ')[1] ?? '').filter((target) => target !== '/readyz');
    });
    expect(received.length).toBeGreaterThan(lanes);
    // The proxy may write the rest of a target in another way.
    const marks = received.map((target) => /(?:mark|smuggled|victim)=[\w-]+/.exec(target)?.[0] ?? target);
    // Logged when the response ends.
    const unknownToProxy = async () => {
      const log = await proxy.log();
      return marks.filter((mark) => !log.includes(mark));
    };
    await expect.poll(unknownToProxy).toEqual([]);
  });
});
