import type { RedisUser } from '../../../gateway/operations/redis-commands.ts';
import { runProgram } from './service.ts';

/** A version without WAITAOF, so that the rules suit every server that tests run on. */
export const usersVersion = { major: 7, minor: 0 };

const passwords = { gateway: 'password-of-the-gateway', ops: 'password-of-the-ops-command' };

/** The rules that `ops redis-acl` prints for these users, as arguments of the command ACL. */
export async function redisAcl(...options: string[]): Promise<string[][]> {
  const { code, stdout, stderr } = await runProgram(
    ['gateway/ops/main.ts', 'redis-acl', '--redis-version', '7.0', '--passwords', 'stdin', ...options],
    {},
    { input: `${passwords.gateway}\n${passwords.ops}\n` },
  );
  if (code !== 0) throw new Error(stderr);
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.split(' ').slice(1));
}

/** Adds the name and the password of a user to the URL of a Redis. */
export function logIn(role: RedisUser, url: string): string {
  return url.replace('://', `://${role}:${passwords[role]}@`);
}

/** As `logIn`, for Sentinels that have the same users. */
export function logInToSentinels(role: RedisUser, url: string): string {
  return `${logIn(role, url)}?sentinelUsername=${role}&sentinelPassword=${passwords[role]}`;
}
