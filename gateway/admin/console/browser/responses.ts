/** Responses of the API, as the code that makes them declares them. Only types: a browser loads none of that code. */
import type { BlockView } from '../../../operations/address-block-store.ts';
import type { ActiveBan } from '../../../operations/ban-store.ts';
import type { KeyDetail } from '../../../operations/key-detail.ts';
import type { KeyPage } from '../../../operations/key-page.ts';
import type { NumberState } from '../../../operations/setting-states.ts';
import type { viewEntry } from '../../api/audit.ts';
import type { viewBan } from '../../api/bans.ts';
import type { issuedKey } from '../../api/issued-key.ts';
import type { viewKeyPlan } from '../../api/keys.ts';
import type { planEffect } from '../../api/plan-effect.ts';
import type { viewTrialReport } from '../../api/plan-trials.ts';
import type { viewPlans } from '../../api/plan-view.ts';
import type { viewPlanDetail } from '../../api/plans.ts';
import type { viewSession } from '../../api/session.ts';
import type { Adjustment } from '../../api/usage-retention.ts';

export type { BusyAddress } from '../../../operations/busiest-addresses.ts';
export type { BanPolicyState } from '../../../operations/setting-states.ts';
export type { BanView, KeyDetail } from '../../../operations/key-detail.ts';
export type { KeyRow } from '../../../operations/key-rows.ts';
export type { KeyEffect } from '../../../operations/key-effect.ts';
export type { WindowView } from '../../../operations/key-windows.ts';
export type { LimitInForce } from '../../../operations/limits-in-force.ts';
export type { NextRequest } from '../../../operations/next-request.ts';
export type { Refusals } from '../../../quota/refusals.ts';
export type { SettingState } from '../../../operations/setting-state.ts';
export type { Traffic, TrafficPoint } from '../../../operations/traffic.ts';
export type { DayUsage } from '../../../quota/usage-days.ts';
export type { PlanTrialReport } from '../../../operations/trial-report.ts';
export type { BanPolicy } from '../../../quota/ban-policy.ts';
export type { LivePoint } from '../../live/live-feed.ts';
export type { LiveState } from '../../live/live-state.ts';
export type { Problem, ProblemLink } from '../../../operations/problems/problem.ts';

/** Of a list, one page. */
export interface Page<T> {
  items: T[];
  next: string | null;
}

/** Of a change, with doubts whether it survives a failure of Redis. */
export type Changed<T = object> = T & { warnings: string[] };

export type ChangedKey = Changed<KeyDetail>;
export type KeyList = Omit<KeyPage, 'keys'> & Page<KeyPage['keys'][number]>;
export type AuditEntry = ReturnType<typeof viewEntry>;
export type Ban = ReturnType<typeof viewBan<ActiveBan>>;
export type { BlockView };
export type IssuedKey = Awaited<ReturnType<typeof issuedKey>>;
export type KeyPlan = ReturnType<typeof viewKeyPlan>;
export type Plans = Awaited<ReturnType<typeof viewPlans>>;
export type Plan = Plans['items'][number];
export type PlanDetail = Awaited<ReturnType<typeof viewPlanDetail>>;
export type PlanEffect = Awaited<ReturnType<typeof planEffect>>;
export type PlanTrial = ReturnType<typeof viewTrialReport>;
export type Session = ReturnType<typeof viewSession>;
/** `adjustment`: of the record of use only. */
export type NumberSettingState = NumberState<Record<string, number>> & { adjustment?: Adjustment | null };
