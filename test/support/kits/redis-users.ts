import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';

const password = 'password-of-the-gateway';
const directory = new URL('../../../gateway/platform/redis/', import.meta.url);

/** Commands that Redis knows from 7.2 on. */
const newCommands = new Set(['+client|setinfo', '+waitaof']);

/** The words of the line in an ACL file. */
function rulesIn(file: 'users.acl' | 'sentinel-users.acl'): string[] {
  return readFileSync(new URL(file, directory), 'utf8').trim().split(' ');
}

/** Commands that the user may send, by name, but for those on the queue of events: BullMQ sends most of them only if something fails. */
export function permittedCommands(file: 'users.acl' | 'sentinel-users.acl'): string[] {
  const rules = rulesIn(file)
    .join(' ')
    .replace(/ \(~gw:\{events\}.*/, '');
  const names = rules.split(' ').flatMap((rule) => /^\+([^)]+)/.exec(rule)?.[1] ?? []);
  return [...new Set(names)].toSorted();
}

/** Gives a server the user in the file, without what the server is too old for. @returns commands that it does not know */
export async function setUser(redis: Redis, file: 'users.acl' | 'sentinel-users.acl'): Promise<string[]> {
  const [, version = '0.0'] = /^redis_version:(\d+\.\d+)/m.exec(await redis.info('server')) ?? [];
  const tooNew = Number(version) < 7.2 ? newCommands : new Set<string>();
  const [, name = '', ...rules] = rulesIn(file);
  const known = rules
    .map((rule) => rule.replace('SHA256_OF_THE_PASSWORD', hash('sha256', password)))
    .filter((rule) => !tooNew.has(rule));
  const joined = known.join(' ').split(/ (?=\()/);
  await redis.call('ACL', 'SETUSER', name, 'reset', ...(joined[0] ?? '').split(' '), ...joined.slice(1));
  return [...tooNew].map((rule) => rule.slice(1));
}

/** Adds the name and the password of the user to the URL of a Redis. */
export function logIn(url: string): string {
  return url.replace('://', `://gateway:${password}@`);
}

/** As `logIn`, for Sentinels that have the same user. */
export function logInToSentinels(url: string): string {
  return `${logIn(url)}?sentinelUsername=gateway&sentinelPassword=${password}`;
}

/** Forgets which commands a server has executed. */
export async function resetCommandUse(redis: Redis): Promise<void> {
  await redis.config('RESETSTAT');
}

/** Names of the commands that a server has executed since, also in scripts; subcommands after a bar as in ACL rules. */
export async function readCommandUse(redis: Redis): Promise<string[]> {
  const stats = await redis.info('commandstats');
  return Array.from(
    stats.matchAll(/^cmdstat_([^:]+):calls=([1-9]\d*)/gm),
    ([, name = '']) => name,
  ).toSorted();
}
