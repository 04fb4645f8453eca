import { apiTokenOperations } from './access-operations.ts';
import { banOperations } from './ban-operations.ts';
import { customerOperations } from './customer-operations.ts';
import { keyOperations } from './key-operations.ts';
import type { Operation } from './operation.ts';
import { webhookOperations } from './webhook-operations.ts';

/** What routes and commands are made from. */
export const operations: readonly Operation[] = [
  ...customerOperations,
  ...keyOperations,
  ...banOperations,
  ...webhookOperations,
  ...apiTokenOperations,
];
