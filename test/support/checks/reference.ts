import type { Registry } from '@prometheus-io/client';
import type { Command } from 'commander';
import { z } from 'zod';
import {
  errorCodes as gatewayCodes,
  GatewayError,
  type ErrorCode as GatewayCode,
} from '../../../gateway/errors.ts';
import { program } from '../../../gateway/faces/command/program.ts';
import { settings as gatewaySettings } from '../../../gateway/platform/config/config.ts';
import { createMetrics } from '../../../gateway/platform/observability/metrics.ts';
import { wholeSettings } from '../../../gateway/quota/default-settings.ts';
import { apiFileSchema, serviceFileSchema } from '../../../gateway/upstream/services-file-schema.ts';
import { settings as petsSettings } from '../../../pets-service/config.ts';
import {
  errorCodes as petsCodes,
  PetsError,
  type ErrorCode as PetsCode,
} from '../../../pets-service/errors.ts';
import { createMetrics as createPetsMetrics } from '../../../pets-service/observability.ts';

const code = (text: string) => `\`${text}\``;

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', String.raw`\|`)).join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n');
}

/** @throws if there is no description, so that whoever adds a schema gives it one */
function meaningOf(name: string, schema: z.core.$ZodType): string {
  const inner = schema instanceof z.ZodOptional ? schema.unwrap() : schema;
  const description = z.globalRegistry.get(schema)?.description ?? z.globalRegistry.get(inner)?.description;
  if (description === undefined) throw new Error(`${name} has no description`);
  return description;
}

function environmentVariables(shape: Record<string, z.ZodType>): string {
  const defaultOf = (schema: z.ZodType) => {
    const { data } = schema.safeParse(undefined);
    return ['string', 'number', 'boolean'].includes(typeof data) ? code(String(data)) : '';
  };
  return table(
    ['variable', 'default', 'meaning'],
    Object.entries(shape).map(([name, schema]) => [code(name), defaultOf(schema), meaningOf(name, schema)]),
  );
}

const fields = (shape: Record<string, z.core.$ZodType>) =>
  table(
    ['field', 'meaning'],
    Object.entries(shape).map(([name, schema]) => [code(name), meaningOf(name, schema)]),
  );

/** Options that every command has, or every changing one. */
const commonOptions = new Set(['--json', '--output', '--reason', '--as']);

function commandRows(command: Command, words: readonly string[] = []): string[][] {
  return command.commands.flatMap((child) => {
    const path = [...words, child.name()];
    if (child.name() === 'help') return [];
    if (child.commands.length > 0) return commandRows(child, path);
    const given = child.usage().replace('[options]', '').trim();
    const options = child.options.flatMap(({ long }) =>
      long === undefined || commonOptions.has(long) ? [] : [code(long)],
    );
    return [[code([...path, given].join(' ').trim()), child.description(), options.join(' ')]];
  });
}

function metrics(registry: Registry, prefix: string): string {
  const rows = registry.getMetricsAsArray().flatMap((metric) => {
    const { name, help } = metric;
    const labels = 'labelNames' in metric && Array.isArray(metric.labelNames) ? metric.labelNames : [];
    return name.startsWith(prefix) ? [[code(name), labels.join(', '), help]] : [];
  });
  return table(['metric', 'labels', 'counts or measures'], rows);
}

function errors(): string {
  const of = (codes: readonly string[], create: (name: string) => GatewayError | PetsError) =>
    codes.map((name): [string, GatewayError | PetsError] => [name, create(name)]);
  const all = new Map([
    ...of(petsCodes, (name) => new PetsError(name as PetsCode)),
    ...of(gatewayCodes, (name) => new GatewayError(name as GatewayCode)),
  ]);
  return table(
    ['code', 'status', 'message'],
    Array.from(all.values(), (error) => [code(error.code), String(error.status), error.message]),
  );
}

/** gateway/REFERENCE.md, made from the sources: `npm run describe` writes it. */
export function describeReference(): string {
  const petsOnly = Object.entries(petsSettings.shape).filter(([name]) => !(name in gatewaySettings.shape));
  const policies = wholeSettings.flatMap(({ name, values, defaults }) =>
    Object.entries(values.shape).map(([field, schema]) => [
      code(`${name}.${field}`),
      code(String(new Map(Object.entries(defaults)).get(field))),
      meaningOf(field, schema),
    ]),
  );
  const sections: [string, ...string[]][] = [
    [
      '# Reference',
      'For those who look something up. Made from the sources by `npm run describe`: change it there.',
    ],
    [
      '## Settings',
      'Environment variables, all optional. An empty one counts as unset. A service reports all of its invalid ones at startup, and exits.',
      environmentVariables({ ...gatewaySettings.shape, ...Object.fromEntries(petsOnly) }),
    ],
    [
      '## Services file',
      '`SERVICES_FILE` names it ([how to write one](upstream/README.md)). An entry of `services` has these fields:',
      fields(serviceFileSchema.shape),
      'The section `api` has these, all optional:',
      fields(apiFileSchema.shape),
    ],
    [
      '## Limits and policies',
      'In Redis, changed while gateways run with `plans set`, `policy set` or a file of `plans export`. Plans have limits of each window.',
      table(['setting', 'default', 'meaning'], policies),
    ],
    [
      '## Commands',
      'After `npm run --silent ops --`. Each has `--help` with examples, and `--json` or `--output`; each that changes something has `--reason` and `--as`.',
      table(['command', 'does', 'options'], commandRows(program)),
    ],
    [
      '## Metrics',
      'On `/metrics` of a gateway, for all of its workers. `process_*` and `nodejs_*` describe the processes.',
      metrics(createMetrics().registry, 'gateway_'),
      'On `/metrics` of the pets service:',
      metrics(createPetsMetrics().registry, 'pets_'),
    ],
    [
      '## Routes',
      "Those of the operators' API: [faces/api/openapi.yaml](faces/api/openapi.yaml), `/api/openapi.json` of the admin port. Those of the API itself: `/openapi.json` of a gateway, a page at `/docs/reference`.",
    ],
    [
      '## Error codes',
      'The body of every error is `{"code", "message", "status"}`. The guide under `/docs` says what a client can do about each.',
      errors(),
    ],
  ];
  return `${sections.flat().join('\n\n')}\n`;
}

if (import.meta.main) process.stdout.write(describeReference());
