/** Responses of the API, as its schemas declare them. Only types: a browser loads none of that code. */
import type { z } from 'zod';
import type { listedSessionSchema } from '../../../control/access/access-operations.ts';
import type { entrySchema } from '../../../control/audit/audit-operations.ts';
import type { keyPlanSchema } from '../../../control/keys/key-operations.ts';
import type { planPreviewSchema } from '../../../control/plans/plan-operations.ts';
import type { ChangedPlan as PlanChange } from '../../../control/plans/plans.ts';
import type { sessionSchema } from '../../api/session.ts';
import type { Changed } from '../../browser/request.ts';

export type { Changed, Page } from '../../browser/request.ts';
export type { ActiveBan as Ban } from '../../../control/bans/bans.ts';
export type { KeyDetail, KeyRow } from '../../../control/keys/key-view.ts';
export type { CustomerDetail, CustomerRow } from '../../../control/customers/find-customers.ts';
export type { Plan } from '../../../control/plans/plans.ts';
export type { Failure } from '../../../quota/failures.ts';
export type { PolicyState } from '../../../control/plans/policy-operations.ts';
export type { ListedApiToken as ApiToken } from '../../../control/access/api-tokens.ts';
export type { TrafficPoint } from '../../../control/usage/traffic.ts';
export type { Delivery } from '../../../control/webhooks/stored-webhooks.ts';
export type { WebhookView as WebhookRow } from '../../../control/webhooks/webhooks.ts';
export type { DayUsage } from '../../../quota/usage.ts';
export type { MonthUsage } from '../../../control/usage/usage-months.ts';
export type { LiveState } from '../../../control/status/live-state.ts';
export type { Problem, ProblemLink } from '../../../control/status/problem.ts';

export type AuditEntry = z.infer<typeof entrySchema>;
export type KeyPlan = z.infer<typeof keyPlanSchema>;
export type ChangedPlan = Changed<PlanChange>;
export type PlanPreview = z.infer<typeof planPreviewSchema>;
export type Session = z.infer<typeof sessionSchema>;
export type ListedSession = z.infer<typeof listedSessionSchema>;
