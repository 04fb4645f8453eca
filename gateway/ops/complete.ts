import { Command } from 'commander';
import { keyIdsStartingWith, newestIds } from '../operations/key-ids.ts';
import { readPlanNames } from '../operations/plan-names.ts';
import type { Session } from '../operations/session.ts';
import { anonymousPlan } from '../plans/plan-settings.ts';
import { auditActions } from '../redis/audit-actions.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { completeWords, type Candidate, type Completion } from './complete-words.ts';
import { print, printable } from './output.ts';
import { withRedis } from './redis-session.ts';
import type { ValueKind } from './value-kinds.ts';

/** Who presses Tab waits, so that Redis has less time than for a command. */
const timeoutMs = 1500;
const maxIds = 50;

/** What the shells take for "complete names of files". */
export const filesMark = ':files';

/** The command that the scripts of `ops completion` run. Prints a candidate a line, and nothing if anything fails. */
export function completeCommand(): Command {
  return new Command('__complete')
    .argument('[words...]')
    .helpOption(false)
    .action(async (words: string[], _options: unknown, command: Command) => {
      const timer = setTimeout(() => process.exit(0), timeoutMs);
      try {
        await print(await completionText(command.parent ?? command, words));
      } catch {
        // There is no place for an error in the line that somebody is typing.
      } finally {
        clearTimeout(timer);
      }
    });
}

async function completionText(program: Command, words: readonly string[]): Promise<string> {
  const completion = completeWords(program, words);
  const values = completion.kind === undefined ? [] : await readValues(completion.kind, completion);
  if (values === 'files') return `${filesMark}\n`;
  return [...completion.candidates, ...values]
    .filter(({ value }) => isSafe(value))
    .map(lineOf)
    .join('');
}

/** Ids and names that were written by hand must have no meaning for the shell. */
function isSafe(value: string): boolean {
  return /^[\w.@+-]+$/.test(value);
}

function lineOf({ value, description }: Candidate): string {
  return `${value}\t${printable(description).slice(0, 80)}\n`;
}

/** Values that do not depend on what is stored. */
const knownValues: Partial<Record<ValueKind, readonly string[]>> = {
  boolean: ['true', 'false'],
  'audit-action': auditActions,
};

async function readValues(kind: ValueKind, { prefix }: Completion): Promise<Candidate[] | 'files'> {
  if (kind === 'file') return 'files';
  const known = knownValues[kind];
  const values = known === undefined ? await withRedis((session) => readFrom(session)) : plain(known);
  return values.filter(({ value }) => value.startsWith(prefix));

  async function readFrom({ redis }: Session): Promise<Candidate[]> {
    if (kind === 'key-id') {
      const options = { max: maxIds, deadlineMs: Date.now() + timeoutMs / 2 };
      const ids = await keyIdsStartingWith(redis, prefix, options);
      return ids.map(({ id, name }) => ({ value: id, description: name }));
    }
    if (kind === 'customer-id') {
      const ids = await newestIds(redis, redisKeys.customers, maxIds);
      return ids.map(({ id, name }) => ({ value: id, description: name }));
    }
    const names = await readPlanNames(redis);
    return plain(kind === 'plan' ? names : [...names, anonymousPlan]);
  }
}

function plain(values: readonly string[]): Candidate[] {
  return values.map((value) => ({ value, description: '' }));
}
