import { z } from 'zod';
import { apiScopes } from './api-scopes.ts';
import {
  apiTokenSchema,
  issueApiToken,
  listApiTokens,
  listedApiTokenSchema,
  revokeApiToken,
  type ApiToken,
} from './api-tokens.ts';
import { nameInput, timeInput } from './key-input.ts';
import { listOf } from './list-schemas.ts';
import { change, list } from './operation.ts';

/** Tokens of programs. No program may see or end those of others. */
export const apiTokenOperations = [
  list({
    operationId: 'listApiTokens',
    http: 'GET /tokens',
    command: {
      usage: 'api-tokens list',
      says: 'tokens that were not revoked, oldest first',
      examples: ['api-tokens list'],
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
    command: {
      usage: 'api-tokens revoke <token>',
      examples: ['api-tokens revoke token_5b1f0c9ad2e4'],
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
