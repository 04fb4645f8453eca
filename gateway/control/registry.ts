import { apiTokenOperations, sessionOperations } from './access/access-operations.ts';
import { auditOperations, groupsOf, type AuditVerbs } from './audit/audit-operations.ts';
import { banOperations } from './bans/ban-operations.ts';
import { customerOperations } from './customers/customer-operations.ts';
import { keyOperations } from './keys/key-operations.ts';
import type { Operation } from './operation.ts';
import { planOperations } from './plans/plan-operations.ts';
import { policyOperations } from './plans/policy-operations.ts';
import { usageOperations } from './usage/usage-operations.ts';
import { webhookOperations } from './webhooks/webhook-operations.ts';

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

function actionsOf(operation: Operation): [action: string, verb: string][] {
  const { audits = {}, command } = operation.kind === 'change' ? operation : {};
  if (typeof audits === 'object') return Object.entries(audits);
  if (command === undefined) throw new Error(`${operation.operationId} has to name its action`);
  return [[command.usage.split(' ', 2).join('.'), audits]];
}

const changing: readonly Operation[] = [
  ...customerOperations,
  ...banOperations,
  ...keyOperations,
  ...planOperations,
  ...webhookOperations,
  ...policyOperations,
  ...usageOperations,
  ...apiTokenOperations,
  ...sessionOperations,
];

/** All actions of the audit log, by name. */
export const auditVerbs: AuditVerbs = new Map(
  [...Object.entries(otherVerbs), ...changing.flatMap(actionsOf)].toSorted(([one], [other]) =>
    one.localeCompare(other),
  ),
);
export const auditGroups = groupsOf(auditVerbs);

/** What routes and commands are made from. */
export const operations: readonly Operation[] = [...changing, ...auditOperations(auditVerbs)];
