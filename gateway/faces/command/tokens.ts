import { Command, Option } from 'commander';
import { loadConfig } from '../../platform/config/config.ts';
import { findPrivateKey, issueServiceToken, keyId } from '../../upstream/internal-token.ts';
import { petsServiceName } from '../../upstream/pets-service.ts';
import { asOption, durationArgument, jsonOption, nameArgument, type ChangeOptions } from './options.ts';
import { printResult } from './output.ts';
import { withChanges } from './redis-session.ts';

/** A day: internal services sign their own tokens, and a person can ask for another one. */
const maxTtlMs = 86_400_000;

interface IssueOptions extends ChangeOptions {
  /** Milliseconds. */
  ttl: number;
  audience: string;
}

export function tokensIssueCommand(): Command {
  return new Command('issue')
    .description('issue a token for a person or a script; services sign their own')
    .argument('<service>', 'name of the caller in the log of the service', nameArgument)
    .addOption(
      new Option('--ttl <duration>', 'lifetime, at most a day')
        .argParser(durationArgument({ max: maxTtlMs }))
        .default(3_600_000, '1h'),
    )
    .option('--audience <name>', 'service that accepts the token, by its audience', petsServiceName)
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (service: string, { ttl, audience, as, json }: IssueOptions) => {
      const { internalTokenPrivateKeyFile, dataDir } = loadConfig(process.env);
      const privateKey = findPrivateKey(internalTokenPrivateKeyFile, dataDir);
      const expiresAt = new Date(Date.now() + ttl).toISOString();
      const ttlSeconds = ttl / 1000;
      // Tokens are not stored and can't be revoked, so the audit log has to name who issued which.
      await withChanges(as, ({ audit }) =>
        audit({
          action: 'tokens.issue',
          target: service,
          before: null,
          after: {
            ...(audience === petsServiceName ? {} : { audience }),
            ttlSeconds,
            expiresAt,
            keyId: keyId(privateKey),
          },
        }),
      );
      printResult(
        { token: issueServiceToken(privateKey, service, ttlSeconds, audience), service, expiresAt },
        json,
      );
    });
}
