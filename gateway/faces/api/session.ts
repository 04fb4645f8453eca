import { readVersion } from '#runtime/version.ts';
import type { Request } from 'express';
import { z } from 'zod';
import { findConsolePerson, redeemConsoleCode } from '../../control/access/console-codes.ts';
import {
  consoleRoles,
  createConsoleSessions,
  type BegunSession,
} from '../../control/access/console-sessions.ts';
import { csrfTokenFor } from './access/page-access.ts';
import { ApiError } from './api-error.ts';
import { route, type Api } from './route.ts';

const signIn = z.strictObject({
  code: z.string().max(100).describe('Works once within five minutes'),
  replace: z
    .boolean()
    .default(false)
    .describe(
      'Whether to sign in though somebody else is signed in with the cookies of the request, which is a 409 otherwise. ' +
        'The sessions of these cookies end.',
    ),
});

export const sessionSchema = z
  .object({
    name: z.string().describe('Name in the audit log'),
    role: z.enum(consoleRoles),
    expiresAt: z.iso.datetime(),
    csrfToken: z.string(),
    version: z.string().describe('Version of the gateway'),
  })
  .meta({ id: 'Session' });

const version = readVersion();

/** Sign in with the code of a link, who is signed in, sign out. */
export const sessionRoutes = [
  route.post('/session', {
    operationId: 'beginSession',
    summary: 'Sign in with the code of a link',
    noun: null,
    access: 'open',
    input: signIn,
    responds: 'The session, whose cookie is set',
    result: sessionSchema,
    handle: async ({ req, res, input }, api) => {
      const begun = await redeem(req, input, api);
      const { createdAt, expiresAt } = begun.session;
      api.access.cookie.write(req, res, begun.token, Date.parse(expiresAt) - Date.parse(createdAt));
      return viewSession(begun);
    },
  }),
  route.get('/session', {
    operationId: 'getSession',
    summary: 'Who is signed in',
    noun: null,
    responds: 'The session of the cookie',
    result: sessionSchema,
    handle: ({ req }, { access }) => viewSession(access.sessionOf(req)),
  }),
  route.delete('/session', {
    operationId: 'endSession',
    summary: 'Sign out',
    noun: null,
    access: 'viewer',
    responds: 'The session is over',
    handle: async ({ req, res }, { change, access }) => {
      const { session, token } = access.sessionOf(req);
      await change(req, (redis) => createConsoleSessions(redis).end(session.id));
      access.forget(token);
      access.cookie.clear(req, res);
    },
  }),
];

/** @throws ApiError too_many_requests, invalid_code; conflict if the link would make somebody else of the person who is signed in */
async function redeem(
  req: Request,
  { code, replace }: z.infer<typeof signIn>,
  { read, access }: Api,
): Promise<BegunSession> {
  const person = await read((session) => findConsolePerson(session, code));
  if (person === undefined) return access.refuseSecret(req, 'invalid_code');
  const current = await access.findSessions(req);
  const others = current.map(({ session }) => session.name).filter((name) => name !== person.name);
  if (others.length > 0 && !replace) {
    throw new ApiError('conflict', {
      message: `This browser is signed in as ${others.join(', ')}, and the link is for ${person.name}.`,
    });
  }
  const replaced = current.map(({ session }) => session);
  const begun = await read((session) => redeemConsoleCode(session, code, replaced));
  for (const { token } of current) access.forget(token);
  return begun ?? access.refuseSecret(req, 'invalid_code');
}

function viewSession({ session, token }: BegunSession): z.infer<typeof sessionSchema> {
  const { name, role, expiresAt } = session;
  return { name, role, expiresAt, csrfToken: csrfTokenFor(token), version };
}
