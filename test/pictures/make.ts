import { execFile, spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { chromium, type Page } from 'playwright-core';
import { isCustomerId, redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { freePort } from '../support/http/free-port.ts';
import { chromiumPath } from '../support/kits/chromium.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { startAnyRedis } from '../support/stores/redis-server.ts';

/*
 * npm run pictures: makes the pictures of the README from a system as `npm start` starts it, under traffic of four
 * customers and with a month of use, in a light and a dark scheme.
 *
 * npm run pictures -- DIRECTORY: makes pictures of every page instead, on a desk and on a phone.
 */

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const pictures = join(root, '.github/pictures');
const size = { width: 1100, height: 660 };
const [pagesDirectory] = process.argv.slice(2);
/** The console's first chart shows minutes. */
const trafficMs = pagesDirectory === undefined ? 120_000 : 15_000;
const sizes = { desk: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };
const consolePages = {
  customers: '/customers',
  keys: '/keys',
  plans: '/plans',
  plan: '/plans/pro',
  usage: '/usage',
  security: '/bans',
  webhooks: '/webhooks',
  tokens: '/tokens',
  sessions: '/sessions',
  system: '/settings',
  audit: '/audit',
  overview: '',
};

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
let output = '';
system.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
system.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
const ended = new Promise((resolve) => {
  system.once('exit', resolve);
});

async function printed(pattern: RegExp): Promise<string> {
  for (;;) {
    const [text] = pattern.exec(output) ?? [];
    if (text !== undefined) return text;
    if (system.exitCode !== null) throw new Error(`the system has ended:\n${output}`);
    await sleep(50);
  }
}

async function ops<Result>(...args: string[]): Promise<Result> {
  const command = ['gateway/faces/command/main.ts', ...args, '--json'];
  const { stdout } = await run(process.execPath, command, { cwd: root, env });
  return JSON.parse(stdout) as Result;
}

const issue = (name: string, plan: string) =>
  ops<{ id: string; customerId: string; key: string }>('keys', 'issue', '--name', name, '--plan', plan);

/** Writes what a customer has used on each of the last 45 days, but not today. */
async function writeUse(customerId: string, plan: string, aDay: number): Promise<void> {
  if (!isCustomerId(customerId)) throw new Error(`${customerId} is no id of a customer`);
  for (let ago = 1; ago < 45; ago += 1) {
    const date = new Date(Date.now() - ago * 86_400_000).toISOString().replaceAll('-', '');
    const [month, day] = [date.slice(0, 6), date.slice(6, 8)];
    const served = Math.round(aDay * (1 + 0.5 * Math.sin(ago / 3)) * (ago % 7 < 2 ? 0.4 : 1));
    const refused = ago % 5 === 0 ? Math.round(served / 9) : 0;
    const use = { id: customerId, [`p${day}`]: plan, [day]: served, [`r${day}`]: refused };
    await redis.redis.hset(redisKeys.usageMonth(customerId, month), use);
    await redis.redis.zincrby(redisKeys.usageRanking(month), served, customerId);
    const totals = redisKeys.usageTotals(month);
    await redis.redis.hincrby(totals, `${day} served ${plan}`, served);
    await redis.redis.hincrby(totals, `${day} units ${plan}`, served);
    await redis.redis.hincrby(totals, `${day} refused ${plan}`, refused);
  }
}

/** Writes an hour of traffic, and whatever else fills a page. */
async function fillPages(customers: readonly Awaited<ReturnType<typeof issue>>[]): Promise<void> {
  const minute = Math.floor(Date.now() / 60_000);
  for (let ago = 2; ago < 1000; ago += 1) {
    const served = Math.round(3000 * (1 + 0.4 * Math.sin(ago / 60)));
    await redis.redis.hset(redisKeys.traffic(minute - ago), {
      '2xx:business': served,
      '4xx:free': Math.round(served / 30),
      'ms:5': served,
    });
  }
  for (const [index, { customerId, id }] of customers.entries()) {
    await writeUse(customerId, index % 2 === 0 ? 'business' : 'pro', 90_000 / (index + 1) ** 2);
    if (index === 3) await ops('bans', 'add', id, '--for', '1h', '--reason', 'scraping');
    if (index === 4) await ops('customers', 'suspend', customerId, '--reason', 'unpaid');
  }
  await ops('webhooks', 'add', 'https://example.com/hook');
}

/** Makes a picture of the whole of each page in each size and scheme. */
async function picturePages(
  directory: string,
  pages: Record<string, Page>,
  addresses: Record<string, string>,
) {
  await mkdir(directory, { recursive: true });
  for (const [name, address] of Object.entries(addresses)) {
    const page = pages[name] ?? pages['console'];
    if (page === undefined) continue;
    await page.goto(address);
    for (const [of, viewport] of Object.entries(sizes)) {
      await page.setViewportSize(viewport);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        await sleep(1200);
        const path = join(directory, `${name}-${of}-${colorScheme}.png`);
        await page.screenshot({ path, fullPage: true });
      }
    }
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
  const customers = [
    await issue('Harbour Clinic', 'business'),
    await issue('Paws & Co', 'pro'),
    await issue('City Shelter', 'business'),
    await issue('Birdwatch', 'free'),
    await issue('Old Stable', 'free'),
  ] as const;
  const [clinic, shop, shelter] = customers.map(({ key }) => key) as [string, string, string];
  const browser = await chromium.launch({
    ...(chromiumPath === undefined ? {} : { executablePath: chromiumPath }),
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
  const context = await browser.newContext({ viewport: size, reducedMotion: 'reduce' });
  const console = await context.newPage();
  await console.goto(link);
  const traffic = Promise.all([
    sendRequests(demoKey, 700),
    sendRequests(clinic, 60),
    sendRequests(shop, 90),
    sendRequests(shelter, 25),
  ]);
  await sleep(trafficMs);
  await fillPages(customers);
  if (pagesDirectory !== undefined) {
    const [{ customerId, id }] = customers;
    const portalLink = await ops<{ link: string }>('customers', 'link', customerId);
    const portal = await context.newPage();
    await portal.goto(portalLink.link);
    const inConsole = (path: string) => new URL(`/console${path}`, link).href;
    const { origin } = new URL(portalLink.link);
    await picturePages(
      pagesDirectory,
      { console, portal },
      {
        ...Object.fromEntries(Object.entries(consolePages).map(([name, path]) => [name, inConsole(path)])),
        customer: inConsole(`/customers/${customerId}`),
        key: inConsole(`/keys/${id}`),
        portal: `${origin}/portal`,
        docs: `${origin}/docs`,
        reference: `${origin}/docs/reference`,
      },
    );
  }
  await mkdir(pictures, { recursive: true });
  const docs = await context.newPage();
  await docs.setViewportSize({ ...size, height: 430 });
  await docs.goto(`http://127.0.0.1:${gateway}/docs`);
  for (const colorScheme of pagesDirectory === undefined ? (['light', 'dark'] as const) : []) {
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
  system.kill('SIGINT');
  await ended;
}
