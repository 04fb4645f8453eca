import { execFile, spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { freePort } from '../support/http/free-port.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { chromiumPath, end, outputOf } from '../support/programs.ts';
import { startAnyRedis } from '../support/stores/redis-server.ts';

/*
 * npm run pictures: makes the pictures of the README from a system as `npm start` starts it, under traffic of four
 * customers, in a light and a dark scheme.
 */

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const pictures = join(root, '.github/pictures');
const size = { width: 1100, height: 660 };
/** The console's first chart shows minutes. */
const trafficMs = 120_000;

await using redis = await startAnyRedis();
await using directory = await temporaryDirectory();
const [gateway, admin, pets] = await Promise.all([freePort(), freePort(), freePort()]);
const env = {
  ...process.env,
  DATA_DIR: directory.path,
  REDIS_URL: redis.url,
  GATEWAY_PORT: String(gateway),
  GATEWAY_ADMIN_PORT: String(admin),
  PETS_SERVICE_PORT: String(pets),
};
const system = spawn(process.execPath, ['gateway/deploy/demo/start-all.ts'], { cwd: root, env });
const output = outputOf(system);

async function printed(pattern: RegExp): Promise<string> {
  for (;;) {
    const [text] = pattern.exec(output()) ?? [];
    if (text !== undefined) return text;
    if (system.exitCode !== null) throw new Error(`the system has ended:\n${output()}`);
    await sleep(50);
  }
}

async function ops<Result>(...args: string[]): Promise<Result> {
  const command = ['gateway/faces/command/main.ts', ...args, '--json'];
  const { stdout } = await run(process.execPath, command, { cwd: root, env });
  return JSON.parse(stdout) as Result;
}

const issue = (name: string, plan: string) =>
  ops<{ key: string }>('keys', 'issue', '--name', name, '--plan', plan);

/** Writes hours of traffic. */
async function fillChart(): Promise<void> {
  const minute = Math.floor(Date.now() / 60_000);
  for (let ago = 2; ago < 1000; ago += 1) {
    const served = Math.round(3000 * (1 + 0.4 * Math.sin(ago / 60)));
    await redis.redis.hset(redisKeys.traffic(minute - ago), {
      'status:2xx': served,
      'status:4xx': Math.round(served / 30),
      'ms:5': served,
    });
  }
}

const finished = new AbortController();

/** Sends requests, now more and now fewer. */
async function sendRequests(key: string, everyMs: number): Promise<void> {
  while (!finished.signal.aborted) {
    const swing = 1 + 0.6 * Math.sin(Date.now() / 9000);
    await fetch(`http://127.0.0.1:${gateway}/v1/pets?limit=5`, {
      headers: { Authorization: `Bearer ${key}` },
    });
    await sleep(everyMs * swing);
  }
}

try {
  const link = await printed(/http:\S+\/console#code=\S+/);
  const demoKey = await printed(/pets_\w+/);
  const clinic = await issue('Harbour Clinic', 'business');
  const shop = await issue('Paws & Co', 'pro');
  const shelter = await issue('City Shelter', 'business');
  const browser = await chromium.launch({
    ...(chromiumPath === undefined ? {} : { executablePath: chromiumPath }),
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
  const context = await browser.newContext({ viewport: size, reducedMotion: 'reduce' });
  const console = await context.newPage();
  await console.goto(link);
  const traffic = Promise.all([
    sendRequests(demoKey, 700),
    sendRequests(clinic.key, 60),
    sendRequests(shop.key, 90),
    sendRequests(shelter.key, 25),
  ]);
  await sleep(trafficMs);
  await fillChart();
  await mkdir(pictures, { recursive: true });
  const docs = await context.newPage();
  await docs.setViewportSize({ ...size, height: 430 });
  await docs.goto(`http://127.0.0.1:${gateway}/docs`);
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const [name, page] of [
      ['console', console],
      ['docs', docs],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      await page.bringToFront();
      // Charts are drawn again in the colours of the scheme with the next second's state.
      await sleep(2500);
      await page.screenshot({ path: join(pictures, `${name}-${colorScheme}.png`) });
    }
  }
  finished.abort();
  await traffic;
  await browser.close();
} finally {
  await end(system, 'SIGINT');
}
