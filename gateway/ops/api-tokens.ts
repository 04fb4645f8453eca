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
import { confirm, yesOption } from './confirm.ts';
import { fieldLayout, listing } from './list-output.ts';
import { asOption, jsonOption, nameArgument, timeAheadArgument, type ChangeOptions } from './options.ts';
import { printFields, printJson } from './output.ts';
import { withChanges } from './redis-session.ts';
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

interface IssueOptions extends ChangeOptions {
  scopes?: ApiScope[];
  expires?: Date;
  name?: string;
}

function issueCommand(): Command {
  return new Command('issue')
    .description('issue a token; it is shown once and not stored')
    .option(
      '--scopes <scopes>',
      `what the token permits, of: ${apiScopes.join(', ')}; a scope to write permits to read as well`,
      apiScopesArgument,
    )
    .option('--expires <time>', 'ISO 8601 time, or a duration such as 90d; a year at most', timeAheadArgument)
    .option('--name <name>', 'name of the program, for the audit log', nameArgument)
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async ({ name, as, json, ...given }: IssueOptions, command: Command) => {
      const scopes = required(given.scopes, '--scopes <scopes>', command);
      const expiresAt = required(given.expires, '--expires <time>', command);
      const wanted = { name: name ?? null, scopes, expiresAt };
      const issued = await withChanges(as, (session) => issueApiToken(session, wanted));
      if (json) printJson(issued);
      else printFields(issued);
    });
}

function revokeCommand(): Command {
  return new Command('revoke')
    .description('refuse a token for good, from its next request on')
    .argument('<token>', 'id of a token, not the token itself', tokenIdArgument)
    .addOption(yesOption())
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (id: string, { yes, as, json }: ChangeOptions & { yes?: true }) => {
      await confirm(`Revoke the token ${id}?`, yes);
      const revoked = await withChanges(as, (session) => revokeApiToken(session, id));
      if (json) printJson(revoked);
      else process.stdout.write(`revoked ${id}${revoked.name === null ? '' : `, ${revoked.name}`}\n`);
    });
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
