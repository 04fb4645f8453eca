import { readVersion } from '#runtime/version.ts';
import express, { Router, type Request, type Response } from 'express';
import { z } from 'zod';
import { findConsolePerson, redeemConsoleCode } from '../../operations/console-codes.ts';
import { createConsoleSessions, type BegunSession } from '../../operations/console-sessions.ts';
import type { ConsoleAccess } from '../access/console-access.ts';
import { requestSession, setRequestSession, type RequestSession } from '../access/console-session.ts';
import { csrfTokenFor } from '../access/csrf-token.ts';
import type { ApiDependencies } from './api-dependencies.ts';
import { ApiError } from './api-error.ts';

const signIn = z.strictObject({
  code: z.string().max(100),
  /** Whether the link is to sign in though somebody else is signed in. */
  replace: z.boolean().default(false),
});
const maxBody = '1kb';

/** `/api/session`: sign in with the code of a link, who is signed in, sign out. */
export function sessionApi({ read, change }: ApiDependencies, access: ConsoleAccess): Router {
  const { cookie, chargeWrongCode, findSessions, clientAddress, open, signedIn } = access;
  const version = readVersion();

  function sendSession(req: Request, res: Response): void {
    res.json(viewSession(requestSession(req), version));
  }

  /** @throws ApiError too_many_requests, invalid_code */
  async function refuseCode(req: Request): Promise<never> {
    const waitSeconds = await chargeWrongCode(clientAddress(req));
    if (waitSeconds === undefined) throw new ApiError('invalid_code');
    throw new ApiError('too_many_requests', {
      message: `Too many wrong codes. Try again in ${waitSeconds} seconds.`,
      headers: { 'Retry-After': String(waitSeconds) },
    });
  }

  /** @throws ApiError conflict if the link would make somebody else of the person who is signed in */
  async function redeem(req: Request): Promise<BegunSession> {
    const { code, replace } = signIn.parse(req.body);
    const person = await read((session) => findConsolePerson(session, code));
    if (person === undefined) return refuseCode(req);
    const current = await findSessions(req);
    const others = current.map(({ session }) => session.name).filter((name) => name !== person.name);
    if (others.length > 0 && !replace) {
      throw new ApiError('conflict', {
        message: `This browser is signed in as ${others.join(', ')}, and the link is for ${person.name}.`,
      });
    }
    const replaced = current.map(({ session }) => session);
    const begun = await read((session) => redeemConsoleCode(session, code, replaced));
    for (const { token } of current) access.forget(token);
    return begun ?? refuseCode(req);
  }

  return Router()
    .post('/session', ...open, express.json({ limit: maxBody }), async (req, res) => {
      const begun = await redeem(req);
      const { createdAt, expiresAt } = begun.session;
      cookie.write(req, res, begun.token, Date.parse(expiresAt) - Date.parse(createdAt));
      setRequestSession(req, begun);
      sendSession(req, res);
    })
    .get('/session', ...signedIn, sendSession)
    .delete('/session', ...signedIn, async (req, res) => {
      const { session, token } = requestSession(req);
      await change(req, (redis) => createConsoleSessions(redis).end(session.id));
      access.forget(token);
      cookie.clear(req, res);
      res.status(204).end();
    });
}

export function viewSession({ session, token }: RequestSession, version: string) {
  const { name, role, expiresAt } = session;
  return { name, role, expiresAt, csrfToken: csrfTokenFor(token), version };
}
