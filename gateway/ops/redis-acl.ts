import { Command, InvalidArgumentError, Option } from 'commander';
import { InvalidOperation } from '../operations/invalid-operation.ts';
import {
  formatAclUser,
  generatePassword,
  hashPassword,
  readerOf,
  readerUser,
  type AclFormat,
  type AclTarget,
  type RedisVersion,
} from '../operations/redis-acl.ts';
import type { RedisUser } from '../operations/redis-commands.ts';
import { jsonOption, type JsonOption } from './options.ts';
import { print, printError, printJson } from './output.ts';
import { readStandardInput } from './text-file.ts';
import { assertNoMistypedCommand } from './usage-error.ts';

interface RuleOptions extends JsonOption {
  passwords: PasswordSource;
  format: AclFormat;
  redisVersion: RedisVersion;
  cluster?: true;
  sentinel?: true;
}

interface AclCommandOptions extends RuleOptions {
  gatewayUser: string;
  opsUser: string;
}

const passwordSources = ['placeholder', 'generate', 'stdin'] as const;
type PasswordSource = (typeof passwordSources)[number];

interface NamedUser {
  role: RedisUser;
  name: string;
}

export function redisAclCommand(): Command {
  const command = new Command('redis-acl')
    .enablePositionalOptions()
    .description('rules of Redis users for the gateway and for ops, with no more permissions than they need')
    .option('--gateway-user <name>', "name of the gateway's Redis user", userArgument, 'gateway')
    .option('--ops-user <name>', 'name of the Redis user of the ops command', userArgument, 'ops');
  return addRuleOptions(command, "two lines of standard input, the gateway's and that of ops")
    .allowExcessArguments()
    .action(async ({ gatewayUser, opsUser, ...options }: AclCommandOptions, command: Command) => {
      assertNoMistypedCommand(command);
      if (gatewayUser === opsUser) {
        command.error(`error: both users are called ${opsUser}: they need different permissions, and names`);
      }
      const users = [
        { role: 'gateway', name: gatewayUser },
        { role: 'ops', name: opsUser },
      ] as const;
      const lines = "two lines: the gateway's password, and then that of the ops command";
      await printUsers(users, options, lines);
    })
    .addCommand(readersCommand());
}

function readersCommand(): Command {
  const command = new Command('readers')
    .description(
      `rules of a Redis user for each person who may only read, and make links to the console for themselves, as a viewer; ` +
        `that of ada is ${readerUser('ada')}`,
    )
    .argument('<name...>', 'names of the people');
  return addRuleOptions(command, 'a line of standard input for each person').action(
    async (names: string[], options: RuleOptions, command: Command) => {
      const invalid = names.find((name) => !/^[\w-]{1,40}$/.test(name));
      if (invalid !== undefined) {
        command.error(`error: the name '${invalid}' must be 1 to 40 letters, digits, hyphens or underscores`);
      }
      if (new Set(names).size < names.length) command.error('error: a name is given twice');
      if (options.redisVersion.major < 7) {
        command.error(
          'error: readers need Redis 7.0: rules of an older one cannot permit to write one key only',
        );
      }
      const users = names.map((name) => ({ role: 'reader' as const, name: readerUser(name) }));
      const lines = `${names.length} ${names.length === 1 ? 'line' : 'lines'}, the password of each person in the order of the names`;
      await printUsers(users, options, lines);
    },
  );
}

/** @param stdin what `--passwords stdin` reads */
function addRuleOptions(command: Command, stdin: string): Command {
  return command
    .addOption(
      new Option(
        '--passwords <source>',
        `source of the passwords, which are printed as hashes: placeholders to replace, generated and shown once on standard error, or ${stdin}`,
      )
        .choices(passwordSources)
        .default('placeholder'),
    )
    .addOption(
      new Option('--format <format>', 'commands for redis-cli, or lines of an aclfile')
        .choices(['setuser', 'aclfile'])
        .default('setuser'),
    )
    .addOption(
      new Option(
        '--redis-version <version>',
        'version of Redis: a later command would make it refuse the rules',
      )
        .argParser(versionArgument)
        .default({ major: 7, minor: 2 }, '7.2'),
    )
    .addOption(new Option('--cluster', 'for every node of a Redis Cluster').conflicts('sentinel'))
    .option('--sentinel', 'for every Sentinel; the servers behind them need the rules without this option')
    .addOption(jsonOption());
}

