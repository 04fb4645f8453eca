import { InvalidArgumentError, Option, type Command } from 'commander';
import { z } from 'zod';
import { osUser } from '../../control/access/os-user.ts';
import { InvalidOperation } from '../../control/invalid-operation.ts';
import { invalidText } from '../../control/keys/key-input.ts';
import { assertNotApiKey, containsApiKey } from '../../control/keys/pasted-key.ts';
import { isIdOf, targets } from '../../control/targets.ts';

export interface JsonOption {
  json?: true;
}

/** Options of every command that changes something. */
export interface ChangeOptions extends JsonOption {
  as: string;
}

/** `--json`, which every command has. */
export const jsonOption = () => new Option('--json', 'print JSON on one line');

/**
 * Id of what the name stands for among the targets.
 * @throws InvalidOperation for any other text: it may be a secret, which commander would repeat in its message
 */
export function targetArgument(name: string): (text: string) => string {
  const kind = targets[name];
  return (text) => {
    assertNotApiKey(text);
    if (kind !== undefined && !isIdOf(kind, text))
      throw new InvalidOperation(`that is not the id of a ${kind.noun}, such as ${kind.example}`);
    return text;
  };
}

/** ISO 8601. A date means its beginning in UTC. */
const isoTime = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);

/** A time, or a duration from now or ago. */
export function timeArgument(from: 'time' | 'time ago'): (text: string) => Date {
  return (text) => {
    if (isoTime.safeParse(text).success) return new Date(text);
    const ms = parseDuration(text);
    if (ms !== undefined && ms <= maxDurationMs) return new Date(Date.now() + (from === 'time' ? ms : -ms));
    throw new InvalidArgumentError(
      'It is neither an ISO 8601 time such as 2027-01-31T12:00:00Z or 2027-01-31, nor a duration such as 15m, 12h or 30d, of 365d at most.',
    );
  };
}

const unitMs = new Map([
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);
const maxDurationMs = 365 * 86_400_000;

/** A duration such as 15m, 12h or 30d, in milliseconds. @param min and max of the option, both in milliseconds */
export function durationArgument({ min = 1000, max = maxDurationMs } = {}): (text: string) => number {
  return (text) => {
    const ms = parseDuration(text);
    if (ms !== undefined && ms >= min && ms <= max) return ms;
    throw new InvalidArgumentError(
      `It is not a duration such as 15m, 12h or 30d, of ${max / 86_400_000}d at most.`,
    );
  };
}

function parseDuration(text: string): number | undefined {
  const [, amount, unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const factor = unitMs.get(unit);
  return factor === undefined ? undefined : Number(amount) * factor;
}

/** `--as`, which every changing command has, or OPS_AS: the person in the audit log. */
export function asOption(): Option {
  return new Option('--as <who>', 'name of the person for the audit log')
    .env('OPS_AS')
    .default(osUser(), 'the user of the operating system')
    .argParser(nameArgument);
}

/** `--reason` of a command that changes something, unless it has one of its own, which then is the reason. */
export function acceptReason(command: Command): void {
  const has = (name: string) => command.options.some(({ long }) => long === name);
  if (!has('--as') || has('--reason')) return;
  command.option('--reason <text>', 'why, with the ticket if there is one, for the audit log', nameArgument);
}

/** @throws InvalidOperation for a text with an API key, which commander would repeat in its message */
export function assertNoKey(text: string): void {
  if (!containsApiKey(text)) return;
  throw new InvalidOperation(
    'a name, a reason or a search must not contain an API key; ops keys show reads a key from standard input',
  );
}

export function nameArgument(text: string): string {
  const name = text.trim();
  assertNoKey(name);
  const issue = invalidText(name);
  if (issue !== undefined) throw new InvalidArgumentError(`It ${issue}.`);
  return name;
}
