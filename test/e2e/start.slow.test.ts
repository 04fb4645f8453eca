import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { recordOutput, recordSecrets } from '../support/checks/evidence.ts';
import { codeBlock } from '../support/code-block.ts';
import { canConnect } from '../support/http/can-connect.ts';
import { freePort } from '../support/http/free-port.ts';
import { send } from '../support/http/http.ts';
import { signInWith } from '../support/kits/console-api-kit.ts';
import { compileCache, runProgram } from '../support/kits/service.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { outputOf } from '../support/programs.ts';
import { startRedisServer } from '../support/stores/redis-server.ts';
import { anyDatabase, createDatabase } from '../support/stores/stores.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

interface Started {
  env: Record<string, string>;
  /** Process id of the command. */
  pid: number;
  output(): string;
  /** Runs the printed curl command in a shell. Resolves with status line, headers and body. */
  runPrintedCommand(): Promise<string>;
  /** Sends the signal to all processes, as Ctrl-C in a terminal does. */
  signal(signal: NodeJS.Signals): void;
  exited: Promise<number | null>;
}

/** Free ports, so that concurrent runs do not conflict. */
async function portSettings(): Promise<Record<string, string>> {
  const [gateway, admin, pets] = await Promise.all([freePort(), freePort(), freePort()]);
  return {
    GATEWAY_PORT: String(gateway),
    GATEWAY_ADMIN_PORT: String(admin),
    PETS_SERVICE_PORT: String(pets),
  };
}

/** Creates a PATH with only the programs that `npm start` and the printed command need. */
async function minimalPath(directory: string): Promise<string> {
  const bin = join(directory, 'bin');
  await mkdir(bin, { recursive: true });
  await symlink(process.execPath, join(bin, 'node'));
  for (const name of ['npm', 'sh', 'curl']) {
    const { stdout } = await run('sh', ['-c', `command -v ${name}`]);
    await symlink(stdout.trim(), join(bin, name));
  }
  return bin;
}

const npm = ['npm', 'start'];
/** What npm runs. */
const script = [process.execPath, 'gateway/deploy/demo/start-all.ts'];

