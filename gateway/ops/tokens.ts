import { Command } from 'commander';
import { loadConfig } from '../config.ts';
import { issueServiceToken } from '../upstream/internal-token.ts';
import { findPrivateKey } from '../upstream/internal-token-keys.ts';
import { nameArgument, jsonOption, secondsArgument } from './options.ts';
import { writeFields, writeJson } from './output.ts';

const defaultTtlSeconds = 3600;

export function tokensCommand(): Command {
  const tokens = new Command('tokens').description(
    'tokens with which internal services call the pets service',
  );

  tokens
    .command('issue')
    .description('make a token for an internal service')
    .argument('<service>', 'who calls', nameArgument)
    .option('--ttl <seconds>', 'how long it is valid', secondsArgument, defaultTtlSeconds)
    .addOption(jsonOption())
    .action((service: string, { ttl, json }: { ttl: number; json?: true }) => {
      const { privateKeyFile, dataDirectory } = loadConfig(process.env);
      const privateKey = findPrivateKey(privateKeyFile, dataDirectory);
      const issued = {
        token: issueServiceToken(privateKey, service, ttl),
        service,
        expiresAt: new Date(Date.now() + ttl * 1000).toISOString(),
      };
      if (json) writeJson(issued);
      else writeFields(issued);
    });

  return tokens;
}
