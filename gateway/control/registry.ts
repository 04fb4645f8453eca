import { apiTokenOperations, sessionOperations } from './access/access-operations.ts';
import { auditOperations } from './audit/audit-operations.ts';
import { banOperations } from './bans/ban-operations.ts';
import { customerOperations } from './customers/customer-operations.ts';
import { keyOperations } from './keys/key-operations.ts';
import type { Operation } from './operation.ts';
import { planOperations } from './plans/plan-operations.ts';
import { policyOperations } from './plans/policy-operations.ts';
import { usageOperations } from './usage/usage-operations.ts';
import { webhookOperations } from './webhooks/webhook-operations.ts';

/** What routes and commands are made from. */
export const operations: readonly Operation[] = [
  ...customerOperations,
  ...keyOperations,
  ...planOperations,
  ...banOperations,
  ...webhookOperations,
  ...policyOperations,
  ...usageOperations,
  ...auditOperations,
  ...apiTokenOperations,
  ...sessionOperations,
];
