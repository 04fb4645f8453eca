import { z } from 'zod';
import { thresholdsInput } from '../../operations/key-input.ts';
import { listPlanThresholds, setPlanThresholds } from '../../operations/thresholds.ts';
import { changed, listOf } from './results.ts';
import { route } from './route.ts';

const thresholds = listOf(
  z.object({
    plan: z.string().describe('`*` for plans without thresholds of their own'),
    thresholds: z.array(z.int()).nullable().describe('Null if they were edited into something else'),
  }),
);

/** Thresholds of plans. Those of a customer are a part of it. */
export const thresholdsRoutes = [
  route.get('/thresholds', {
    operationId: 'listThresholds',
    noun: 'webhooks',
    summary: 'At which shares of the day and month limits of a plan there is an event',
    responds: 'Plans with thresholds of their own, and those of all others',
    result: thresholds,
    handle: async (_call, { read }) => ({
      items: (await read(listPlanThresholds)).map(copied),
      next: null,
    }),
  }),
  route.put('/thresholds/:plan', {
    operationId: 'setThresholds',
    noun: 'webhooks',
    summary: 'Set the thresholds of a plan, or of all plans without their own: *',
    input: z.strictObject({ thresholds: thresholdsInput.nullable().describe('Null removes them') }),
    responds: 'All thresholds after the change',
    result: changed(thresholds).meta({ id: 'ChangedThresholds' }),
    handle: async ({ req, target, input }, { change }) => {
      const { result, warnings } = await change(req, (session) =>
        setPlanThresholds(session, target, input.thresholds),
      );
      return { items: result.map(copied), next: null, warnings };
    },
  }),
];

const copied = <Row extends { thresholds: readonly number[] | null }>({ thresholds, ...row }: Row) => ({
  ...row,
  thresholds: thresholds && [...thresholds],
});
