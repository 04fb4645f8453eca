import { userInfo } from 'node:os';

/** Name of the user of the operating system, for the audit log. */
export function osUser(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run under a user id without a name.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
