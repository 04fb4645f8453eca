import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test, vi } from 'vitest';
import { testWebhook } from '../../gateway/control/webhooks/webhooks.ts';
import { codeBlock } from '../support/code-block.ts';
import { startEventsKit } from '../support/kits/events-kit.ts';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import type { Received } from '../support/webhooks/receiver.ts';

/*
 * Runs the code of RECEIVING.md on an event as a receiver has got it, and on others that nobody has sent.
 */
let genuine: Received;
let secret: string;

const kit = shared(startEventsKit);
const directory = shared(temporaryDirectory);
beforeAll(async () => {
  const webhook = await kit.webhook('/hook');
  secret = webhook.secret;
  await testWebhook(kit.session, webhook.id);
  await vi.waitFor(() => expect(kit.receiver.at('/hook')).toHaveLength(1), { timeout: 10_000 });
  genuine = kit.receiver.at('/hook')[0] as Received;
});

const minutesAgo = (minutes: number) => String(Math.floor(Date.now() / 1000) - minutes * 60);

/** The event, and what differs from it by one thing. */
const cases = () => {
  const { headers, body } = genuine;
  const other = `whsec_${Buffer.alloc(32).toString('base64')}`;
  const forged = headers['webhook-signature']?.replace(/.{4}$/, 'AAA=') ?? '';
  return [
    { headers, body, secret },
    { headers: { ...headers, 'webhook-signature': `v1,AAAA ${headers['webhook-signature']}` }, body, secret },
    { headers, body: `${body} `, secret },
    { headers, body, secret: other },
    { headers: { ...headers, 'webhook-id': 'evt_other' }, body, secret },
    { headers: { ...headers, 'webhook-timestamp': minutesAgo(6) }, body, secret },
    { headers: { ...headers, 'webhook-signature': forged }, body, secret },
    { headers: { ...headers, 'webhook-signature': '' }, body, secret },
  ];
};
const expected = [true, true, false, false, false, false, false, false];

test('the TypeScript of RECEIVING.md knows genuine events', async () => {
  const file = join(directory.path, 'is-genuine.mts');
  await writeFile(file, await codeBlock('gateway/control/webhooks/RECEIVING.md', 'ts', 'isGenuine'));
  const { isGenuine } = (await import(file)) as {
    isGenuine: (headers: object, body: string, secret: string) => boolean;
  };
  expect(cases().map((each) => isGenuine(each.headers, each.body, each.secret))).toEqual(expected);
});

test('the Python of RECEIVING.md knows genuine events', async () => {
  const code = await codeBlock('gateway/control/webhooks/RECEIVING.md', 'python', 'is_genuine');
  const main = `
import json, sys
print(json.dumps([is_genuine(each["headers"], each["body"].encode(), each["secret"]) for each in json.load(sys.stdin)]))
`;
  const { stdout, stderr } = spawnSync('python3', ['-c', code + main], {
    input: JSON.stringify(cases()),
    encoding: 'utf8',
  });
  expect({ stderr, results: stdout && JSON.parse(stdout) }).toEqual({ stderr: '', results: expected });
});
