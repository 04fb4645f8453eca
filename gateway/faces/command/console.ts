import { hostname } from 'node:os';
import { Command } from 'commander';
import { findConsoleOrigins, makeConsoleCode } from '../../control/access/console-codes.ts';
import type { ConsoleRole } from '../../control/access/console-sessions.ts';
import { loadConfig } from '../../platform/config/config.ts';
import { consoleLink, consoleOrigin } from '../../platform/config/endpoints.ts';
import { asOption, jsonOption, nameArgument, type ChangeOptions } from './options.ts';
import { printError, printFields, printJson } from './output.ts';
import { withChanges, withRedis } from './redis-session.ts';

interface LinkOptions extends ChangeOptions {
  for?: string;
  viewer?: true;
}

export function consoleCommand(): Command {
  return new Command('console')
    .description('print a link that opens the console in a browser; it works once, within five minutes')
    .option('--for <name>', 'name of the person whom the link is for, if it is not you', nameArgument)
    .option('--viewer', 'for a person who may see everything and change nothing')
    .addOption(asOption())
    .addOption(jsonOption())
    .action(printLink);
}

async function printLink(options: LinkOptions): Promise<void> {
  const { viewer, as, for: name = as, json } = options;
  const [first, ...others] = await consoleOrigins();
  const role: ConsoleRole = viewer ? 'viewer' : 'operator';
  const { code, ...made } = await withChanges(as, (session) => makeConsoleCode(session, { name, role }));
  const link = consoleLink(first, code);
  if (json) return printJson({ link, otherConsoles: others, ...made });
  printFields({ link, ...made });
  if (others.length > 0) {
    printError(
      `several consoles are running, and the link works at each of them, once: ${others.map((origin) => `${origin}/console`).join(', ')}`,
    );
  }
}

/** Origins of the consoles that a link may open, the likeliest first. */
async function consoleOrigins(): Promise<[string, ...string[]]> {
  const config = loadConfig(process.env);
  if (config.adminUrl !== undefined) return [config.adminUrl];
  const [first, ...others] = await withRedis((session) => findConsoleOrigins(session, hostname()));
  if (first !== undefined) return [first, ...others];
  const expected = consoleOrigin(config, config.adminPort);
  printError(`warning: no running gateway has announced its console, so the address is a guess: ${expected}`);
  return [expected];
}
