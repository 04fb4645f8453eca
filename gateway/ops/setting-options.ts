import { InvalidArgumentError, type Command } from 'commander';
import { z } from 'zod';
import { valueOf } from '../redis/define-setting.ts';

/** Adds an option for each field of a setting, such as --grace-seconds for graceSeconds. */
export function addSettingOptions(command: Command, shape: Readonly<Record<string, z.ZodType>>): Command {
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