function spawnStart(env: Record<string, string>, [command = '', ...args] = npm): ChildProcess {
  const { HOME = '', PATH = '' } = process.env;
  return spawn(command, args, {
    cwd: root,
    env: { HOME, PATH, ...compileCache(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // Its own process group, as in a shell, so that a signal reaches all processes.
    detached: true,
  });
}

/** Runs `npm start`, and resolves when it prints how to stop it. */
async function npmStart(env: Record<string, string>, command = npm): Promise<Started> {
  const child = spawnStart(env, command);
  const output = outputOf(child, (text) => {
    // The lines for people contain the demo key on purpose.
    recordOutput(text.replaceAll(/^(?!\{).*$/gm, ''));
    recordSecrets(text);
  });
  const exited = new Promise<number | null>((resolve) => {
    child.on('exit', resolve);
  });
  const signal = (name: NodeJS.Signals) => {
    try {
      process.kill(-(child.pid ?? 0), name);
    } catch {
      // It has exited.
    }
  };
  onTestFinished(async () => {
    signal('SIGTERM');
    await exited;
  });
  await expect.poll(output, { timeout: 80_000, interval: 50 }).toContain('Ctrl-C stops everything.');
  return {
    env,
    pid: child.pid ?? 0,
    output,
    async runPrintedCommand() {
      return (await run('sh', ['-c', `${curlLine({ output })} 2>/dev/null`])).stdout;
    },
    signal,
    exited,
  };
}

/** Expects a link that begins a session of an operator. */
async function expectLinkToConsole({ env, output }: Started): Promise<void> {
  const [, origin = '', code = ''] =
    /^ {2}Console {8}(http:\/\/localhost:\d+)\/console#code=([\w-]{22})$/m.exec(output()) ?? [];
  expect(origin).toBe(`http://localhost:${env['GATEWAY_ADMIN_PORT']}`);
  const { send: sendToApi } = await signInWith(origin, code);
  expect((await sendToApi('GET', '/api/session')).body).toMatchObject({ role: 'operator' });
}

describe('npm start', { tags: ['curl', 'linux'], timeout: 200_000 }, () => {
  test('with only Node and npm installed: serves pets, prints a working key, and stops on Ctrl-C and with its terminal', async () => {
    await using directory = await temporaryDirectory();
    const env = {
      PATH: await minimalPath(directory.path),
      DATA_DIR: join(directory.path, 'data'),
      ...(await portSettings()),
    };
    const first = await npmStart(env);
    expect(first.output()).toContain('Redis: embedded, in JavaScript and in memory only');
    // No warning about appendonly: the Redis in JavaScript has no such setting.
    expect(first.output()).not.toContain('appendonly');
    await expectLinkToConsole(first);
    const response = await first.runPrintedCommand();
    expect(response).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(response).toMatch(/^X-RateLimit-Remaining: 59/m);
    expect(response).toContain('{"id":1,"name":"Rex","categoryId":1,"status":"available"}');
    first.signal('SIGINT');
    await first.exited;
    await expectStopped(first);

    // Without npm, whose end would stop it, too.
    const second = await npmStart(env, script);
    // The in-memory Redis lost the key, but the key still works. The pets were kept and not added again.
    expect(curlLine(second)).toBe(curlLine(first));
    const secondResponse = await second.runPrintedCommand();
    expect(secondResponse).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(secondResponse.match(/"id":/g)).toHaveLength(5);
    // As of a closed terminal.
    process.kill(second.pid, 'SIGHUP');
    expect(await second.exited).toBe(0);
    expect(servicePids(directory.path)).toEqual([]);
  });

  test('an API of your own is behind it with the lines of the README, and a second start says why it does not', async () => {
    await using directory = await temporaryDirectory();
    const ports = await portSettings();
    const adapt = (text: string) =>
      text
        .replaceAll('4000', ports['PETS_SERVICE_PORT'] ?? '')
        .replaceAll('8080', ports['GATEWAY_PORT'] ?? '')
        .replaceAll('.data', directory.path);
    const block = async (language: string, containing: string) =>
      adapt(await codeBlock('README.md', language, containing));
    const file = join(directory.path, 'shop.yaml');
    await writeFile(file, await block('yaml', 'paths:'));
    const [standIn = '', start] = (await block('sh', 'createServer')).trimEnd().split('\n');
    expect(start).toBe('SERVICES_FILE=shop.yaml npm start');
    const api = spawn('sh', ['-c', `exec ${standIn.replace(/ &$/, '')}`]);
    onTestFinished(() => void api.kill());
    const started = await npmStart({ ...ports, DATA_DIR: directory.path, SERVICES_FILE: file });
    expect(started.output()).not.toContain('Pets service');
    const curl = await block('sh', '/v1/anything');
    await expect.poll(async () => (await run('sh', ['-c', curl])).stdout).toBe('Hello /v1/anything');
    expect(await started.runPrintedCommand()).toMatch(/^HTTP\/1\.1 200 OK[^]*Hello \/v1\/$/);
    expect((await send(`http://127.0.0.1:${ports['GATEWAY_PORT']}/docs`)).text).toContain('Shop API');
    const second = await runProgram(script.slice(1), { DATA_DIR: directory.path, ...(await portSettings()) });
    expect(second).toMatchObject({ code: 1 });
    expect(second.stderr).toContain(
      `DATA_DIR: ${directory.path} is in use by another process; stop that one or set DATA_DIR to another directory\n`,
    );
  });

  test(
    'with REDIS_URL and DATABASE_URL: nothing embedded starts, and SIGKILL of its script leaves no process',
    { tags: ['redis-server', 'postgresql'] },
    async () => {
      await using directory = await temporaryDirectory();
      await using redis = await startRedisServer();
      const env = {
        DATA_DIR: directory.path,
        REDIS_URL: redis.url,
        DATABASE_URL: await createDatabase(),
        ...(await portSettings()),
      };
      const started = await npmStart(env);
      expect(await started.runPrintedCommand()).toMatch(/^HTTP\/1\.1 200 OK[^]*"name":"Rex"/);
      expect(started.output()).toContain('database: PostgreSQL at 127.0.0.1');
      await expect(stat(join(directory.path, 'postgres'))).rejects.toThrow('ENOENT');
      await expect(stat(join(directory.path, 'redis'))).rejects.toThrow('ENOENT');
      const [pid = 0] = pidsOf(directory.path, '^[^ ]*node .*start-all.ts');
      await expectNothingLeft(pid, directory.path);
    },
  );

  test('a port that is in use is reported, and no process is left running', async () => {
    await using directory = await temporaryDirectory();
    const settings = { ...(await anyDatabase()), ...(await portSettings()) };
    const port = Number(settings['PETS_SERVICE_PORT']);
    const blocker = createServer().listen(port, '127.0.0.1');
    await once(blocker, 'listening');
    const { code, stderr } = await runProgram(script.slice(1), { DATA_DIR: directory.path, ...settings });
    blocker.close();
    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(`PETS_SERVICE_PORT: .*already in use.*:${port}\n`));
    expect(servicePids(directory.path)).toEqual([]);
  });
});

const curlLine = ({ output }: Pick<Started, 'output'>) => /^ {2}(curl .+)$/m.exec(output())?.[1] ?? 'false';

/** Process ids of the services that have this DATA_DIR in their environment. */
const servicePids = (dataDirectory: string) => pidsOf(dataDirectory, 'server.ts');

/** @param pattern in the command lines of the processes */
function pidsOf(dataDirectory: string, pattern: string): number[] {
  const script = `for d in /proc/[0-9]*; do
    if tr '\\0' '\\n' < $d/environ 2>/dev/null | grep -qx "DATA_DIR=${dataDirectory}"; then
      tr '\\0' ' ' < $d/cmdline | grep -q '${pattern}' && basename $d
    fi
  done`;
  const { stdout } = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
  return stdout.split('\n').filter(Boolean).map(Number);
}

/** Kills a process, and expects that no other one of this data directory outlives it, a private Redis included. */
async function expectNothingLeft(pid: number, dataDirectory: string): Promise<void> {
  const redisUrl = await readFile(join(dataDirectory, 'redis.url'), 'utf8').catch(() => undefined);
  const redisPort = redisUrl === undefined ? undefined : Number(new URL(redisUrl).port);
  expect(servicePids(dataDirectory)).not.toEqual([]);
  process.kill(pid, 'SIGKILL');
  await expect.poll(() => pidsOf(dataDirectory, '.'), { timeout: 20_000 }).toEqual([]);
  expect(redisPort !== undefined && (await canConnect(redisPort))).toBe(false);
}

async function expectStopped({ env }: Started): Promise<void> {
  for (const setting of ['GATEWAY_PORT', 'GATEWAY_ADMIN_PORT', 'PETS_SERVICE_PORT']) {
    await expect(send(`http://127.0.0.1:${env[setting]}/livez`)).rejects.toThrow('ECONNREFUSED');
  }
  expect(servicePids(env['DATA_DIR'] ?? '')).toEqual([]);
}
