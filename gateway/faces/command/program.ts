import { readVersion } from '#runtime/version.ts';
import { Command } from 'commander';
import { consoleCommand } from './console.ts';
import { keysExportCommand, keysImportCommand } from './keys-transfer.ts';
import { nounCommand, operationExamples, operationOf } from './operation-command.ts';
import { acceptReason } from './options.ts';
import { plansApplyCommand, plansDiffCommand, plansExportCommand } from './plans-file.ts';
import { setChangeReason } from './redis-session.ts';
import { servicesCheckCommand } from './services.ts';
import { statusCommand } from './status.ts';
import { tokensIssueCommand } from './tokens.ts';
import { webhooksTestCommand } from './webhooks-test.ts';

/*
 * npm run --silent ops -- …
 * Exit codes: 0 done; 2 invalid input or settings, nothing changed; 3 changed, but not confirmed by Redis and all its replicas; 1 anything
 * else, such as Redis unavailable.
 */
export const program = new Command('ops')
  .description('Shows and changes customers, API keys, plans, bans and tokens of running gateways.')
  .addCommand(statusCommand())
  .addCommand(
    nounCommand('customers', 'customers, whose API keys share a plan, limits and what is used of them'),
  )
  .addCommand(nounCommand('keys', 'API keys of clients', keysExportCommand(), keysImportCommand()))
  .addCommand(nounCommand('usage', 'what customers have used, by day'))
  .addCommand(operationOf('top'))
  .addCommand(nounCommand('bans', 'bans of API keys'))
  .addCommand(
    nounCommand(
      'plans',
      'limits of the plans; changes are in force on all gateways within a second',
      plansExportCommand(),
      plansDiffCommand(),
      plansApplyCommand(),
    ),
  )
  .addCommand(nounCommand('policy', 'conditions and length of bans, and how long use is kept'))
  .addCommand(
    nounCommand(
      'webhooks',
      'addresses that events are sent to, of all customers or of one',
      webhooksTestCommand(),
    ),
  )
  .addCommand(operationOf('audit'))
  .addCommand(consoleCommand())
  .addCommand(nounCommand('sessions', 'people who are signed in to the console'))
  .addCommand(
    nounCommand('api-tokens', "tokens with which programs use the operators' API, such as a billing system"),
  )
  .addCommand(nounCommand('services', 'the services behind the gateway', servicesCheckCommand()))
  .addCommand(nounCommand('tokens', 'tokens with which people call a service', tokensIssueCommand()))
  .version(readVersion(), '--version', 'print the version')
  .addHelpText(
    'after',
    '\nUses REDIS_URL or REDIS_URL_FILE, or else the private Redis of the gateway that runs with the same DATA_DIR.\n' +
      'Exit codes: 0 done; 2 invalid input or settings, nothing changed; 3 changed, but not confirmed by Redis and all its replicas;\n' +
      '1 anything else, such as Redis unavailable.',
  );

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

program.hook('preAction', (_program, command) => {
  setChangeReason(command.opts<{ reason?: string }>().reason);
});

for (const { command, words } of [{ command: program, words: [] }, ...descendants(program, [])]) {
  addExamples(command, words);
  acceptReason(command);
  // Errors are printed by run.ts, all in one form.
  command.exitOverride().configureOutput({ outputError: () => {} });
}

/** Ends the help of a command with its examples. @param words that lead to it */
function addExamples(command: Command, words: readonly string[]): void {
  const lines = examples[words.join(' ')] ?? [];
  if (lines.length === 0) return;
  command.addHelpText('after', `\nExamples:\n${lines.map((line) => `  $ ops ${line}`).join('\n')}`);
}

/** Every command below one, with the words that lead to it. */
function descendants(command: Command, words: readonly string[]): { command: Command; words: string[] }[] {
  return command.commands.flatMap((child) => {
    const path = [...words, child.name()];
    return [{ command: child, words: path }, ...descendants(child, path)];
  });
}
