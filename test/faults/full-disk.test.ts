import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { send } from '../support/http.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const script = fileURLToPath(new URL('../../pets-service/server.ts', import.meta.url));

test.skipIf(!existsSync('/dev/full'))(
  'a pets service whose log is on a full disk serves, and ends when it is told to',
  async () => {
    await using directory = await temporaryDirectory();
    const port = await freePort();
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script], {
      env: { ...process.env, DATA_DIR: directory.path, PETS_SERVICE_PORT: String(port) },
      stdio: ['ignore', full, 'ignore', 'ignore'],
    });
    closeSync(full);
    try {
      const url = `http://127.0.0.1:${port}`;
      const status = () =>
        send(`${url}/readyz`).then(
          (answer) => answer.status,
          () => 'away',
        );
      await expect.poll(status, { timeout: 20_000 }).toBe(200);
      for (let times = 0; times < 5; times += 1) expect((await send(`${url}/v1/pets`)).status).toBe(401);
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      expect(await exited).toEqual([0, null]);
    } finally {
      child.kill('SIGKILL');
    }
  },
);
