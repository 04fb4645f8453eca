import { notify } from '../../browser/elements/notice.ts';
import { failureText } from '../../browser/elements/page-state.ts';
import { api } from './api.ts';
import type { KeyPlan, Page } from './responses.ts';

/** Plans that a customer can be on. */
export const fetchPlans = async () => (await api.get<Page<KeyPlan>>('/api/key-plans')).items;

/** Reads the plans for a dialog, which is not opened without them. */
export async function withPlans(open: (plans: KeyPlan[]) => void) {
  await fetchPlans().then(open, (error) => notify(failureText(error)));
}

/** Options of a field for a plan. */
export const planOptions = (plans: readonly KeyPlan[]) => plans.map(({ name }) => [name, name] as const);
