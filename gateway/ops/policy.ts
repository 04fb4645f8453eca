import { isDeepStrictEqual } from 'node:util';
import { Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { describeValues, retentionField } from '../limits/setting-fields.ts';
import { readEnforcedValues } from '../operations/enforced-values.ts';
import { ignoreInvalid, InvalidOperation } from '../operations/invalid-operation.ts';
import type { Session } from '../operations/session.ts';
import { setSetting, showSetting } from '../operations/settings.ts';
import { banPolicySetting, type BanPolicy } from '../quota/ban-policy.ts';
import { usageSetting } from '../quota/usage-policy.ts';
import { valueOf } from '../redis/define-setting.ts';
import { textFields } from '../redis/enforced-settings.ts';
import { changing } from './changing.ts';
import { countArgument, jsonOption, type JsonOption } from './options.ts';
import { printError, printFields, printJson, printResult } from './output.ts';
import { withRedis } from './redis-session.ts';

export function policyCommand(): Command {
  return new Command('policy')
    .description('conditions and length of bans, and how long use is kept')
    .addCommand(showCommand())
    .addCommand(setCommand());
}

function showCommand(): Command {
  return new Command('show')
    .description('the ban policy, and for how many days use is kept')
    .addOption(jsonOption())
    .action(async ({ json }: JsonOption) => {
      const { policy, problem, enforced, retention } = await withRedis(async (session) => ({
        ...(await readPolicy(session)),
        retention: await ignoreInvalid(showSetting(session, usageSetting)),
      }));
      const shown = { ...policy, ...retention };
      if (json) printJson({ ...shown, ...(enforced.length > 0 ? { enforced } : {}) });
      else printFields({ ...textFields(shown), ...describeEnforced(enforced) });
      if (problem !== undefined) printError(`warning: ${problem}`);
      if (retention === undefined)
        printError(`warning: no valid ${usageSetting.title}; ${usageSetting.advice}`);
    });
}

interface ShownPolicy {
  /** Undefined if none is set, or it is invalid. */
  policy?: BanPolicy;
  problem?: string;
  /** What running gateways enforce, if that is not what is set: each different policy once. */
  enforced: BanPolicy[];
}

/** @throws InvalidOperation if none is set or it is invalid, and no gateway runs */
async function readPolicy(session: Session): Promise<ShownPolicy> {
  const values = (await readEnforcedValues(session)).of(banPolicySetting.key);
  const enforced = values.flatMap((fields) => banPolicySetting.fields.safeParse(fields).data ?? []);
  try {
    const policy = await showSetting(session, banPolicySetting);
    return { policy, enforced: enforced.every((other) => isDeepStrictEqual(other, policy)) ? [] : enforced };
  } catch (error) {
    if (!(error instanceof InvalidOperation) || enforced.length === 0) throw error;
    return { problem: error.message, enforced };
  }
}

function describeEnforced(policies: readonly BanPolicy[]): Record<string, string> {
  if (policies.length === 0) return {};
  return { 'enforced by gateways': policies.map(describeValues).join(' or ') };
}

function setCommand(): Command {
  const { shape } = banPolicySetting.values;
  const command = addSettingOptions(new Command('set'), shape)
    .description('change the ban policy, or how long use is kept; in force on all gateways within a second')
    .option(
      '--retention-days <n>',
      'days for which use is kept from now on',
      countArgument(retentionField.max),
    );
  return changing(
    command,
    () => {
      const { retentionDays } = command.opts<{ retentionDays?: number }>();
      const given = Object.entries(command.opts()).filter(([field]) => Object.hasOwn(shape, field));
      if (given.length === 0 && retentionDays === undefined)
        command.error('error: nothing to set: see --help');
      return async (session) => ({
        ...(given.length > 0 &&
          (await setSetting(session, banPolicySetting, Object.fromEntries(given))).after),
        ...(retentionDays !== undefined &&
          (await setSetting(session, usageSetting, { retentionDays })).after),
      });
    },
    (after, json) => printResult(json ? after : textFields(after), json),
  );
}

/** Adds an option for each field of a setting, such as --grace-seconds for graceSeconds. */
function addSettingOptions(command: Command, shape: Readonly<Record<string, z.ZodType>>): Command {
  for (const [field, schema] of Object.entries(shape)) {
    const name = field.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    const kind = schema instanceof z.ZodBoolean ? 'boolean' : 'n';
    command.option(`--${name} <${kind}>`, schema.description ?? '', (text) => {
      const parsed = schema.safeParse(valueOf(text, schema));
      if (parsed.success) return parsed.data;
      throw new InvalidArgumentError(`${field} ${parsed.error.issues[0]?.message}.`);
    });
  }
  return command;
}
