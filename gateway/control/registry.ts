import { apiTokenOperations, sessionOperations } from './access/access-operations.ts';
import { auditVerbsOf, groupsOf } from './audit/audit-actions.ts';
import { auditOperations } from './audit/audit-operations.ts';
import { banOperations } from './bans/ban-operations.ts';
import { customerOperations } from './customers/customer-operations.ts';
import { keyOperations } from './keys/key-operations.ts';
import type { Operation } from './operation.ts';
import { planOperations } from './plans/plan-operations.ts';
import { policyOperations } from './plans/policy-operations.ts';
import { usageOperations } from './usage/usage-operations.ts';
import { webhookOperations } from './webhooks/webhook-operations.ts';

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

export const auditVerbs = auditVerbsOf(changing);
export const auditGroups = groupsOf(auditVerbs);

/** What routes and commands are made from. */
export const operations: readonly Operation[] = [...changing, ...auditOperations(auditVerbs)];
