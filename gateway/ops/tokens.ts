import { Command } from 'commander';
import { loadConfig } from '../config/config.ts';
import { findPrivateKey } from '../upstream/internal-token-keys.ts';
import { issueServiceToken, keyId } from '../upstream/internal-token.ts';
import { asOption, jsonOption, nameArgument, secondsArgument, type ChangeOptions } from './options.ts';
import { writeFields, writeJson } from './output.ts';
import { withChanges } from './redis-connection.ts';

const defaultTtlSeconds = 3600;

interface IssueOptions extends ChangeOptions {
  ttl: number;
}

export function tokensCommand(): Command {
  const tokens = new Command('tokens').description(
    'tokens with which internal services call the pets service',
  );

  tokens
    .command('issue')
    .description('make a token for an internal service')
    .argument('<service>', 'who calls', nameArgument)
    .option('--ttl <seconds>', 'how long it is valid', secondsArgument, defaultTtlSeconds)
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (service: string, { ttl, as, json }: IssueOptions) => {
      const { privateKeyFile, dataDirectory } = loadConfig(process.env);
      const privateKey = findPrivateKey(privateKeyFile, dataDirectory);
      const expiresAt = new Date(Date.now() + ttl * 1000).toISOString();
      // Redis has no part in a token, but nobody can revoke one: it must be known who has made which.
      await withChanges(as, ({ audit }) =>
        audit({
          action: 'tokens.issue',
          target: service,
          before: null,
          after: { ttlSeconds: ttl, expiresAt, keyId: keyId(privateKey) },
        }),
      );
      const issued = { token: issueServiceToken(privateKey, service, ttl), service, expiresAt };
      if (json) writeJson(issued);
      else writeFields(issued);
    });

  return tokens;
}
