import type { LogRequest } from '#runtime/log.ts';
import type { RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { errorCodes, type GatewayError } from '../errors.ts';
import { shadowField, type PlanLimits } from '../limits/limits.ts';
import { anonymousWindow } from '../limits/setting-fields.ts';
import { windowNames } from '../limits/windows.ts';
import { addressGroup } from '../platform/http/addresses.ts';
import type { Metrics } from '../platform/observability/metrics.ts';
import type { FailureReports } from '../quota/failures.ts';
import { anonymousPlan, enterprisePlan } from '../quota/plan-settings.ts';
import type { ApiDescription } from '../upstream/api-description.ts';
import { clientAddress, isUpgrade } from './begin.ts';

interface RecordAccessDependencies {
  logRequest: LogRequest;
  metrics: Metrics;
  failures: Pick<FailureReports, 'add'>;
  api: Pick<ApiDescription, 'errorCodes'>;
}

/**
 * Logs and counts each request when its response is complete or cut off, and the quota decided. Never logs a key, a token
 * or a body.
 */
export function recordAccess(dependencies: RecordAccessDependencies): RequestHandler {
  const { logRequest, metrics, failures, api } = dependencies;
  return function recordAccess(req, res, next) {
    const startedAt = performance.now();
    const { method, socket } = req;
    // Requests of one connection are served one after another, so all further bytes belong to this response.
    const bytesBefore = socket.bytesWritten;
    let isRecorded = false;
    // A WebSocket lasts, so its handshake is what counts.
    if (isUpgrade(req, res.locals)) res.on('finish', recordOnce);
    res.on('close', recordOnce);
    next();

    function recordOnce(): void {
      if (isRecorded) return;
      isRecorded = true;
      const status = res.headersSent ? res.statusCode : clientClosedRequest;
      const durationMs = performance.now() - startedAt;
      const bytes = socket.bytesWritten - bytesBefore;
      const outcome = outcomeOf(res);
      const cutOff = res.writableFinished ? undefined : true;

      function record(): void {
        const { requestId, span, caller, endedKey, decision, upstreamMs, upstreamStatus } = res.locals;
        const { errorCode, serviceErrorCode = '', shadow, isEventStream } = res.locals;
        const { pattern: route = 'unmatched', service } = res.locals.route ?? {};
        const countedMethod = knownMethods.has(method) ? method : 'other';
        const key = caller ?? endedKey;
        // An event stream lasts as long as its client likes, which is no time that somebody waits.
        const seconds = isEventStream ? undefined : durationMs / 1000;
        metrics.requests.count(route, countedMethod, outcome, caller?.plan ?? 'none', seconds);
        if (service !== undefined && upstreamMs !== undefined && !isEventStream)
          metrics.upstreamSeconds.observe({ service: service.name }, upstreamMs / 1000);
        if (errorCode !== undefined) metrics.errors.inc({ code: errorCode });
        if (key !== undefined && status >= 400 && status !== clientClosedRequest) {
          const { id: keyId, customerId } = key;
          // Of a service, only a code that it describes: others might be of any number.
          const code = errorCode ?? (api.errorCodes.has(serviceErrorCode) ? serviceErrorCode : null);
          failures.add(customerId, { requestId, code, status, method: countedMethod, route, keyId });
        }
        logRequest({
          requestId,
          trace_id: span?.spanContext().traceId,
          method,
          route,
          upstreamService: service?.name,
          status,
          keyId: key?.id,
          address: addressGroup(clientAddress(req)),
          plan: caller?.plan,
          decision,
          shadow,
          code: errorCode,
          bytes,
          durationMs: round(durationMs),
          upstreamMs: upstreamMs === undefined ? undefined : round(upstreamMs),
          // If the response has arrived, its own status tells.
          upstreamStatus: cutOff && upstreamStatus,
          cutOff,
        });
      }

      // A client may leave while its request waits for the decision, which is made all the same.
      if (status === clientClosedRequest && res.locals.decision === undefined)
        res.locals.onDecision = () => {
          delete res.locals.onDecision;
          record();
        };
      else record();
    }
  };
}

/** Logs and counts the response to something that became no request. */
export function recordRawResponse(
  { log, metrics }: { log: Logger; metrics: Metrics },
  error: GatewayError,
  address: string,
  requestId: string,
): void {
  const { code, status } = error;
  metrics.requests.count('none', 'other', statusClass(status), 'none');
  metrics.errors.inc({ code });
  log.info({ requestId, status, code, address: addressGroup(address) }, 'malformed request');
}

/** nginx's status for a client that left before the response began. In logs and metrics only. */
const clientClosedRequest = 499;

/** Clients can invent methods, and the metric must not grow with them. */
const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Class of the status; or `aborted` by the client, or `cut_off` by the gateway because the upstream broke off. */
function outcomeOf(res: Response): string {
  if (res.writableFinished) return statusClass(res.statusCode);
  return res.locals.errorCode === undefined ? 'aborted' : 'cut_off';
}

function statusClass(status: number): string {
  return `${Math.floor(status / 100)}xx`;
}

function round(ms: number): number {
  return Math.round(ms * 100) / 100;
}

/**
 * Shows series at 0 that are known before their first event: Prometheus sees no increase in a series that begins at 1, so
 * an alert or a graph would miss the first ban of a gateway, or the first minute of an outage.
 */
export function showKnownSeries(metrics: Metrics, api: ApiDescription): void {
  for (const code of errorCodes) metrics.errors.inc({ code }, 0);
  for (const limit of ['total', 'address']) metrics.refusedConnections.inc({ limit }, 0);
  // The plan of requests without a valid key.
  metrics.requests.expect({ operations: api.operations, plan: 'none' });
  for (const service of api.services) metrics.upstreamSeconds.zero({ service });
  showKnownPlan(metrics, enterprisePlan);
}

/** Shows the limits in force of a plan, and what is counted of it. */
export function showPlanLimits(metrics: Metrics, plan: string, limits: PlanLimits): void {
  for (const window of windowNames) {
    const limit = limits[window];
    if (limit === undefined) metrics.planLimit.remove({ plan, window });
    else metrics.planLimit.set({ plan, window }, limit);
  }
  if (plan !== anonymousPlan) return showKnownPlan(metrics, plan, limits);
  metrics.quotaRefusals.inc({ plan, window: anonymousWindow }, 0);
  metrics.unauthenticatedRequests.inc({ plan }, 0);
}

/** The same for a plan that keys may have. */
function showKnownPlan(metrics: Metrics, plan: string, limits?: PlanLimits): void {
  metrics.requests.expect({ plan });
  for (const window of windowNames) {
    // Customers on enterprise may have a limit of any window.
    if (limits !== undefined && limits[window] === undefined) continue;
    for (const counter of [metrics.quotaRefusals, metrics.nearLimit]) {
      counter.inc({ plan, window }, 0);
    }
    if (limits?.[shadowField(window)] !== undefined) metrics.shadowRefusals.inc({ plan, window }, 0);
  }
  for (const counter of [metrics.bans, metrics.bannedRequests]) counter.inc({ plan }, 0);
}
