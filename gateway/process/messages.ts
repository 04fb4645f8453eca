import type { Health } from '../control/status/service.ts';
import type { InstanceConfig } from '../platform/config/instance-config.ts';
import type { GatewayIdentity, ProcessStatus } from '../platform/observability/process-status.ts';
import type { MetricsSnapshot } from './merge-metrics.ts';

/** Messages of the primary to a worker. */
export type ToWorker =
  /** The first message. It replaces settings and files, so that all workers have the same ones. */
  | { type: 'start'; config: InstanceConfig; gateway: GatewayIdentity; privateKeyPem: string }
  /** Finish what is in flight, then exit. Only `force_close` follows. */
  | { type: 'drain'; delayMs: number }
  /** Stop waiting for what is in flight. */
  | { type: 'force_close' }
  | { type: 'send_metrics' };

/** Messages of a worker to the primary. */
export type FromWorker =
  | { type: 'listening'; port: number }
  /** Why the worker can't start. It exits after that. */
  | { type: 'failed'; reason: string }
  /** Sent every second: a worker without it hangs. */
  | { type: 'alive'; health: Health; statuses: ProcessStatus[] }
  | { type: 'metrics'; metrics: MetricsSnapshot };
