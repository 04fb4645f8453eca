import { createServer } from 'node:http';
import express from 'express';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isAmbiguousPath } from '../../gateway/upstream/routes.ts';
import { sendRaw } from '../support/http/http.ts';
import { listening } from '../support/http/listening.ts';
import { startReverseProxy } from '../support/kits/reverse-proxy.ts';
import { shared } from '../support/kits/shared.ts';
import { together } from '../support/kits/together.ts';

/* What passes the gateway, three servers that normalize paths read as the segments that were sent. */

/** Decodes octets, and leaves their encoding to others. */
const decode = (text: string) =>
  text.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

const segmentsOf = (path: string) => path.split('/').map(decode);

const pieces = ['a', 'é', ' ', '%', ';', ',', '+', ':', '@', '=', '~', '-', '"', '|', '{', '[']
  .map((piece) => (/[a;,+:@=~-]/.test(piece) ? piece : encodeURIComponent(piece)))
  .concat('%61', '%2d', '%7E', '%25', '%C3%BC', '%80');
const dangerous = '. .. %2e %2E. / // %2f %2F %5c \\ %00 %0a %7f ..; /./ /../'.split(' ');

const pathsOf = (choices: readonly string[]) =>
  fc
    .array(fc.constantFrom(...choices), { minLength: 1, maxLength: 8 })
    .map((parts) => `/v1/${parts.join('')}`);

const spelled = [
  ...dangerous.flatMap((piece) => [`/v1/${piece}`, `/v1/${piece}/b`, `/v1/a${piece}b`, `/v1/a/${piece}/b`]),
  ...pieces.map((piece) => `/v1/${piece}/x`),
];

describe.each(['nginx', 'haproxy', 'Express'] as const)(
  'as %s reads paths',
  { tags: ['nginx', 'haproxy'] },
  (name) => {
    const kit = shared(() =>
      together(async (stack) => {
        const app = express();
        app.get('/v1/{*path}', ({ params }, res) => {
          res.json(['', 'v1', ...[params['path'] ?? ''].flat()]);
        });
        const server =
          name === 'Express'
            ? createServer(app)
            : createServer(({ url = '' }, res) => res.end(JSON.stringify(segmentsOf(url))));
        const port = Number(new URL(stack.use(await listening(server)).url).port);
        if (name === 'Express') return { port };
        return { port: stack.use(await startReverseProxy(name, port, { normalizes: true })).port };
      }),
    );

    /** @returns undefined if the server refuses the path */
    async function read(path: string): Promise<string[] | undefined> {
      const raw = await sendRaw(kit.port, `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
      if (!raw.startsWith('HTTP/1.1 200')) return undefined;
      const json = Buffer.from(/\["".*\]/s.exec(raw)?.[0] ?? '', 'latin1').toString();
      const segments = JSON.parse(json) as string[];
      // Express decodes UTF-8, too.
      return name === 'Express'
        ? segments.map((segment) => Buffer.from(segment).toString('latin1'))
        : segments;
    }

    test('what passes means the same', async () => {
      const random = fc.sample(pathsOf([...pieces, ...dangerous]), 400);
      for (const path of [...spelled, ...random]) {
        if (isAmbiguousPath(path)) continue;
        expect((await read(path)) ?? segmentsOf(path), path).toEqual(segmentsOf(path));
      }
    });

    test('each piece that is not dangerous passes', () => {
      for (const path of fc.sample(pathsOf(pieces), 400)) expect(isAmbiguousPath(path), path).toBe(false);
    });
  },
);

test('each dangerous spelling is refused that changes the segments of a path', () => {
  for (const piece of ['//', '%2f', '%5c', '\\', '%00', '%0a', '%7f'])
    expect(isAmbiguousPath(`/v1/a${piece}b`), piece).toBe(true);
  for (const piece of ['.', '..', '%2e', '%2E.', '..;', '.%2e;x'])
    expect(isAmbiguousPath(`/v1/${piece}/b`), piece).toBe(true);
});
