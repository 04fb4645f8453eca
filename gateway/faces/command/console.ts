import { hostname } from 'node:os';
import { Command } from 'commander';
import {
  findConsoleOrigin,
  makeConsoleCode,
  type ConsoleRole,
} from '../../control/access/console-sessions.ts';
import { loadConfig } from '../../platform/config/config.ts';
import { consoleLink, consoleOrigin } from '../../platform/config/endpoints.ts';
import { asOption, jsonOption, nameArgument, type ChangeOptions } from './options.ts';
import { printError, printResult } from './output.ts';
import { withChanges, withRedis } from './redis-session.ts';

export function consoleCommand(): Command {
  return new Command('console')
    .description('print a link that opens the console in a browser; it works once, within five minutes')
    .option('--for <name>', 'name of the person whom the link is for, if it is not you', nameArgument)
    .option('--viewer', 'for a person who may see everything and change nothing')
    .addOption(asOption())
    .addOption(jsonOption())
    .action(printLink);
}

async function printLink({
  viewer,
  as,
  for: name = as,
  json,
}: ChangeOptions & { for?: string; viewer?: true }) {
  const role: ConsoleRole = viewer ? 'viewer' : 'operator';
  const { code, ...made } = await withChanges(as, (session) => makeConsoleCode(session, { name, role }));
  printResult({ link: consoleLink(await findOrigin(), code), ...made }, json);
}

/** Origin of the console that a link opens: any serves all gateways. */
async function findOrigin(): Promise<string> {
  const config = loadConfig(process.env);
  if (config.adminUrl !== undefined) return config.adminUrl;
  const found = await withRedis((session) => findConsoleOrigin(session, hostname()));
  if (found !== undefined) return found;
  const expected = consoleOrigin(config, config.adminPort);
  printError(`warning: no running gateway has announced its console, so the address is a guess: ${expected}`);
  return expected;
}
