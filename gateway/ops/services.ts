import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { errorMessage } from '#runtime/error-message.ts';
import { Command, InvalidArgumentError } from 'commander';
import { loadConfig } from '../config/config.ts';
import { origin } from '../config/env-schemas.ts';
import type { DescriptionText } from '../config/service-config.ts';
import { YamlFileError } from '../config/yaml-file.ts';
import { OperationFailure } from '../operations/invalid-operation.ts';
import { reloadServices, type GatewayReload } from '../operations/reload-services.ts';
import { checkConformance, type TestTokens } from '../services/conformance.ts';
import { readServicesFile, type LoadedServices } from '../services/load-services.ts';
import { findPrivateKey } from '../upstream/internal-token-keys.ts';
import { issueGatewayToken } from '../upstream/internal-token.ts';
import { changing } from './changing.ts';
import { jsonOption, type JsonOption } from './options.ts';
import { print, printable, printError, printJson } from './output.ts';
import { required } from './usage-error.ts';

export function servicesCommand(): Command {
  const services = new Command('services').description('the services behind the gateway');

  services
    .command('check')
    .description(
      'what a gateway would refuse of a services file and its descriptions; exit code 1 if anything',
    )
    .argument('<file>', 'YAML file that SERVICES_FILE names')
    .addOption(jsonOption())
    .action(async (file: string, { json }: JsonOption) => {
      const found = check(file).services.map(
        ({ name, audience, urls, timeoutMs, connections, readiness, description }) => ({
          name,
          description: description.file,
          urls,
          audience,
          timeoutMs,
          connections,
          readiness,
        }),
      );
      if (json) return printJson({ services: found });
      const list = found.map(({ name, urls }) => `${name} at ${urls.join(', ')}`).join('; ');
      return print(`${basename(file)} is valid: ${list}\n`);
    });

  services
    .command('test')
    .description(
      'what a running instance of a service breaks of the contract of a service; exit code 1 if anything',
    )
    .argument('<url>', 'origin of the instance, such as http://127.0.0.1:3003', originArgument)
    .option('--audience <name>', 'audience of the service in the services file')
    .option('--description <file>', 'OpenAPI file of the service, to compare its responses with')
    .option('--path <path>', 'path to try tokens with, if there is no description', '/v1')
    .option('--readiness <path>', 'path that says whether an instance is ready', '/readyz')
    .addOption(jsonOption())
    .action(async (url: string, options: TestOptions, command: Command) => {
      const { description, path, readiness, json } = options;
      const audience = required(options.audience, '--audience <name>', command);
      const checks = await checkConformance({
        origin: url,
        path,
        readiness,
        tokens: testTokens(audience),
        service:
          description === undefined ? undefined : { name: audience, description: readText(description) },
      }).catch(rethrow);
      const failed = checks.filter(({ problem }) => problem !== undefined);
      if (failed.length > 0) process.exitCode = 1;
      if (json) return printJson({ checks: checks.map(({ name, problem = null }) => ({ name, problem })) });
      const lines = checks.map(({ name, problem }) =>
        problem === undefined ? `ok      ${name}` : `FAILED  ${name}: ${problem}`,
      );
      return print(`${lines.join('\n')}\n${failed.length} of ${checks.length} checks failed\n`);
    });

  const reload = services
    .command('reload')
    .description(
      'have all gateways read their services file, its descriptions and secrets again; exit code 1 if one refuses',
    );
  changing(
    reload,
    () => reloadServices,
    (gateways, json) => {
      if (gateways.some(({ outcome }) => outcome !== 'reloaded')) process.exitCode = 1;
      if (json) return printJson({ gateways });
      return print(gateways.map((gateway) => `${printable(reloadText(gateway))}\n`).join(''));
    },
  );

  return services;
}

function reloadText({ host, adminAddress, outcome, revision, issues }: GatewayReload): string {
  const name = adminAddress === null ? host : `${host} (${adminAddress})`;
  switch (outcome) {
    case 'reloaded':
      return `${name} is reloaded: revision ${revision}`;
    case 'refused':
      return `${name} goes on with revision ${revision}: ${issues.join('; ')}`;
    case 'no_answer':
      return `${name} has not answered; see its log`;
  }
}

interface TestOptions extends JsonOption {
  audience?: string;
  description?: string;
  path: string;
  readiness: string;
}

function originArgument(text: string): string {
  const parsed = origin.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new InvalidArgumentError(`It ${parsed.error.issues[0]?.message}.`);
}

/** Tokens of the gateway's own key, which only this process and the service see. */
function testTokens(audience: string): TestTokens {
  const { privateKeyFile, dataDirectory } = loadConfig(process.env);
  const privateKey = findPrivateKey(privateKeyFile, dataDirectory);
  const contents = { audience, subject: 'conformance-test', lifetimeSeconds: 300 };
  const valid = issueGatewayToken(privateKey, contents);
  const { privateKey: otherKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const unsignedHeader = Buffer.from(JSON.stringify({ alg: 'none', typ: 'JWT' })).toString('base64url');
  return {
    valid,
    ofAnotherAudience: issueGatewayToken(privateKey, { ...contents, audience: `not-${audience}` }),
    expired: issueGatewayToken(privateKey, { ...contents, lifetimeSeconds: -3600 }),
    ofAnotherKey: issueGatewayToken(otherKey, contents),
    unsigned: `${unsignedHeader}.${valid.split('.')[1]}.`,
  };
}

/** @throws OperationFailure if it can't be read */
function readText(file: string): DescriptionText {
  try {
    return { file: basename(file), text: readFileSync(file, 'utf8') };
  } catch (error) {
    throw new OperationFailure(`can't read ${file}: ${errorMessage(error)}`);
  }
}

/** @throws OperationFailure with a line for everything that is wrong */
function check(file: string): LoadedServices {
  try {
    return readServicesFile(resolve(file), loadConfig(process.env));
  } catch (error) {
    return rethrow(error);
  }
}

/** Prints a line for everything that is wrong in a file but the last. @throws OperationFailure with that one */
function rethrow(error: unknown): never {
  if (!(error instanceof YamlFileError)) throw error;
  for (const issue of error.issues.slice(0, -1)) printError(issue);
  throw new OperationFailure(error.issues.at(-1));
}
