import { execFile } from 'node:child_process';
import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { format, resolveConfig } from 'prettier';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';

/*
 * npm run histories:planted: plants faults in a copy of the sources, one at a time, and tells in how many seeds the checker
 * finds each. It fails if one is found in none.
 */

interface Planted {
  name: string;
  /** Needs a coincidence of milliseconds, so that some seeds may not find it: unit tests do. */
  isRare?: boolean;
  edits: readonly { file: string; before: string; after: string }[];
}

const scripts = 'gateway/redis/scripts';
const edit = (file: string, before: string, after: string) => ({ file, before, after });

const planted: readonly Planted[] = [
  { name: 'nothing', edits: [] },
  {
    name: 'the script forgets the day limit',
    edits: [
      edit(
        `${scripts}/windows.lua`,
        'if limits[index] and used[index] + cost',
        "if limits[index] and windows[index].name ~= 'day' and used[index] + cost",
      ),
    ],
  },
  {
    name: 'a window allows one more than its limit',
    edits: [
      edit(`${scripts}/windows.lua`, 'used[index] + cost > limits[index]', 'used[index] > limits[index]'),
    ],
  },
  {
    name: 'a refused request uses the day',
    edits: [
      edit(
        `${scripts}/consume.lua`,
        '    return addWindows({ outcome.limited, now',
        '    add(dayCounter(keyTag, today), cost)\n    return addWindows({ outcome.limited, now',
      ),
    ],
  },
  {
    name: 'each request begins the minute again',
    edits: [
      edit(
        `${scripts}/consume.lua`,
        '        add(counterOf(window, keyTag), cost)\n',
        "        add(counterOf(window, keyTag), cost)\n        redis.call('PEXPIRE', counterOf(window, keyTag), window.lengthMs)\n",
      ),
    ],
  },
  {
    name: 'a cached key is believed for 2 s, whatever its rev',
    edits: [
      edit(`${scripts}/consume.lua`, "if rev ~= '-1' then", "if rev == '' then"),
      edit('gateway/api-keys/api-key-cache.ts', 'const freshMs = 10_000;', 'const freshMs = 2000;'),
    ],
  },
  {
    name: 'a change of a key does not raise its rev',
    edits: [
      edit(
        `${scripts}/change-record-1.lua`,
        "string.format('%.0f', changed))",
        "rev == '0' and string.format('%.0f', changed) or rev)",
      ),
    ],
  },
  {
    name: 'strikes count from the first refusal on, without grace',
    edits: [
      edit(
        `${scripts}/consume.lua`,
        'if now - refusedSince <= policy.graceMs then',
        'if now < refusedSince then',
      ),
    ],
  },
  {
    name: 'a ban is remembered for 5 s',
    edits: [edit('gateway/quota/ban-cache.ts', 'const freshMs = 1000;', 'const freshMs = 5000;')],
  },
  {
    name: 'a ban is remembered from its reply on',
    isRare: true,
    edits: [
      edit(
        'gateway/quota/ban-cache.ts',
        'if (ban.remainingMs <= cached.replyMs)',
        'if (ban.remainingMs <= 0)',
      ),
    ],
  },
  {
    name: 'Retry-After is rounded down',
    edits: [
      edit(
        'gateway/quota/rate-limit-headers.ts',
        'Math.max(1, wholeSeconds(waitMs))',
        'Math.max(1, Math.floor(waitMs / 1000))',
      ),
    ],
  },
  {
    name: 'each process has the whole limit without Redis',
    edits: [edit('gateway/quota/local-quota.ts', 'Math.floor(limit / shares)', 'Math.floor(limit)')],
  },
  {
    name: 'what is served without Redis is not reported',
    edits: [
      edit(
        'gateway/quota/quota.ts',
        "if (decision.outcome === 'allowed') usageReports.addServed(caller.keyHash, units);",
        '',
      ),
    ],
  },
  {
    name: 'late replies are not taken back',
    isRare: true,
    edits: [edit('gateway/quota/quota.ts', '    usageReports.takeBackServed(keyHash, nowMs, units);\n', '')],
  },
];

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1-4' },
    seconds: { type: 'string', default: '10' },
    only: { type: 'string', default: '' },
  },
});
const root = fileURLToPath(new URL('../..', import.meta.url));
await using copy = await temporaryDirectory();
for (const part of ['gateway', 'prisma', 'test', 'package.json', 'tsconfig.json'])
  await cp(join(root, part), join(copy.path, part), {
    recursive: true,
    filter: (path) => !path.includes('node_modules'),
  });
await symlink(join(root, 'node_modules'), join(copy.path, 'node_modules'));

async function plant({ edits }: Planted): Promise<() => Promise<void>> {
  const before = await Promise.all(
    edits.map(async ({ file }) => [file, await readFile(join(copy.path, file), 'utf8')] as const),
  );
  for (const { file, before: from, after } of edits) {
    const path = join(copy.path, file);
    const text = await readFile(path, 'utf8');
    if (!text.includes(from)) throw new Error(`${file} has no ${JSON.stringify(from)}`);
    await writeFile(
      path,
      text.replace(from, () => after),
    );
  }
  return async () => {
    for (const [file, text] of before) await writeFile(join(copy.path, file), text);
  };
}

/** @returns what `npm run histories` prints in the copy */
function runHistories(): Promise<string> {
  const args = [
    'test/histories/histories.ts',
    '--seeds',
    values.seeds,
    '--seconds',
    values.seconds,
    '--tries',
    '0',
  ];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: copy.path, maxBuffer: 1e9 }, (_error, stdout, stderr) =>
      resolve(stdout + stderr),
    );
  });
}

const rows: string[] = [];
for (const one of planted.filter(({ name }) => name.includes(values.only))) {
  const remove = await plant(one);
  const output = await runHistories();
  await remove();
  const results = [...output.matchAll(/^seed \d+: .* (\d+) violations$/gm)].map(([, count]) => Number(count));
  if (results.length === 0) throw new Error(output);
  const found = results.filter((count) => count > 0).length;
  const broken = new Set(Array.from(output.matchAll(/^([A-Za-z].*): \d+$/gm), ([, promise]) => promise));
  rows.push(
    `| ${one.name}${one.isRare === true ? ' (rare)' : ''} | ${found} of ${results.length} | ${[...broken].join(', ')} |`,
  );
  console.log(rows.at(-1));
  if (found > 0 === (one.edits.length === 0)) process.exitCode = 1;
}

const page = fileURLToPath(new URL('PLANTED.md', import.meta.url));
const text = [
  '# Planted faults',
  '',
  `Made by \`npm run histories:planted\`: seeds ${values.seeds}, ${values.seconds} s each.`,
  '',
  '| planted | found in | promises that it breaks |',
  '| --- | --- | --- |',
  ...rows,
  '',
];
if (values.only === '')
  await writeFile(page, await format(text.join('\n'), { ...(await resolveConfig(page)), filepath: page }));
