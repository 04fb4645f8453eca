import type { Operation } from '../operation.ts';

/** Actions of the audit log that are no operation, with what somebody did in words, before what it was done to. */
const otherVerbs = {
  'console.link': 'made a link to the console for',
  'console.sign_in': 'signed in',
  'keys.import': 'imported keys:',
  'plans.seed': 'set the default of the plan',
  'policy.seed': 'set the default of the ban policy:',
  'portal.end': 'ended the portal sessions of',
  'portal.sign_in': 'entered the portal:',
  'tokens.issue': 'issued an internal token for',
  'usage.seed': 'set the default retention of use:',
};

/** Verbs by the actions of the audit log. */
export type AuditVerbs = ReadonlyMap<string, string>;

/** All actions of the audit log, by name. */
export const auditVerbsOf = (operations: readonly Operation[]): AuditVerbs =>
  new Map(
    [...Object.entries(otherVerbs), ...operations.flatMap(actionsOf)].toSorted(([one], [other]) =>
      one.localeCompare(other),
    ),
  );

function actionsOf(operation: Operation): [action: string, verb: string][] {
  const { audits = {}, command } = operation.kind === 'change' ? operation : {};
  if (typeof audits === 'object') return Object.entries(audits);
  if (command === undefined) throw new Error(`${operation.operationId} has to name its action`);
  return [[command.usage.split(' ', 2).join('.'), audits]];
}

/** What the names of actions begin with: what they concern. */
export const groupsOf = (verbs: AuditVerbs) => [
  ...new Set([...verbs.keys()].map((action) => action.replace(/\..+/, ''))),
];
