import { Command, InvalidArgumentError } from 'commander';
import { apiScopes, isApiScope, type ApiScope } from '../operations/api-scopes.ts';
import {
  apiTokenId,
  issueApiToken,
  listApiTokens,
  revokeApiToken,
  type ListedApiToken,
} from '../operations/api-tokens.ts';
import { InvalidOperation } from '../operations/invalid-operation.ts';
import { changing } from './changing.ts';
import { confirm, yesOption, type YesOption } from './confirm.ts';
import { fieldLayout, listing } from './list-output.ts';
import { nameArgument, timeAheadArgument } from './options.ts';
import { print, printJson } from './output.ts';
import { required } from './usage-error.ts';

const layout = fieldLayout<ListedApiToken>({
  ID: 'id',
  NAME: 'name',
  SCOPES: 'scopes',
  STATE: 'state',
  CREATED: 'createdAt',
  BY: 'createdBy',
  'LAST USED': 'lastUsedAt',
  EXPIRES: 'expiresAt',
});

export function apiTokensCommand(): Command {
  return new Command('api-tokens')
    .description("tokens with which programs use the operators' API, such as a billing system")
    .addCommand(issueCommand())
    .addCommand(
      listing(
        new Command('list').description('tokens that were not revoked, oldest first'),
        layout,
        listApiTokens,
      ),
    )
    .addCommand(revokeCommand());
}

interface IssueOptions {
  scopes?: ApiScope[];
  expires?: Date;
  name?: string;
}

function issueCommand(): Command {
  const command = new Command('issue')
    .description('issue a token; it is shown once and not stored')
    .option(
      '--scopes <scopes>',
      `what the token permits, of: ${apiScopes.join(', ')}; a scope to write permits to read as well`,
      apiScopesArgument,
    )
    .option('--expires <time>', 'ISO 8601 time, or a duration such as 90d; a year at most', timeAheadArgument)
    .option('--name <name>', 'name of the program, for the audit log', nameArgument);
  return changing(command, () => {
    const { name = null, ...given } = command.opts<IssueOptions>();
    const scopes = required(given.scopes, '--scopes <scopes>', command);
    const expiresAt = required(given.expires, '--expires <time>', command);
    return (session) => issueApiToken(session, { name, scopes, expiresAt });
  });
}

function revokeCommand(): Command {
  const command = new Command('revoke')
    .description('refuse a token for good, from its next request on')
    .argument('<token>', 'id of a token, not the token itself', tokenIdArgument)
    .addOption(yesOption());
  return changing(
    command,
    async (id) => {
      await confirm(`Revoke the token ${id}?`, command.opts<YesOption>().yes);
      return (session) => revokeApiToken(session, id);
    },
    (revoked, json) =>
      json ? printJson(revoked) : print(`revoked ${[revoked.id, revoked.name ?? []].flat().join(', ')}\n`),
  );
}

function apiScopesArgument(text: string): ApiScope[] {
  const scopes = [...new Set(text.split(/[, ]+/))];
  const known = scopes.filter(isApiScope);
  if (known.length === scopes.length) return known;
  throw new InvalidArgumentError(`It is not a list of scopes, of: ${apiScopes.join(', ')}.`);
}

/** @throws InvalidOperation for the token itself, which commander would repeat in its message */
function tokenIdArgument(text: string): string {
  if (apiTokenId.test(text)) return text;
  throw new InvalidOperation(
    'that is not the id of a token, such as token_5b1f0c9ad2e4; see: ops api-tokens list',
  );
}
