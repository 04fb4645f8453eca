import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { errorCodes } from '../../pets-service/errors.ts';
import { alarmsOf } from '../support/checks/alarms.ts';
import { attackGroups, makeAttacks, type Attack } from '../support/http/attacks.ts';
import { send, sendRaw } from '../support/http/http.ts';
import { parseMessages, valuesOf, type Message } from '../support/http/strict-http.ts';
import { impatient, startBothServices, type BothServices } from '../support/kits/both-services.ts';
import type { Service } from '../support/kits/service.ts';
import { startRawUpstream, type RawUpstream } from '../support/upstreams/raw-upstream.ts';

/*
 * Every attack goes to three places: to the gateway before the real pets service, to a gateway before a stand-in that
 * keeps each byte it is sent, and to the pets service itself. What comes out is read by a parser that forgives nothing.
 */

interface Outcome {
  expected: number[];
  gateway: Message[];
  beforeRaw: Message[];
  petsService: Message[];
}

/** What the gateway deals with alone, or the pets service has for itself: nothing to agree on. */
const ownMatters = new Set([
  'lines with Expect of something else, and a hidden request',
  'a start line with asterisk form of OPTIONS',
  'a start line with the target /livez',
  'a start line with the target /readyz',
]);

let both: BothServices;
let raw: RawUpstream;
let beforeRaw: Service;
const outcomes = new Map<string, Outcome>();

beforeAll(async () => {
  raw = await startRawUpstream();
  both = await startBothServices(impatient);
  beforeRaw = await both.addGateway({ PETS_SERVICE_URL: raw.url });
  const direct = makeAttacks(`Bearer ${both.token}`);
  await Promise.all(
    makeAttacks(`Bearer ${both.key}`).map(async (attack, index) => {
      const [gateway, gatewayBeforeRaw, petsService] = await Promise.all([
        responsesTo(both.gateway, attack),
        responsesTo(beforeRaw, attack),
        responsesTo(both.petsService, direct[index]),
      ]);
      const { name, expected } = attack;
      outcomes.set(name, { expected, gateway, beforeRaw: gatewayBeforeRaw, petsService });
    }),
  );
});

afterAll(async () => {
  await both[Symbol.asyncDispose]();
  await raw[Symbol.asyncDispose]();
});

/** All answers on a connection of its own, until the server closes it; fails where they are not well-formed. */
async function responsesTo({ port }: Service, attack: Attack | undefined): Promise<Message[]> {
  const received = await sendRaw(port, Buffer.from(attack?.bytes ?? '', 'latin1'));
  const { messages, rest, broken } = parseMessages(received, 'responses');
  expect({ attack: attack?.name, rest, broken }).toEqual({ attack: attack?.name, rest: '' });
  return messages;
}

const petsCodes = new Set(errorCodes.filter((code) => /^(invalid|pet)_/.test(code)));

/** Whether the pets service gave this answer: a success, or an error that the gateway does not know. */
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
    const { expected, gateway, beforeRaw: second, petsService } = outcome ?? raise(`${name} was not sent`);
    expect(gateway.map(statusOf)).toEqual(expected);
    // The stand-in says yes to all that gets through to it.
    expect(second.map(statusOf)).toEqual(
      gateway.map((message) => (decidedUpstream(message) ? 200 : statusOf(message))),
    );
    for (const message of [...gateway, ...second, ...petsService]) {
      if (statusOf(message) >= 400) expectErrorBody(message);
    }
    if (ownMatters.has(`${group} ${name}`)) return;
    const accepted = (messages: Message[]) => messages.map((message) => statusOf(message) < 400);
    expect(accepted(petsService)).toEqual(accepted(gateway));
  });
});

describe('behind the gateway', () => {
  test('every byte belongs to exactly one well-formed request, which somebody asked for and was answered', () => {
    const requests = raw.received.flatMap((bytes) => {
      const { messages, rest, broken } = parseMessages(bytes, 'requests');
      expect({ rest, broken }).toEqual({ rest: '' });
      // Not the gateway's own probes, which come with nothing of any client's.
      return messages.filter(
        ({ start, headers }) =>
          start !== 'GET /readyz HTTP/1.1' || valuesOf(headers, 'x-request-id').length > 0,
      );
    });
    const targets = requests.map(({ start }) => start.split(' ')[1] ?? '');
    const answered = [...outcomes.values()]
      .flatMap(({ beforeRaw: messages }) => messages)
      .filter((message) => statusOf(message) === 200)
      .map(({ body }) => (JSON.parse(body) as { target: string }).target);
    expect(targets.toSorted()).toEqual(answered.toSorted());
    expect(targets.length).toBeGreaterThan(20);
    expect(targets.filter((target) => target.includes('smuggled'))).toEqual([]);
    for (const { headers } of requests) {
      for (const name of ['host', 'authorization', 'x-request-id', 'x-forwarded-for']) {
        expect(valuesOf(headers, name)).toHaveLength(1);
      }
      expect(valuesOf(headers, 'authorization')[0]).toMatch(/^Bearer eyJ/);
    }
  });

  test('each answer reaches the one who asked', () => {
    for (const [name, { beforeRaw: messages }] of outcomes) {
      const marks = messages
        .filter((message) => statusOf(message) === 200)
        .map(({ body }) => /mark=(m\d+-\d+-)/.exec(body)?.[1]);
      expect({ name, marks: new Set(marks).size }).toEqual({ name, marks: marks.length === 0 ? 0 : 1 });
    }
  });

  test('no smuggled pet was created, and none that is not accounted for', async () => {
    const names: string[] = [];
    let next: string | undefined = '/v1/pets?limit=100';
    while (next !== undefined) {
      const page = await send(both.gateway.url + next, { key: both.key });
      names.push(...(page.json as { name: string }[]).map(({ name }) => name));
      next = /<(.+)>; rel="next"/.exec(page.header('Link') ?? '')?.[1];
    }
    const created = [...outcomes.values()]
      .flatMap(({ gateway, petsService }) => gateway.concat(petsService))
      .filter((message) => statusOf(message) === 201);
    const demoPets = 5;
    expect(names.filter((name) => name.includes('smuggled'))).toEqual([]);
    expect(names).toHaveLength(demoPets + created.length);
  });

  test('the pets service takes all headers that the largest setting lets pass', async () => {
    const wide = await both.addGateway({ MAX_HEADER_BYTES: '65536' });
    const response = await send(`${wide.url}/v1/pets`, { key: both.key, headers: { x: 'a'.repeat(65_000) } });
    expect(response.status).toBe(200);
  });

  test('nothing went wrong inside', () => {
    for (const service of [both.gateway, beforeRaw, both.petsService]) {
      expect(alarmsOf(service)).toEqual([]);
    }
  });
});

function raise(message: string): never {
  throw new Error(message);
}
