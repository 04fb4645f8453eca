import { isDeepStrictEqual } from 'node:util';
import { Router } from 'express';
import { z } from 'zod';
import { createBanPolicyStore } from '../../operations/ban-policy-store.ts';
import { createPlanStore } from '../../operations/plan-store.ts';
import { anonymousFileSchema } from '../../operations/plans-file-schema.ts';
import { readAnonymousState, readBanPolicyState } from '../../operations/setting-states.ts';
import { banPolicySetting } from '../../quota/ban-policy.ts';
import type { ApiDependencies } from './api-dependencies.ts';
import { expectUnchanged } from './expect-unchanged.ts';
import { usageRetentionApi } from './usage-retention.ts';

/** The policy that the person has seen; null if it was missing or invalid. */
const expectedPolicy = z.strictObject({ expected: banPolicySetting.values.nullable() });
const policyChange = expectedPolicy.extend({ policy: banPolicySetting.values });
const { minute } = anonymousFileSchema.shape;
const anonymous = z.strictObject({
  minute,
  expected: z.strictObject({ minute: minute.nullable() }),
});

/** Settings of the whole fleet. A change is in force on all gateways within a second. */
export function settingsApi({ read, change }: ApiDependencies): Router {
  const router = Router();

  router.get('/settings/ban-policy', async (_req, res) => {
    res.json(await read(readBanPolicyState));
  });

  router.put('/settings/ban-policy', async (req, res) => {
    const { policy, expected } = policyChange.parse(req.body);
    const { result, warnings } = await change(req, (session) =>
      createBanPolicyStore(session).set(policy, expectPolicy(expected)),
    );
    res.json({ policy: result, warnings });
  });

  router.post('/settings/ban-policy/reset', async (req, res) => {
    const { expected } = expectedPolicy.parse(req.body);
    const { result, warnings } = await change(req, (session) =>
      createBanPolicyStore(session).reset(expectPolicy(expected)),
    );
    res.json({ policy: result.after, warnings });
  });

  router.get('/settings/anonymous', async (_req, res) => {
    res.json(await read(readAnonymousState));
  });

  router.put('/settings/anonymous', async (req, res) => {
    const { minute, expected } = anonymous.parse(req.body);
    const { result, warnings } = await change(req, (session) =>
      createPlanStore(session).set('anonymous', { minute }, false, async ({ before }) =>
        expectUnchanged(before.minute === expected.minute, `${before.minute ?? 'invalid'} a minute`),
      ),
    );
    res.json({ minute: result.after.minute, before: result.before.minute, warnings });
  });

  router.use(usageRetentionApi({ read, change }));
  return router;
}

type Policy = z.infer<typeof banPolicySetting.values>;

function expectPolicy(expected: Policy | null): (stored: Policy | null) => void {
  return (stored) => {
    const fields = Object.entries(stored ?? {}).map(([field, value]) => `${field} ${value}`);
    expectUnchanged(isDeepStrictEqual(stored, expected), fields.join(', ') || 'missing or invalid');
  };
}
