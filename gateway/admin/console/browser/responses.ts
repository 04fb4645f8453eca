/** Responses of the API, as its schemas declare them. Only types: a browser loads none of that code. */
import type { z } from 'zod';
import type { Changed } from '../../../browser/responses.ts';
import type { banSchema } from '../../../operations/ban-operations.ts';
import type { portalLinkSchema } from '../../../operations/customer-operations.ts';
import type { issuedKeySchema, keyPlanSchema } from '../../../operations/key-operations.ts';
import type { KeyDetail } from '../../../operations/key-view.ts';
import type { SettingState } from '../../../operations/settings.ts';
import type { eventTypeSchema, WebhookWithSecret as NewWebhook } from '../../../operations/webhooks.ts';
import type { entrySchema } from '../../api/audit.ts';
import type { planDetailSchema, planSchema, plansSchema } from '../../api/plan-view.ts';
import type { planPreviewSchema } from '../../api/plans.ts';
import type { sessionSchema } from '../../api/session.ts';
import type { listedSessionSchema } from '../../api/sessions.ts';
import type { adjustmentSchema } from '../../api/usage-adjustment.ts';

export type { Changed, Page } from '../../../browser/responses.ts';
export type { BanView, KeyDetail, KeyRow } from '../../../operations/key-view.ts';
export type { KeyPage as KeyList } from '../../../operations/key-list.ts';
export type { CustomerDetail, CustomerView as CustomerRow } from '../../../operations/customers.ts';
export type { LimitInForce } from '../../../operations/limits-in-force.ts';
export type { NextRequest } from '../../../operations/next-request.ts';
export type { Failure } from '../../../quota/failures.ts';
export type { SettingState } from '../../../operations/settings.ts';
export type { ListedApiToken as ApiToken } from '../../../operations/api-tokens.ts';
export type { TrafficPoint } from '../../../operations/traffic.ts';
export type { Delivery } from '../../../events/webhook-status.ts';
export type { WebhookView as WebhookRow } from '../../../operations/webhooks.ts';
export type { DayUsage } from '../../../quota/usage-days.ts';
export type { MonthUsage } from '../../../operations/usage-months.ts';
export type { BanPolicy } from '../../../quota/ban-policy.ts';
export type { LiveState } from '../../live-state.ts';
export type { Problem, ProblemLink } from '../../../operations/problems/problem.ts';

export type ChangedKey = Changed<KeyDetail>;
export type EventTypeRow = z.infer<typeof eventTypeSchema>;
export type WebhookWithSecret = Changed<NewWebhook>;
export type AuditEntry = z.infer<typeof entrySchema>;
export type Ban = z.infer<typeof banSchema>;
export type IssuedKey = Changed<z.infer<typeof issuedKeySchema>>;
export type PortalLink = Changed<z.infer<typeof portalLinkSchema>>;
export type KeyPlan = z.infer<typeof keyPlanSchema>;
export type Plans = z.infer<typeof plansSchema>;
export type Plan = z.infer<typeof planSchema>;
export type PlanDetail = z.infer<typeof planDetailSchema>;
export type PlanPreview = z.infer<typeof planPreviewSchema>;
export type Session = z.infer<typeof sessionSchema>;
export type ListedSession = z.infer<typeof listedSessionSchema>;
/** `adjustment`: of the record of use only. */
export type NumberSettingState = SettingState<Record<string, number>> & {
  adjustment?: z.infer<typeof adjustmentSchema>;
};