/** @param lines what standard input must be */
async function printUsers(named: readonly NamedUser[], options: RuleOptions, lines: string): Promise<void> {
  const { format, redisVersion: version, cluster, sentinel, json } = options;
  const target: AclTarget = cluster ? 'cluster' : sentinel ? 'sentinel' : 'server';
  const passwords = await readPasswords(options.passwords, named.length, lines);
  const users = named.map(({ role, name }, index) => {
    const password = passwords[index];
    const passwordHash = password === undefined ? undefined : hashPassword(password);
    return { name, password, acl: formatAclUser({ role, name, passwordHash }, { target, format, version }) };
  });
  const generated = options.passwords === 'generate';
  if (json) {
    return printJson(
      users.map(({ name, acl, password }) =>
        generated ? { user: name, acl, password } : { user: name, acl },
      ),
    );
  }
  await print(users.map(({ acl }) => `${acl}\n`).join(''));
  if (!generated) return;
  for (const { name, password } of users) printError(`password of ${name}, shown this once: ${password}`);
}

async function readPasswords(source: PasswordSource, count: number, lines: string): Promise<string[]> {
  switch (source) {
    case 'placeholder':
      return [];
    case 'generate':
      return Array.from({ length: count }, generatePassword);
    case 'stdin':
      return readPasswordLines(count, lines);
  }
}

/** Redis hashes passwords without a salt, so a short one can be found from its hash. */
const minPasswordCharacters = 16;
const maxInputCharacters = 10_000;

/** @throws InvalidOperation, which never repeats the input */
async function readPasswordLines(count: number, lines: string): Promise<string[]> {
  if (process.stdin.isTTY) {
    throw new InvalidOperation('passwords are read from a file or a pipe: a terminal would show them');
  }
  const text = await readStandardInput(maxInputCharacters, `standard input must be ${lines}`);
  const passwords = text.replace(/\r?\n$/, '').split(/\r?\n/);
  if (passwords.length !== count || passwords.at(-1) === '') {
    throw new InvalidOperation(`standard input must be ${lines}`);
  }
  if (new Set(passwords).size < count) {
    const which = count === 2 ? 'both' : 'two';
    throw new InvalidOperation(`${which} passwords are the same: each user needs its own`);
  }
  if (passwords.some((password) => password.length < minPasswordCharacters)) {
    throw new InvalidOperation(
      `a password has less than ${minPasswordCharacters} characters: its hash is not salted, so use a random one, ` +
        'such as openssl rand -hex 24 makes',
    );
  }
  return passwords;
}

function userArgument(text: string): string {
  if (!/^[\w.-]{1,64}$/.test(text)) {
    throw new InvalidArgumentError('It has to be 1 to 64 letters, digits, dots, hyphens or underscores.');
  }
  if (text === 'default') {
    throw new InvalidArgumentError(
      'That user is for clients that log in without a name, such as administrators.',
    );
  }
  if (readerOf(text) !== undefined) {
    throw new InvalidArgumentError('Such a name is for readers: ops redis-acl readers.');
  }
  return text;
}

function versionArgument(text: string): RedisVersion {
  const [, major, minor] = /^(\d{1,2})\.(\d{1,2})(?:\.\d{1,3})?$/.exec(text) ?? [];
  const version = { major: Number(major), minor: Number(minor) };
  if (major === undefined || version.major < 6 || (version.major === 6 && version.minor < 2)) {
    throw new InvalidArgumentError('It has to be a version from 6.2 on, such as 7.2.');
  }
  return version;
}
