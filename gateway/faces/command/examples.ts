import type { Command } from 'commander';
import { operationExamples } from './operation-command.ts';

const webhook = 'wh_282dd48c706990d4';

/** What is typed after `ops`, by the command. */
export const examples: Readonly<Record<string, readonly string[]>> = {
  ...operationExamples,
  status: ['status', 'status --json'],
  'keys export': ['keys export > keys.jsonl'],
  'keys import': ['keys import keys.jsonl'],
  'plans export': ['plans export > plans.yaml'],
  'plans diff': ['plans diff plans.yaml'],
  'plans apply': ['plans apply plans.yaml'],
  'webhooks test': [`webhooks test ${webhook}`],
  console: ['console', 'console --viewer'],
  'services check': ['services check services.yaml'],
  'tokens issue': ['tokens issue billing'],
};

/** Ends the help of a command with its examples. @param words that lead to it */
export function addExamples(command: Command, words: readonly string[]): void {
  const lines = examples[words.join(' ')] ?? [];
  if (lines.length === 0) return;
  command.addHelpText('after', `\nExamples:\n${lines.map((line) => `  $ ops ${line}`).join('\n')}`);
}
