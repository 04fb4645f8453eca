import { Command, InvalidArgumentError, Option } from 'commander';
import { InvalidOperation } from '../operations/invalid-operation.ts';
import {
  formatAclUser,
  generatePassword,
  hashPassword,
  type AclFormat,
  type AclTarget,
  type RedisVersion,
} from '../operations/redis-acl.ts';
import type { RedisUser } from '../operations/redis-commands.ts';
import { jsonOption, type JsonOption } from './options.ts';
import { print, printError, printJson } from './output.ts';

interface AclCommandOptions extends JsonOption {
  gatewayUser: string;
  opsUser: string;
  passwords: PasswordSource;
  format: AclFormat;
  redisVersion: RedisVersion;
  cluster?: true;
  sentinel?: true;
}

const passwordSources = ['placeholder', 'generate', 'stdin'] as const;
type PasswordSource = (typeof passwordSources)[number];
type Passwords = Readonly<Record<RedisUser, string | undefined>>;

export function redisAclCommand(): Command {
  return new Command('redis-acl')
    .description('rules of Redis users for the gateway and for ops, with no more permissions than they need')
    .option('--gateway-user <name>', "name of the gateway's Redis user", userArgument, 'gateway')
    .option('--ops-user <name>', 'name of the Redis user of the ops command', userArgument, 'ops')
    .addOption(
      new Option(
        '--passwords <source>',
        'source of the passwords, which are printed as hashes: placeholders to replace, generated and shown once on ' +
          "standard error, or two lines of standard input, the gateway's and that of ops",
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
    .addOption(jsonOption())
    .action(runRedisAcl);
}

async function runRedisAcl(options: AclCommandOptions, command: Command): Promise<void> {
  const { gatewayUser, opsUser, format, redisVersion: version, cluster, sentinel, json } = options;
  if (gatewayUser === opsUser) {
    command.error(`error: both users are called ${opsUser}: they need different permissions, and names`);
  }
  const target: AclTarget = cluster ? 'cluster' : sentinel ? 'sentinel' : 'server';
  const passwords = await readPasswords(options.passwords);
  const named = { gateway: gatewayUser, ops: opsUser };
  const users = (['gateway', 'ops'] as const).map((role) => {
    const [name, password] = [named[role], passwords[role]];
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

async function readPasswords(source: PasswordSource): Promise<Passwords> {
  switch (source) {
    case 'placeholder':
      return { gateway: undefined, ops: undefined };
    case 'generate':
      return { gateway: generatePassword(), ops: generatePassword() };
    case 'stdin':
      return readPasswordLines();
  }
}

/** Redis hashes passwords without a salt, so a short one can be found from its hash. */
const minPasswordCharacters = 16;
const maxInputCharacters = 10_000;

/** @throws InvalidOperation, which never repeats the input */
async function readPasswordLines(): Promise<Passwords> {
  if (process.stdin.isTTY) {
    throw new InvalidOperation('passwords are read from a file or a pipe: a terminal would show them');
  }
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += String(chunk);
    if (text.length > maxInputCharacters) break;
  }
  const [gateway = '', ops = '', ...rest] = text.replace(/\r?\n$/, '').split(/\r?\n/);
  if (ops === '' || rest.length > 0) {
    throw new InvalidOperation(
      "standard input must be two lines: the gateway's password, and then that of the ops command",
    );
  }
  if (gateway === ops) throw new InvalidOperation('both passwords are the same: each user needs its own');
  if (gateway.length < minPasswordCharacters || ops.length < minPasswordCharacters) {
    throw new InvalidOperation(
      `a password has less than ${minPasswordCharacters} characters: its hash is not salted, so use a random one, ` +
        'such as openssl rand -hex 24 makes',
    );
  }
  return { gateway, ops };
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
