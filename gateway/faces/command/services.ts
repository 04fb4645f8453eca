import { basename, resolve } from 'node:path';
import { Command } from 'commander';
import { OperationFailure } from '../../control/invalid-operation.ts';
import { loadConfig } from '../../platform/config/config.ts';
import { YamlFileError } from '../../platform/config/yaml-file.ts';
import { readServicesFile, type LoadedServices } from '../../upstream/load-services.ts';
import { jsonOption, type JsonOption } from './options.ts';
import { print, printError, printJson } from './output.ts';

export function servicesCheckCommand(): Command {
  return new Command('check')
    .description(
      'what a gateway would refuse of a services file and its descriptions; exit code 1 if anything',
    )
    .argument('<file>', 'YAML file that SERVICES_FILE names')
    .addOption(jsonOption())
    .action(async (file: string, { json }: JsonOption) => {
      const found = check(file).services.map(
        ({ name, audience, urls, timeoutMs, connections, maxBodyBytes, readiness, description, paths }) => ({
          name,
          description: description?.file ?? null,
          paths,
          urls,
          audience,
          timeoutMs,
          connections,
          maxBodyBytes,
          readiness,
        }),
      );
      if (json) return printJson({ services: found });
      const list = found.map(({ name, urls }) => `${name} at ${urls.join(', ')}`).join('; ');
      return print(`${basename(file)} is valid: ${list}\n`);
    });
}

/** Prints a line for everything that is wrong but the last. @throws OperationFailure with that one */
function check(file: string): LoadedServices {
  try {
    return readServicesFile(resolve(file), loadConfig(process.env));
  } catch (error) {
    if (!(error instanceof YamlFileError)) throw error;
    for (const issue of error.issues.slice(0, -1)) printError(issue);
    throw new OperationFailure(error.issues.at(-1));
  }
}
