import type { Request, Response } from 'express';
import { z } from 'zod';
import { createRoutes, type Route } from '../api/route.ts';

const sessionSchema = z
  .object({
    customerId: z.string(),
    expiresAt: z.iso.datetime(),
    csrfToken: z.string().describe('For the header X-CSRF-Token of each change'),
    scopes: z.array(z.string()).describe('Scopes that a key can have'),
  })
  .meta({ id: 'Session' });

const enterSchema = z.strictObject({
  code: z.string().max(100).describe('Works once within five minutes'),
  replace: z
    .boolean()
    .default(false)
    .describe(
      'Whether to enter though the browser has a session of another customer, which is a 409 otherwise',
    ),
});

export type PortalSessionView = z.infer<typeof sessionSchema>;

/** What the routes of the session work with. */
export interface PortalSessionApi {
  begin(req: Request, res: Response, link: z.infer<typeof enterSchema>): Promise<PortalSessionView>;
  show(req: Request): PortalSessionView;
  end(req: Request, res: Response): Promise<void>;
}

const route = createRoutes<PortalSessionApi>();

/** Enter with the code of a link, who is signed in, leave. */
export const portalSessionRoutes: readonly Route<PortalSessionApi>[] = [
  route.post('/session', {
    operationId: 'beginSession',
    summary: 'Begin a session of an hour with the code of a link',
    access: 'open',
    input: enterSchema,
    responds: 'The session, whose cookie is set. The session that the browser had before ends.',
    result: sessionSchema,
    handle: ({ req, res, input }, { begin }) => begin(req, res, input),
  }),
  route.get('/session', {
    operationId: 'getSession',
    summary: 'Whose session it is',
    responds: 'The session of the cookie',
    result: sessionSchema,
    handle: ({ req }, { show }) => show(req),
  }),
  route.delete('/session', {
    operationId: 'endSession',
    summary: 'End the session',
    responds: 'The session is over',
    handle: ({ req, res }, { end }) => end(req, res),
  }),
];
