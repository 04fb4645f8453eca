import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/*
 * `npm start`: both services on this machine, with demo data and a key to try them with. Each is a process of its
 * own, as in production; this one starts them, says how to use them, and stops them together.
 */

interface Ready {
  type: 'ready';
  port: number;
  adminPort?: number;
  demoKey?: string;
}

const root = fileURLToPath(new URL('..', import.meta.url));
const children = new Map<string, ChildProcess>();
let stopping = false;

/** Runs a service and resolves when it is ready to serve. */
function launch(name: string, script: string): Promise<Ready> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script], {
    cwd: root,
    env: { DEMO: 'true', ...process.env },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // A process group of its own: Ctrl-C in the terminal comes to us alone, and we stop the services in order.
    detached: true,
  });
  children.set(name, child);
  return new Promise((resolve) => {
    child.on('message', (message) => {
      if (isReady(message)) resolve(message);
    });
    child.on('exit', (code, signal) => {
      children.delete(name);
      if (stopping) return;
      if (code !== 1) process.stderr.write(`${name} ended unexpectedly (${signal ?? `exit code ${code}`})\n`);
      void stopAll(1);
    });
  });
}

function isReady(message: unknown): message is Ready {
  return typeof message === 'object' && message !== null && 'type' in message && message.type === 'ready';
}

/** The gateway first: requests that it has in flight still need the pets service. */
async function stopAll(exitCode: number): Promise<void> {
  if (stopping) return;
  stopping = true;
  for (const name of ['gateway', 'pets-service']) {
    const child = children.get(name);
    if (child === undefined) continue;
    const exited = new Promise((resolve) => {
      child.once('exit', resolve);
    });
    child.kill('SIGTERM');
    await exited;
  }
  process.exit(exitCode);
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stopAll(0));

const [pets, gateway] = await Promise.all([
  launch('pets-service', 'pets-service/server.ts'),
  launch('gateway', 'gateway/server.ts'),
]);

const lines = [
  '',
  `  API            http://localhost:${gateway.port}/v1`,
  `  Description    http://localhost:${gateway.port}/openapi.json`,
  `  Metrics        http://localhost:${gateway.adminPort}/metrics`,
  `  Pets service   http://localhost:${pets.port} (internal: needs a service token)`,
  '',
  ...(gateway.demoKey === undefined
    ? ['  Redis does not answer, so there is no key to show yet.']
    : [
        '  Try it (a key on the Free plan, 60 requests a minute):',
        '',
        `  curl -i -H 'Authorization: Bearer ${gateway.demoKey}' http://localhost:${gateway.port}/v1/pets`,
      ]),
  '',
  '  Ctrl-C stops everything.',
  '',
];
process.stdout.write(`${lines.join('\n')}\n`);
