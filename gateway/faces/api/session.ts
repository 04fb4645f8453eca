import { readVersion } from '#runtime/version.ts';
import { z } from 'zod';
import {
  consoleRoles,
  createConsoleSessions,
  findConsoleCode,
  redeemConsoleCode,
  sessionMs,
  type ConsoleSession,
} from '../../control/access/console-sessions.ts';
import type { ConsoleAccess } from './access/console-access.ts';
import type { RouteApi } from './route.ts';
import { createSessions, sessionFields, type Sessions } from './sessions.ts';

export const sessionSchema = z
  .object({
    name: z.string().describe('Name in the audit log'),
    role: z.enum(consoleRoles),
    ...sessionFields,
    version: z.string().describe('Version of the gateway'),
  })
  .meta({ id: 'Session' });

const version = readVersion();

export function createConsoleSignIn(
  access: ConsoleAccess,
  { read, change }: Pick<RouteApi, 'read' | 'change'>,
): Sessions {
  return createSessions<Pick<ConsoleSession, 'name'>, ConsoleSession>({
    access,
    lifetimeMs: sessionMs,
    find: (code) => read((session) => findConsoleCode(session, code)),
    idOf: ({ name }) => name,
    describeConflict: (signedIn, { name }) =>
      `This browser is signed in as ${signedIn.name}, and the link is for ${name}.`,
    begin: (code, replaced) => read((session) => redeemConsoleCode(session, code, replaced)),
    async end(req, { session }) {
      await change(req, (redis) => createConsoleSessions(redis).end(session.id));
    },
    view: ({ name, role, expiresAt }) => ({ name, role, expiresAt, version }),
    refuse: access.refuseSecret,
  });
}
