import { z } from 'zod';
import { InvalidOperation } from '../invalid-operation.ts';
import { nameInput, timeInput } from '../keys/key-input.ts';
import { listOf } from '../list-schemas.ts';
import { change, list } from '../operation.ts';
import type { Session } from '../session.ts';
import { apiScopes } from './api-scopes.ts';
import {
  apiTokenSchema,
  issueApiToken,
  listApiTokens,
  listedApiTokenSchema,
  revokeApiToken,
  type ApiToken,
} from './api-tokens.ts';
import { consoleSessionSchema, createConsoleSessions, type ConsoleSession } from './console-sessions.ts';

/** Tokens of programs. No program may see or end those of others. */
export const apiTokenOperations = [
  list({
    operationId: 'listApiTokens',
    http: 'GET /tokens',
    command: {
      usage: 'api-tokens list',
      says: 'tokens that were not revoked, oldest first',
      columns: {
        ID: 'id',
        NAME: 'name',
        SCOPES: 'scopes',
        STATE: 'state',
        CREATED: 'createdAt',
        BY: 'createdBy',
        'LAST USED': 'lastUsedAt',
        EXPIRES: 'expiresAt',
      },
    },
    summary: 'Tokens with which programs use this API, oldest first',
    description: '`ops api-tokens issue` issues one.',
    noun: null,
    responds: 'All tokens that were not revoked, also those that expired in the last month',
    result: listOf(listedApiTokenSchema),
    run: (session) => listApiTokens(session),
  }),
  change({
    operationId: 'issueApiToken',
    audits: 'issued the API token',
    command: {
      usage: 'api-tokens issue',
      examples: [
        'api-tokens issue --name billing --scopes customers:write,keys:write,links:write,usage:read --expires 90d',
      ],
      options: {
        scopes: {
          says: `what the token permits, of: ${apiScopes.join(', ')}; a scope to write permits to read as well`,
        },
        expiresAt: {
          flags: '--expires <time>',
          says: 'ISO 8601 time, or a duration such as 90d; a year at most',
          from: 'time',
        },
        name: { says: 'name of the program, for the audit log' },
      },
    },
    summary: 'Issue a token; it is shown once and not stored',
    input: z.strictObject({
      scopes: z.array(z.enum(apiScopes, `is not a list of scopes, of: ${apiScopes.join(', ')}`)).min(1),
      expiresAt: timeInput,
      name: nameInput.optional(),
    }),
    responds: 'The token',
    result: apiTokenSchema.extend({ token: z.string() }),
    run: (session, { input: { name = null, scopes, expiresAt } }) =>
      issueApiToken(session, { name, scopes: [...new Set(scopes)], expiresAt }),
  }),
  change({
    operationId: 'revokeApiToken',
    http: 'DELETE /tokens/:token',
    audits: 'revoked the API token',
    asks: {
      offer: 'Revoke…',
      tone: 'danger',
      heading: 'Revoke the token {name}?',
      text: 'The program is refused from its next request on, for good.',
      done: 'The token {name} is revoked.',
    },
    command: {
      usage: 'api-tokens revoke <token>',
      asks: (_session, id) => `Revoke the token ${id}?`,
      prints: ({ id, name }: ApiToken) => `revoked ${[id, name ?? []].flat().join(', ')}`,
    },
    summary: 'Refuse a token for good, from its next request on',
    noun: null,
    responds: 'The token that was revoked',
    result: apiTokenSchema,
    run: (session, { target }) => revokeApiToken(session, target),
  }),
];

export const listedSessionSchema = consoleSessionSchema
  .extend({ own: z.boolean().describe('Whether it is the session of this request') })
  .meta({ id: 'ListedSession' });

const endedSchema = z.object({
  ended: z.array(consoleSessionSchema.pick({ id: true, name: true, role: true })),
});
const ended = (sessions: readonly ConsoleSession[]) => ({
  ended: sessions.map(({ id, name, role }) => ({ id, name, role })),
});

/** Ends a session, or all. */
async function endSessions(session: Session, target: string) {
  const sessions = createConsoleSessions(session);
  return ended(target === everybody ? await sessions.endAll() : [await sessions.end(target)]);
}

const everybody = 'all';

/** People who are signed in to the console. */
export const sessionOperations = [
  list({
    operationId: 'listSessions',
    http: 'GET /sessions',
    command: {
      usage: 'sessions list',
      says: 'sessions, oldest first',
      columns: {
        ID: 'id',
        NAME: 'name',
        ROLE: 'role',
        CREATED: 'createdAt',
        EXPIRES: 'expiresAt',
        'GRANTED BY': 'grantedBy',
      },
    },
    noun: null,
    summary: 'People who are signed in, oldest session first',
    responds: 'All sessions that have not expired',
    result: listOf(listedSessionSchema),
    async run(session, { context: { sessionId } }) {
      const sessions = await createConsoleSessions(session).list();
      return sessions.map((listed) => Object.assign({}, listed, { own: listed.id === sessionId }));
    },
  }),
  change({
    operationId: 'endSessionOf',
    http: 'DELETE /sessions/:session',
    audits: { 'console.end': 'ended the session' },
    asks: {
      offer: 'End…',
      tone: 'danger',
      heading: 'End the session of {name}?',
      text: 'The browser is signed out at once. What is typed in it and not saved is lost.',
      done: '{name} is signed out.',
    },
    // It ends one or all; the route ends one.
    command: {
      usage: 'sessions end <session-or-all>',
      says: 'sign a person out at once, by the id of a session, or everybody: all',
      examples: ['sessions end console_5b1f0c9ad2e4', 'sessions end all'],
      asks: async (session, target) => {
        const sessions = await createConsoleSessions(session).list();
        if (target === everybody) return `End all ${sessions.length} sessions of the console?`;
        const found = sessions.find(({ id }) => id === target);
        if (found === undefined)
          throw new InvalidOperation(`there is no session ${target}; see: ops sessions list`);
        return `End the session of ${found.name} (${found.role})?`;
      },
      prints: ({ ended }) => `ended ${ended.length} ${ended.length === 1 ? 'session' : 'sessions'}`,
    },
    noun: null,
    summary: 'Sign a person out',
    responds: 'The session that has ended',
    result: endedSchema,
    run: (session, { target }) => endSessions(session, target),
  }),
];
