import { apiTokenOperations, sessionOperations } from './access-operations.ts';
import { auditOperations } from './audit-operations.ts';
import { banOperations } from './ban-operations.ts';
import { customerOperations } from './customer-operations.ts';
import { keyOperations } from './key-operations.ts';
import type { Operation } from './operation.ts';
import { planOperations } from './plan-operations.ts';
import { settingOperations } from './setting-operations.ts';
import { usageOperations } from './usage-operations.ts';
import { webhookOperations } from './webhook-operations.ts';

/** What routes and commands are made from. */
export const operations: readonly Operation[] = [
  ...customerOperations,
  ...keyOperations,
  ...planOperations,
  ...banOperations,
  ...webhookOperations,
  ...settingOperations,
  ...usageOperations,
  ...auditOperations,
  ...apiTokenOperations,
  ...sessionOperations,
];
