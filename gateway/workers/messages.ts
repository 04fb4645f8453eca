import type { Health } from '../admin/admin-app.ts';
import type { InstanceConfig } from '../instance.ts';
import type { MetricsSnapshot } from './merge-metrics.ts';
import type { CountEntry } from './shared-counters.ts';

/** What the primary says to a worker, over the channel between them. */
export type ToWorker =
  /** The first message. It takes the place of settings and files, so that all workers have the same ones for good. */
  | { type: 'start'; config: InstanceConfig; privateKeyPem: string }
  /** The last but for `cut_off`: finish what is in flight, then end. */
  | { type: 'drain'; delayMs: number }
  /** Do not wait for what is in flight any longer. */
  | { type: 'cut_off' }
  | { type: 'ask_metrics' }
  | { type: 'counts'; elsewhere: CountEntry[] };

/** What a worker says to the primary. */
export type FromWorker =
  | { type: 'listening'; port: number }
  /** Why it can't start. It ends after that. */
  | { type: 'failed'; reason: string }
  /** Every second: one that is not heard of hangs. */
  | { type: 'alive'; health: Health }
  | { type: 'metrics'; metrics: MetricsSnapshot }
  | { type: 'counts'; own: CountEntry[] };
