import type { RedisUser } from '../../../gateway/operations/redis-commands.ts';
import { runProgram } from './service.ts';

/** A version without WAITAOF, so that the rules suit every server that tests run on. */
export const usersVersion = { major: 7, minor: 0 };

const passwords = {
  gateway: 'password-of-the-gateway',
  ops: 'password-of-the-ops-command',
  reader: 'password-of-the-reader-ada',
};
/** The Redis user of the reader ada. */
const nameOf = (role: RedisUser) => (role === 'reader' ? 'reader-ada' : role);

/** The rules that `ops redis-acl` prints for these users, as arguments of the command ACL. */
export async function redisAcl(...options: string[]): Promise<string[][]> {
  return printedRules(options, [passwords.gateway, passwords.ops]);
}

/** The same of `ops redis-acl readers ada`. */
export async function readersAcl(...options: string[]): Promise<string[][]> {
  return printedRules(['readers', 'ada', ...options], [passwords.reader]);
}

async function printedRules(args: readonly string[], input: readonly string[]): Promise<string[][]> {
  const { code, stdout, stderr } = await runProgram(
    ['gateway/ops/main.ts', 'redis-acl', ...args, '--redis-version', '7.0', '--passwords', 'stdin'],
    {},
    { input: `${input.join('\n')}\n` },
  );
  if (code !== 0) throw new Error(stderr);
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.split(' ').slice(1));
}

/** Adds the name and the password of a user to the URL of a Redis. */
export function logIn(role: RedisUser, url: string): string {
  return url.replace('://', `://${nameOf(role)}:${passwords[role]}@`);
}

/** As `logIn`, for Sentinels that have the same users. */
export function logInToSentinels(role: RedisUser, url: string): string {
  return `${logIn(role, url)}?sentinelUsername=${nameOf(role)}&sentinelPassword=${passwords[role]}`;
}
