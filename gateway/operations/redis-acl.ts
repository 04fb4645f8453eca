import { hash, randomBytes } from 'node:crypto';
import { redisKeys } from '../redis/redis-keys.ts';
import {
  auditCommands,
  clusterCommands,
  commandsOf,
  queueCommands,
  readerLinkCommand,
  sentinelCommands,
  type RedisUser,
} from './redis-commands.ts';

/** What the lines are for: a server, a node of a Redis Cluster, or a Sentinel. */
export type AclTarget = 'server' | 'cluster' | 'sentinel';

/** `setuser`: commands for redis-cli; `aclfile`: lines of the file that the setting `aclfile` names. */
export type AclFormat = 'setuser' | 'aclfile';

export interface AclUser {
  role: RedisUser;
  name: string;
  /** Hexadecimal SHA-256 of its password; undefined for a placeholder, which Redis refuses. */
  passwordHash: string | undefined;
}

export interface AclOptions {
  target: AclTarget;
  format: AclFormat;
  /** Of Redis, such as `7.2`: later commands are left out, because it would refuse the whole line. */
  version: RedisVersion;
}

export interface RedisVersion {
  major: number;
  minor: number;
}

/** ioredis subscribes to it at each Sentinel, to notice a failover at once. */
const failoverChannel = '+switch-master';

/**
 * The rules of one user, which replace all that it had: a password, the keys of the gateway, no channels, and exactly the
 * commands that are used (redis-commands.ts). From Redis 7.0 on, nobody can remove or replace the audit log: a selector has
 * the commands for it, and the patterns of all other keys leave it out.
 */
export function formatAclUser({ role, name, passwordHash }: AclUser, options: AclOptions): string {
  const { target, format, version } = options;
  const password = `#${passwordHash ?? `<SHA-256 of the password of ${name}>`}`;
  const commands = aclCommands(role, target, version);
  const reader = readerOf(name);
  const access =
    target === 'sentinel'
      ? [`&${failoverChannel}`, ...commandRules(commands)]
      : role === 'reader' && reader !== undefined
        ? readerAccess(reader, commands)
        : aclAccess(commands, version);
  const rules = ['on', password, 'resetchannels', ...access].join(' ');
  // A file defines users from nothing, and has no word for a reset.
  return format === 'aclfile' ? `user ${name} ${rules}` : `ACL SETUSER ${name} reset ${rules}`;
}

/** Rules for the keys of the gateway, and for commands on them. */
export function aclAccess(commands: readonly string[], { major }: RedisVersion): string[] {
  if (major < 7) return ['~gw:*', ...commandRules(commands)];
  const onAudit = commands.filter((command) => auditCommands.includes(command));
  const others = commands.filter((command) => command !== 'xread');
  // No other keys begin with gw:a than those of addresses, gw:anonymous.
  return ['~gw:[^a]*', '~gw:an*', ...commandRules(others), `(~gw:audit ${commandRules(onAudit).join(' ')})`];
}

/** Everything may be read but the secrets of webhooks (gw:webhook-secrets). The one key that may be written holds a link that is always a viewer's. */
function readerAccess(reader: string, commands: readonly string[]): string[] {
  const link = `(~${redisKeys.consoleReader(reader)} ${commandRules([readerLinkCommand]).join(' ')})`;
  return ['~gw:[^w]*', '~gw:webhooks*', ...commandRules(commands), link];
}

const readerPrefix = 'reader-';

/** Name of a reader's Redis user, which tells the ops command who it is. */
export const readerUser = (reader: string) => `${readerPrefix}${reader}`;

/** @returns the reader whose Redis user this is; undefined for any other user */
export function readerOf(user: string | undefined): string | undefined {
  return user?.startsWith(readerPrefix) ? user.slice(readerPrefix.length) : undefined;
}

const commandRules = (commands: readonly string[]) => ['-@all', ...commands.map((command) => `+${command}`)];

/** Commands of a user by name, subcommands after a bar as in ACL rules. */
export function aclCommands(role: RedisUser, target: AclTarget, version: RedisVersion): string[] {
  if (target === 'sentinel') return sentinelCommands.toSorted();
  const all = [
    ...commandsOf[role],
    ...(role === 'reader' ? [] : queueCommands),
    ...(target === 'cluster' ? clusterCommands : []),
  ];
  return [...new Set(all)].filter((command) => isKnown(command, version)).toSorted();
}

/** First versions of commands that are later than the oldest supported Redis. */
const sinceVersion = new Map<string, RedisVersion>([
  ['client|setinfo', { major: 7, minor: 2 }],
  ['waitaof', { major: 7, minor: 2 }],
]);

function isKnown(command: string, version: RedisVersion): boolean {
  const since = sinceVersion.get(command);
  if (since === undefined) return true;
  return version.major > since.major || (version.major === since.major && version.minor >= since.minor);
}

/** 192 random bits. Letters and digits only, so that it can be part of an address. */
export function generatePassword(): string {
  return randomBytes(24).toString('hex');
}

/** The form in which Redis stores passwords. It is not salted: a password must be random, not memorable. */
export function hashPassword(password: string): string {
  return hash('sha256', password, 'hex');
}
