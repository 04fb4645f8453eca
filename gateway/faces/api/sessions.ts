import type { Request, Response } from 'express';
import { z } from 'zod';
import type { SignedIn } from '../../control/access/expiring-secrets.ts';
import { csrfTokenFor, type PageAccess } from './access/page-access.ts';
import { ApiError } from './api-error.ts';
import { route, type Route, type RouteApi } from './route.ts';

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

/** What an API says of every session. */
export const sessionFields = {
  expiresAt: z.iso.datetime(),
  csrfToken: z.string().describe('For the header X-CSRF-Token of each change'),
};

interface SessionKind<Subject, Session extends Subject> {
  access: Pick<PageAccess<Session>, 'cookie' | 'findSessions' | 'sessionOf'>;
  lifetimeMs: number;
  /** Finds whom a code is for, without using it up; undefined for a wrong one. */
  find(code: string): Promise<Subject | undefined>;
  idOf(subject: Subject): string;
  /** Says that a link would make somebody else of who is signed in. */
  describeConflict(signedIn: Subject, subject: Subject): string | Promise<string>;
  /** Exchanges a code for a session, in place of those of the browser. @returns undefined if it was used in the meantime */
  begin(code: string, replaced: readonly SignedIn<Session>[]): Promise<SignedIn<Session> | undefined>;
  end(req: Request, signedIn: SignedIn<Session>): Promise<void>;
  view(session: Session): object;
  refuse(req: Request, code: 'invalid_code'): Promise<never>;
}

export type Sessions = ReturnType<typeof createSessions>;

/** Sign in with the code of a link, who is signed in, sign out. */
export function createSessions<Subject, Session extends Subject>(kind: SessionKind<Subject, Session>) {
  const { access, idOf } = kind;
  const view = ({ session, token }: SignedIn<Session>) => ({
    ...kind.view(session),
    csrfToken: csrfTokenFor(token),
  });
  return {
    async begin(req: Request, res: Response): Promise<object> {
      const { code, replace } = signIn.parse(req.body);
      const subject = await kind.find(code);
      if (subject === undefined) return kind.refuse(req, 'invalid_code');
      const current = await access.findSessions(req);
      const other = current.find(({ session }) => idOf(session) !== idOf(subject));
      if (other !== undefined && !replace) {
        const message = await kind.describeConflict(other.session, subject);
        throw new ApiError('conflict', { message });
      }
      const begun = await kind.begin(code, current);
      if (begun === undefined) return kind.refuse(req, 'invalid_code');
      access.cookie.write(req, res, begun.token, kind.lifetimeMs);
      return view(begun);
    },
    show: (req: Request): object => view(access.sessionOf(req)),
    async end(req: Request, res: Response) {
      await kind.end(req, access.sessionOf(req));
      access.cookie.clear(req, res);
    },
  };
}

/** What the routes of an API with sessions work with. */
export interface SessionApi extends RouteApi {
  sessions: Sessions;
}

/** @param result what the API says of a session */
export function sessionRoutes(result: z.ZodType<object>): Route<SessionApi>[] {
  return [
    route({
      operationId: 'beginSession',
      http: 'POST /session',
      summary: 'Sign in with the code of a link',
      noun: null,
      access: 'open',
      input: signIn,
      responds: 'The session, whose cookie is set',
      result,
      handle: ({ req, res }, { sessions }) => sessions.begin(req, res),
    }),
    route({
      operationId: 'getSession',
      http: 'GET /session',
      summary: 'Who is signed in',
      noun: null,
      responds: 'The session of the cookie',
      result,
      handle: ({ req }, { sessions }) => sessions.show(req),
    }),
    route({
      operationId: 'endSession',
      http: 'DELETE /session',
      summary: 'Sign out',
      noun: null,
      access: 'viewer',
      responds: 'The session is over',
      handle: ({ req, res }, { sessions }) => sessions.end(req, res),
    }),
  ];
}
