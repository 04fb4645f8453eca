import express, { Router, type Request, type Response } from 'express';
import { z } from 'zod';
import { redeemConsoleCode } from '../../operations/console-codes.ts';
import { createConsoleSessions, type BegunSession } from '../../operations/console-sessions.ts';
import { readVersion } from '../../runtime/version.ts';
import type { ConsoleAccess } from '../access/console-access.ts';
import { requestSession, setRequestSession, type RequestSession } from '../access/console-session.ts';
import { csrfTokenFor } from '../access/csrf-token.ts';
import type { ApiDependencies } from './api-dependencies.ts';
import { ApiError } from './api-error.ts';

const signIn = z.strictObject({ code: z.string().max(100) });
const maxBody = '1kb';

/** `/api/session`: sign in with the code of a link, who is signed in, sign out. */
export function sessionApi({ read, change }: ApiDependencies, access: ConsoleAccess): Router {
  const { cookie, wrongCodes, clientAddress, open, signedIn } = access;
  const version = readVersion();

  function sendSession(req: Request, res: Response): void {
    res.json(viewSession(requestSession(req), version));
  }

  /** @throws ApiError too_many_requests, invalid_code */
  async function redeem(code: string, address: string): Promise<BegunSession> {
    const charged = await wrongCodes.charge(address);
    if (!charged.allowed) {
      const retryAfter = String(charged.retryAfterSeconds);
      throw new ApiError('too_many_requests', {
        message: `Too many wrong codes. Try again in ${retryAfter} seconds.`,
        headers: { 'Retry-After': retryAfter },
      });
    }
    const begun = await read((session) => redeemConsoleCode(session, code));
    if (begun === undefined) throw new ApiError('invalid_code');
    await wrongCodes.refund(address);
    return begun;
  }

  return Router()
    .post('/session', ...open, express.json({ limit: maxBody }), async (req, res) => {
      const { code } = signIn.parse(req.body);
      const begun = await redeem(code, clientAddress(req));
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
