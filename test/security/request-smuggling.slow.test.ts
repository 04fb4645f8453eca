import { beforeAll, describe, expect, test } from 'vitest';
import { errorCodes } from '../../pets-service/errors.ts';
import { errorLinesOf } from '../support/checks/alarms.ts';
import { attackGroups, makeAttacks, type Attack } from '../support/http/attacks.ts';
import { send, sendRaw } from '../support/http/http.ts';
import { parseMessages, valuesOf, type Message } from '../support/http/strict-http.ts';
import { shortTimeouts, startBothServices } from '../support/kits/both-services.ts';
import type { Service } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { startRawUpstream } from '../support/upstreams/raw-upstream.ts';

/*
 * Every attack is sent to the gateway in front of the real pets service, and to a gateway in front of a stand-in that
 * records every byte. A strict parser reads the responses. Callers of the pets service itself are internal services.
 */

interface Outcome {
  expected: number[];
  gateway: Message[];
  rawGateway: Message[];
}

const outcomes = new Map<string, Outcome>();

const raw = shared(startRawUpstream);
const both = shared(() => startBothServices(shortTimeouts));
const rawGateway = shared(() => both.addGateway({ PETS_SERVICE_URL: raw.url }));
beforeAll(async () => {
  await Promise.all(
    makeAttacks(`Bearer ${both.key}`).map(async (attack) => {
      const [gateway, rawGatewayResponses] = await Promise.all([
        responsesTo(both.gateway, attack),
        responsesTo(rawGateway, attack),
      ]);
      const { name, expected } = attack;
      outcomes.set(name, { expected, gateway, rawGateway: rawGatewayResponses });
    }),
  );
});

/** All responses on a new connection until the server closes it. Fails if one is malformed. */
async function responsesTo({ port }: Service, attack: Attack): Promise<Message[]> {
  const received = await sendRaw(port, Buffer.from(attack.bytes, 'latin1'));
  const { messages, rest, broken } = parseMessages(received, 'responses');
  expect({ attack: attack.name, rest, broken }).toEqual({ attack: attack.name, rest: '' });
  return messages;
}

const petsCodes = new Set(errorCodes.filter((code) => /^(invalid|pet)_/.test(code)));

/** Whether the pets service sent this response: a success, or an error that the gateway does not have. */
function decidedUpstream(message: Message): boolean {
  const status = statusOf(message);
  if (status < 400) return status !== 204;
  return petsCodes.has((JSON.parse(message.body) as { code: string }).code);
}

const statusOf = ({ start }: Message) => Number(start.split(' ')[1]);

function expectErrorBody(message: Message): void {
  const status = statusOf(message);
  expect(valuesOf(message.headers, 'content-type')).toEqual(['application/json; charset=utf-8']);
  const text: unknown = expect.any(String);
  expect(JSON.parse(message.body)).toEqual({ code: text, message: text, status });
}

describe.each(Object.entries(attackGroups))('%s', (group, rows) => {
  test.each(rows.map(([name]) => name))('%s', (name) => {
    const outcome = outcomes.get(`${group} ${name}`);
    const { expected, gateway, rawGateway: rawGatewayMessages } = outcome ?? raise(`${name} was not sent`);
    expect(gateway.map(statusOf)).toEqual(expected);
    // The stand-in responds 200 to every request that reaches it.
    expect(rawGatewayMessages.map(statusOf)).toEqual(
      gateway.map((message) => (decidedUpstream(message) ? 200 : statusOf(message))),
    );
    for (const message of [...gateway, ...rawGatewayMessages]) {
      if (statusOf(message) >= 400) expectErrorBody(message);
    }
  });
});

describe('behind the gateway', () => {
  test('every byte belongs to exactly one well-formed request, whose client got the response', () => {
    const requests = raw.received.flatMap((bytes) => {
      const { messages, rest, broken } = parseMessages(bytes, 'requests');
      expect({ rest, broken }).toEqual({ rest: '' });
      // Without the readiness probes of the gateway, which have no request id.
      return messages.filter(
        ({ start, headers }) =>
          start !== 'GET /readyz HTTP/1.1' || valuesOf(headers, 'x-request-id').length > 0,
      );
    });
    const targets = requests.map(({ start }) => start.split(' ')[1] ?? '');
    const respondedTargets = [...outcomes.values()]
      .flatMap(({ rawGateway: messages }) => messages)
      .filter((message) => statusOf(message) === 200)
      .map(({ body }) => (JSON.parse(body) as { target?: string }).target)
      // The gateway's own index has none.
      .filter((target) => target !== undefined);
    expect(targets.toSorted()).toEqual(respondedTargets.toSorted());
    expect(targets.length).toBeGreaterThan(20);
    expect(targets.filter((target) => target.includes('smuggled'))).toEqual([]);
    // Canonical paths only: nothing that a proxy before the pets service could normalize to another path.
    const isCanonical = (target: string) =>
      /^\/v1\/pets(\/(?!\.{1,2}$)(?:[\w.~+-]|%25)+)?(\?.*)?$/.test(target);
    expect(targets.filter((target) => !isCanonical(target))).toEqual([]);
    for (const { headers } of requests) {
      for (const name of ['host', 'authorization', 'x-request-id', 'x-forwarded-for']) {
        expect(valuesOf(headers, name)).toHaveLength(1);
      }
      expect(valuesOf(headers, 'authorization')[0]).toMatch(/^Bearer eyJ/);
    }
  });

  test('each response reaches the client of its request', () => {
    for (const [name, { rawGateway: messages }] of outcomes) {
      const marks = messages
        .filter((message) => statusOf(message) === 200)
        .map(({ body }) => /mark=(m\d+-\d+-)/.exec(body)?.[1]);
      expect({ name, marks: new Set(marks).size }).toEqual({ name, marks: marks.length === 0 ? 0 : 1 });
    }
  });

  test('no smuggled pet was created, and each created pet has a response', async () => {
    const names: string[] = [];
    let next: string | undefined = '/v1/pets?limit=100';
    while (next !== undefined) {
      const page = await send(both.gateway.url + next, { key: both.key });
      names.push(...(page.json as { name: string }[]).map(({ name }) => name));
      next = /<(.+)>; rel="next"/.exec(page.header('Link') ?? '')?.[1];
    }
    const created = [...outcomes.values()]
      .flatMap(({ gateway }) => gateway)
      .filter((message) => statusOf(message) === 201);
    const demoPets = 5;
    expect(names.filter((name) => name.includes('smuggled'))).toEqual([]);
    expect(names).toHaveLength(demoPets + created.length);
  });

  test('the pets service accepts the longest headers that the gateway does', async () => {
    const response = await send(`${both.gateway.url}/v1/pets`, {
      key: both.key,
      headers: { x: 'a'.repeat(16_000) },
    });
    expect(response.status).toBe(200);
  });

  test('no service has logged an error', () => {
    for (const service of [both.gateway, rawGateway, both.petsService]) {
      expect(errorLinesOf(service)).toEqual([]);
    }
  });
});

function raise(message: string): never {
  throw new Error(message);
}
