import {
  apiTokenId,
  apiTokenSchema,
  listApiTokens,
  listedApiTokenSchema,
  revokeApiToken,
} from '../../operations/api-tokens.ts';
import { ApiError } from './api-error.ts';
import { changed, listOf, withWarnings } from './results.ts';
import { route } from './route.ts';

/** Tokens of programs. No program may see or end those of others. */
export const tokensRoutes = [
  route.get('/tokens', {
    operationId: 'listApiTokens',
    summary: 'Tokens with which programs use this API, oldest first',
    description: '`ops api-tokens issue` issues one.',
    noun: null,
    responds: 'All tokens that were not revoked, also those that expired in the last month',
    result: listOf(listedApiTokenSchema),
    handle: async (_call, { read }) => ({ items: await read(listApiTokens), next: null }),
  }),
  route.delete('/tokens/:token', {
    operationId: 'revokeApiToken',
    summary: 'Refuse a token for good, from its next request on',
    noun: null,
    responds: 'The token that was revoked',
    result: changed(apiTokenSchema),
    handle: async ({ req, target }, { change }) => {
      if (!apiTokenId.test(target)) throw new ApiError('not_found', { message: 'No token has such an id.' });
      return withWarnings(await change(req, (session) => revokeApiToken(session, target)));
    },
  }),
];
