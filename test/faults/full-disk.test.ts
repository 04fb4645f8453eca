import { closeSync, openSync } from 'node:fs';
import { expect, test } from 'vitest';
import { send } from '../support/http/http.ts';
import { startPetsService } from '../support/kits/service.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';

test(
  'a pets service whose log is on a full disk serves requests and shuts down',
  { tags: ['linux'] },
  async () => {
    await using directory = await temporaryDirectory();
    const log = openSync('/dev/full', 'w');
    await using service = await startPetsService({ DATA_DIR: directory.path }, { log });
    closeSync(log);
    expect((await send(`${service.url}/readyz`)).status).toBe(200);
    // More than the 10 listeners at which an EventEmitter warns, in case each log line adds one.
    for (let index = 0; index < 20; index += 1) {
      expect((await send(`${service.url}/v1/pets`)).status).toBe(401);
    }
    expect(await service.stop()).toBe(0);
    expect(service.output()).toBe('');
  },
);
