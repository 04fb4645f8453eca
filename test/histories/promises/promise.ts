import type { RecordedRequest } from '../history.ts';
import type { View } from '../view.ts';

export interface Finding {
  message: string;
  requests: readonly RecordedRequest[];
}

/** Finds all that contradicts a promise, in whatever order concurrent requests were decided. */
export type Find = (view: View) => readonly Finding[];

export const finding = (message: string, ...requests: readonly RecordedRequest[]): Finding => ({
  message,
  requests,
});

export const findingIf = (isBroken: boolean, ...shown: Parameters<typeof finding>): Finding[] =>
  isBroken ? [finding(...shown)] : [];
