import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { seedDefaults } from '../../gateway/quota/seed-defaults.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { connectRedis } from '../support/kits/keys.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { startRedisProcess } from '../support/stores/redis-process.ts';
import { measureOps, type MeasuredCommand } from './measured-command.ts';
import { addKeys, forAllKeys, keyOf, recordMonths } from './recorded-keys.ts';
import { environmentLine, markdownTable, writeResults } from './report.ts';

/*
 * npm run bench:ops [-- KEYS] measures commands of operators that read many keys: seconds, and the memory of the command.
 */

const keys = Number(process.argv[2] ?? 100_000);
const daysOfMonth = ['--from', '2026-10-01', '--to', '2026-10-31'];

/** One customer in a hundred is on another plan. */
const onOtherPlan = `${keyOf}
for n = tonumber(ARGV[1]), tonumber(ARGV[2]) - 1 do
  if n % 100 == 0 then redis.call('HSET', 'gw:customer:{' .. customerOf(n) .. '}', 'plan', 'pro') end
end`;

await using server = await startRedisProcess(() => ['--save', '', '--appendonly', 'no']);
const url = `redis://127.0.0.1:${server.port}`;
const redis = await connectRedis(url);
await seedDefaults(redis, 'bench');
await forAllKeys(redis, addKeys, keys);
await forAllKeys(redis, onOtherPlan, keys);
await recordMonths(redis, keys, 1);
await redis.hset(redisKeys.usagePolicy, 'retentionDays', 400);
redis.disconnect();

await using directory = await temporaryDirectory();
const file = join(directory.path, 'plans.yaml');
await writeFile(
  file,
  'plans:\n  free: {minute: 30, day: 500}\n  pro: {minute: 200, day: 5000}\n  business: {minute: 1, day: 2}\n',
);

const commands: Record<string, string[]> = {
  'every key on a plan': ['keys', 'list', '--plan', 'free'],
  'one key in a hundred': ['keys', 'list', '--plan', 'pro'],
  'one key by its name': ['keys', 'find', `number ${keys - 1}`],
  'use of a month': ['usage', 'export', ...daysOfMonth],
  'changes of a file of plans': ['plans', 'apply', file, '--dry-run'],
  'plans with their keys': ['plans', 'list'],
};

const measured: (MeasuredCommand & { command: string; finds: string })[] = [];
for (const [finds, args] of Object.entries(commands)) {
  measured.push({ finds, command: args.join(' ').replace(file, 'FILE'), ...(await measureOps(url, args)) });
}

const table = markdownTable(
  ['command', 'finds', 'lines', 'time', 'memory at its peak'],
  measured.map(({ command, finds, lines, seconds, peakMiB }) => [
    `\`${command}\``,
    finds,
    lines.toLocaleString('en'),
    `${seconds.toFixed(1)} s`,
    `${Math.round(peakMiB)} MiB`,
  ]),
);
const text = `## Commands of operators\n\n${environmentLine()}; ${keys.toLocaleString('en')} keys. Each key is used on every day of the month. Times mean something relative to each other only.\n\n${table}\n`;
await writeResults('ops-commands', text, { keys, measured });
process.stdout.write(text);
