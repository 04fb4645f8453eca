import { execFile } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { countOutcomes } from '../support/load/steady-load.ts';
import { cores } from './pinned-process.ts';

const run = promisify(execFile);

/** Result of one run. Times in milliseconds. */
export interface LoadResult {
  requestsPerSecond: number;
  p50: number;
  p99: number;
  p999: number;
  /** Number of responses per status. */
  statuses: Record<string, number>;
}

const connections = 50;

interface Load {
  directory: string;
  port: number;
  /** Lua for wrk that defines `request`. */
  script: string;
  seconds: number;
}

/** Saturates the contender on a port with wrk on the other core. */
export async function closedLoop({ directory, port, script, seconds }: Load): Promise<LoadResult> {
  const file = join(directory, `wrk-${port}.lua`);
  await writeFile(file, `${script}\n${reportResult}`);
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', file];
  const url = `http://127.0.0.1:${port}`;
  const { stdout } = await run('taskset', ['-c', String(cores.support), 'wrk', ...args, url]);
  const line = /^RESULT (.*)$/m.exec(stdout)?.[1];
  if (line === undefined) throw new Error(`wrk printed no result:\n${stdout}`);
  return JSON.parse(line) as LoadResult;
}

/** wrk runs a single thread, so the counts of that thread are complete. */
const reportResult = `
local thread
function setup(t) thread = t end
statuses = {}
function response(status) statuses[status] = (statuses[status] or 0) + 1 end
function done(summary, latency)
  local counts = {}
  for status, count in pairs(thread:get('statuses')) do
    counts[#counts + 1] = string.format('"%s":%d', status, count)
  end
  local function ms(percentile) return latency:percentile(percentile) / 1000 end
  print(string.format(
    'RESULT {"requestsPerSecond":%.1f,"p50":%.3f,"p99":%.3f,"p999":%.3f,"statuses":{%s}}',
    summary.requests / summary.duration * 1e6, ms(50), ms(99), ms(99.9), table.concat(counts, ',')
  ))
end
`;

interface FixedRate {
  directory: string;
  url: string;
  key: string;
  requestsPerSecond: number;
  seconds: number;
}

const rateClients = 20;

/**
 * Measures latency at a rate below saturation, so that requests do not queue. Clients start one after another: each
 * sends by its own clock, so clients that start together would keep sending together.
 */
export async function fixedRate({
  directory,
  url,
  key,
  requestsPerSecond,
  seconds,
}: FixedRate): Promise<LoadResult> {
  const log = join(directory, 'h2load.tsv');
  await rm(log, { force: true });
  const perClient = Math.max(1, Math.round(requestsPerSecond / rateClients));
  const requests = perClient * rateClients * seconds;
  const args = `--h1 -t1 -c${rateClients} -n${requests} -r1 --rate-period=1ms --rps=${perClient}`.split(' ');
  args.push(`--log-file=${log}`);
  const header = `authorization: Bearer ${key}`;
  await run('taskset', ['-c', String(cores.support), 'h2load', ...args, '-H', header, url]);
  const rows = (await readFile(log, 'utf8'))
    .trim()
    .split('\n')
    .map((row) => row.split('\t'));
  const times = rows.map((row) => Number(row[2]) / 1000).toSorted((a, b) => a - b);
  const percentile = (share: number) =>
    times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN;
  return {
    requestsPerSecond: times.length / seconds,
    p50: percentile(0.5),
    p99: percentile(0.99),
    p999: percentile(0.999),
    statuses: countOutcomes(rows.map((row) => row[1] ?? '')),
  };
}
