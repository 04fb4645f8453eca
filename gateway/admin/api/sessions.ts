import type { Request } from 'express';
import { z } from 'zod';
import {
  consoleSessionId,
  createConsoleSessions,
  listedConsoleSessionSchema,
  type ConsoleSession,
} from '../../operations/console-sessions.ts';
import { listOf } from '../../operations/list-schemas.ts';
import { sessionOf } from '../access/caller.ts';
import { ApiError } from './api-error.ts';
import { changed } from './results.ts';
import { route } from './route.ts';

export const listedSessionSchema = listedConsoleSessionSchema
  .extend({ own: z.boolean().describe('Whether it is the session of this request') })
  .meta({ id: 'ListedSession' });

const endedSessions = changed(
  z.object({ ended: z.array(listedSessionSchema.pick({ id: true, name: true, role: true })) }),
);

/** People who are signed in to the console. */
export const sessionsRoutes = [
  route.get('/sessions', {
    operationId: 'listSessions',
    noun: null,
    summary: 'People who are signed in, oldest session first',
    responds: 'All sessions that have not expired',
    result: listOf(listedSessionSchema),
    handle: async ({ req }, { read }) => {
      const sessions = await read((session) => createConsoleSessions(session).list());
      const items = sessions.map((session) => Object.assign({}, session, { own: isOwn(req, session) }));
      return { items, next: null };
    },
  }),
  route.delete('/sessions', {
    operationId: 'endOtherSessions',
    noun: null,
    summary: 'Sign everybody out but the person who asks for it',
    responds: 'The sessions that have ended',
    result: endedSessions,
    handle: async ({ req }, { change }) => {
      const own = sessionOf(req);
      const { result, warnings } = await change(req, (session) =>
        createConsoleSessions(session).endAll({ except: own.id }),
      );
      return { ended: result.map(view), warnings };
    },
  }),
  route.delete('/sessions/:session', {
    operationId: 'endSessionOf',
    noun: null,
    summary: 'Sign a person out',
    responds: 'The session that has ended',
    result: endedSessions,
    handle: async ({ req, target }, { change }) => {
      if (!consoleSessionId.test(target)) {
        throw new ApiError('not_found', { message: 'No session has such an id.' });
      }
      const { result, warnings } = await change(req, (session) => createConsoleSessions(session).end(target));
      return { ended: [view(result)], warnings };
    },
  }),
];

const isOwn = (req: Request, { id }: ConsoleSession) => sessionOf(req).id === id;

const view = ({ id, name, role }: ConsoleSession) => ({ id, name, role });
