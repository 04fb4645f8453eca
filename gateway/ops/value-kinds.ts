import type { Command } from 'commander';

/** What the values of an argument or an option are, so that a shell can complete them. */
export type ValueKind =
  'key-id' | 'customer-id' | 'plan' | 'plan-or-anonymous' | 'boolean' | 'file' | 'audit-action';

/** By the name in the usage, such as `<id>`: use the same names in new commands. */
const kindsByName = new Map<string, ValueKind>([
  ['id', 'key-id'],
  ['target', 'key-id'],
  ['customer', 'customer-id'],
  ['plan', 'plan'],
  ['action', 'audit-action'],
  ['boolean', 'boolean'],
  ['file', 'file'],
]);

/**
 * @param usage an argument as commander describes it, such as `id`, or the flags of an option, such as `--plan <plan>`
 * @returns undefined for anything else, such as a number or the name of a customer
 */
export function valueKind(command: Command, usage: string): ValueKind | undefined {
  const [, name = ''] = /[<[]([^\]>.]+)/.exec(usage) ?? [];
  const isOfPlans = command.parent?.name() === 'plans';
  if (isOfPlans && (name === 'name' || name === 'plan')) return 'plan-or-anonymous';
  return kindsByName.get(name);
}
