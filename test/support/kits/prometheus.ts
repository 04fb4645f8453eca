import { spawn, spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { freePort } from '../http/free-port.ts';
import { send } from '../http/http.ts';
import { end, outputOf, untilListening } from '../programs.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { together } from './together.ts';

/** @param input text for its standard input */
export function runPromtool(args: string[], input = ''): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' });
  return { status, output: stdout + stderr };
}

export interface Series {
  metric: Record<string, string>;
  value: [seconds: number, value: string];
}

interface PrometheusOptions {
  /** Origins whose /metrics are scraped, by the name of the job. */
  jobs: Record<string, string | string[]>;
  /** Time between two scrapes. */
  intervalMs: number;
}

/** Starts a Prometheus with its data in a temporary directory, and waits until it has scraped each job twice. */
export const startPrometheus = ({ jobs, intervalMs }: PrometheusOptions) =>
  together(async (stack) => {
    const directory = stack.use(await temporaryDirectory());
    const port = await freePort();
    const interval = `${intervalMs}ms`;
    const file = join(directory.path, 'prometheus.yaml');
    // Prometheus reads JSON: it is YAML.
    const config = {
      global: { scrape_interval: interval, scrape_timeout: interval },
      scrape_configs: Object.entries(jobs).map(([job, origin]) => ({
        job_name: job,
        static_configs: [{ targets: [origin].flat().map((each) => new URL(each).host) }],
      })),
    };
    await writeFile(file, JSON.stringify(config));
    const child = spawn(
      'prometheus',
      [
        `--config.file=${file}`,
        `--storage.tsdb.path=${join(directory.path, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    const log = outputOf(child);
    stack.defer(() => end(child));
    await untilListening(child, port, log);
    const origin = `http://127.0.0.1:${port}`;
    await vi.waitFor(async () => expect((await send(`${origin}/-/ready`)).status).toBe(200), 10_000);

    /** Present value of each series. */
    async function query(expression: string): Promise<Series[]> {
      const url = `${origin}/api/v1/query?query=${encodeURIComponent(expression)}`;
      const reply = (await send(url)).json as { error?: string; data?: { result: Series[] } };
      if (reply.data === undefined) throw new Error(`${expression}: ${reply.error ?? 'no result'}`);
      return reply.data.result;
    }

    const isScraped = async () =>
      (await query('count_over_time(up[1h]) >= 2')).length >= Object.keys(jobs).length;
    await vi.waitUntil(isScraped, 20_000);
    return { query };
  });
