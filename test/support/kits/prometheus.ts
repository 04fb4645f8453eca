import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../http/free-port.ts';
import { send } from '../http/http.ts';
import { temporaryDirectory } from './temporary-directory.ts';

export const hasPrometheus = ['promtool', 'prometheus'].every(
  (program) => spawnSync(program, ['--version']).error === undefined,
);

/** @param input text for its standard input */
export function runPromtool(args: string[], input = ''): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' });
  return { status, output: stdout + stderr };
}

export interface Series {
  metric: Record<string, string>;
  value: [seconds: number, value: string];
}

export interface Alert {
  labels: Record<string, string>;
  annotations: Record<string, string>;
  state: 'pending' | 'firing';
}

export interface Prometheus extends AsyncDisposable {
  /** Present value of each series. */
  query(expression: string): Promise<Series[]>;
  alerts(): Promise<Alert[]>;
}

interface PrometheusOptions {
  /** Origins whose /metrics are scraped, by the name of the job. */
  jobs: Record<string, string | string[]>;
  /** A file of rules. */
  rules?: string;
  /** Time between two scrapes, and between two evaluations of the rules. */
  intervalMs: number;
}

/** Starts a Prometheus with its data in a temporary directory, and waits until it has scraped each job twice. */
export async function startPrometheus({
  jobs,
  rules = '',
  intervalMs,
}: PrometheusOptions): Promise<Prometheus> {
  await using stack = new AsyncDisposableStack();
  const directory = stack.use(await temporaryDirectory());
  const port = await freePort();
  const interval = `${intervalMs}ms`;
  const file = join(directory.path, 'prometheus.yaml');
  // Prometheus reads JSON: it is YAML.
  const config = {
    global: { scrape_interval: interval, scrape_timeout: interval, evaluation_interval: interval },
    rule_files: rules === '' ? [] : ['rules.yaml'],
    scrape_configs: Object.entries(jobs).map(([job, origin]) => ({
      job_name: job,
      static_configs: [{ targets: [origin].flat().map((each) => new URL(each).host) }],
    })),
  };
  await writeFile(file, JSON.stringify(config));
  await writeFile(join(directory.path, 'rules.yaml'), rules);
  const child = spawn(
    'prometheus',
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(directory.path, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let log = '';
  child.stderr.on('data', (chunk: Buffer) => {
    log += chunk.toString();
  });
  stack.defer(async () => {
    if (child.exitCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
  });
  const origin = `http://127.0.0.1:${port}`;
  const isReady = () =>
    send(`${origin}/-/ready`).then(
      ({ status }) => status === 200,
      () => false,
    );
  for (let attempt = 0; !(await isReady()); attempt += 1) {
    if (attempt === 400 || child.exitCode !== null) throw new Error(`prometheus does not start:\n${log}`);
    await sleep(25);
  }
  const get = async (path: string) => (await send(`${origin}/api/v1/${path}`)).json;

  async function query(expression: string): Promise<Series[]> {
    const reply = (await get(`query?query=${encodeURIComponent(expression)}`)) as {
      error?: string;
      data?: { result: Series[] };
    };
    if (reply.data === undefined) throw new Error(`${expression}: ${reply.error ?? 'no result'}`);
    return reply.data.result;
  }

  const scraped = () => query('count_over_time(up[1h]) >= 2');
  for (let attempt = 0; (await scraped()).length < Object.keys(jobs).length; attempt += 1) {
    if (attempt === 400) throw new Error(`prometheus does not scrape:\n${log}`);
    await sleep(50);
  }
  const disposables = stack.move();
  return {
    query,
    alerts: async () => ((await get('alerts')) as { data: { alerts: Alert[] } }).data.alerts,
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  };
}
