import { spawn } from 'node:child_process';
import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { chosenChanges, type ChosenChange } from './chosen.ts';
import { chooseMutation, identify, pickMutations, plant, type Mutation } from './plant.ts';
import { explanationOf, report, type Outcome } from './report.ts';
import { targets, type Target } from './targets.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const results = new URL('results.json', import.meta.url);
/** One change for so many that could be made of a source. */
const share = 9;
/** A planted change may make a loop endless. */
const limitMs = 300_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { survivors: { type: 'boolean' } },
});
const [filter = ''] = positionals;

async function pick({ source, tests }: Target) {
  const text = await readFile(join(root, source), 'utf8');
  const all = pickMutations(source, text, Number.POSITIVE_INFINITY).length;
  return pickMutations(source, text, Math.ceil(all / share)).map((mutation) => ({ mutation, tests }));
}

async function choose({ source, before, after, tests }: ChosenChange) {
  const text = await readFile(join(root, source), 'utf8');
  return { mutation: chooseMutation(source, text, before, after), tests };
}

/** @returns whether all tests pass */
function runTests(
  directory: string,
  tests: readonly string[],
  output: 'ignore' | 'inherit' = 'ignore',
): Promise<boolean> {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const child = spawn(process.execPath, [vitest, 'run', '--config', 'test/mutations/vitest.config.ts'], {
    cwd: directory,
    env: { ...process.env, MUTATION_TESTS: tests.join(' '), MODEL_SCENARIOS: '50' },
    stdio: output,
    detached: true,
  });
  const killAll = () => {
    try {
      // With the services that its tests have started.
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // They have ended.
    }
  };
  const timer = setTimeout(killAll, output === 'inherit' ? 3 * limitMs : limitMs);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code) => {
      clearTimeout(timer);
      killAll();
      resolve(code === 0);
    });
  });
}

async function runWith(
  directory: string,
  { mutation, tests }: { mutation: Mutation; tests: readonly string[] },
) {
  const path = join(directory, mutation.file);
  const text = await readFile(path, 'utf8');
  await writeFile(path, plant(text, mutation));
  const survived = await runTests(directory, tests);
  await writeFile(path, text);
  return { mutation, survived };
}

async function readResults(): Promise<Map<string, Outcome>> {
  const outcomes = JSON.parse(await readFile(results, 'utf8').catch(() => '[]')) as Outcome[];
  return new Map(outcomes.map((outcome) => [identify(outcome.mutation), outcome]));
}

const known = await readResults();
const picked = [
  ...(await Promise.all(targets.map(pick))).flat(),
  ...(await Promise.all(chosenChanges.map(choose))),
];
const due = picked.filter(
  ({ mutation }) =>
    mutation.file.includes(filter) &&
    (values.survivors !== true || known.get(identify(mutation))?.survived !== false),
);

await using copy = await temporaryDirectory();
for (const part of ['gateway', 'pets-service', 'prisma', 'test', 'package.json', 'README.md']) {
  await cp(join(root, part), join(copy.path, part), {
    recursive: true,
    filter: (path) => !path.includes('node_modules'),
  });
}
await symlink(join(root, 'node_modules'), join(copy.path, 'node_modules'));

const allTests = [...new Set(due.flatMap(({ tests }) => tests))];
if (due.length > 0 && !(await runTests(copy.path, allTests, 'inherit')))
  throw new Error('tests fail without a change');
const made = new Map<string, Outcome>();
/** Another run, of other sources, may write at the same time. What is not picked any more is left out. */
async function save(): Promise<Outcome[]> {
  const all = new Map([...(await readResults()), ...made]);
  const outcomes = picked.flatMap(({ mutation }) => {
    const outcome = all.get(identify(mutation));
    return outcome === undefined ? [] : { mutation, survived: outcome.survived };
  });
  await writeFile(results, `${JSON.stringify(outcomes, undefined, 2)}\n`);
  return outcomes;
}

for (const { mutation, tests } of due) {
  const outcome = await runWith(copy.path, { mutation, tests });
  made.set(identify(mutation), outcome);
  await save();
  console.log(`${outcome.survived ? 'SURVIVED' : 'caught  '} ${mutation.rule}: ${identify(mutation)}`);
}

const outcomes = await save();
console.log(report(outcomes, picked.length));
const survivors = outcomes.filter(({ survived }) => survived);
const unexplained = survivors.filter(({ mutation }) => explanationOf(mutation) === undefined);
console.log(
  `${outcomes.length} planted, ${survivors.length} survived, ${unexplained.length} without explanation`,
);
if (unexplained.length > 0) process.exitCode = 1;
