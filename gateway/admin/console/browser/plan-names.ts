import { api } from './api.ts';
import type { KeyPlan, Page } from './responses.ts';

/** Reads the names of the plans that a key can be on. Without them, a form goes on with the plan that it knows. */
export async function fetchPlanNames(): Promise<string[]> {
  const { items } = await api.get<Page<KeyPlan>>('/api/key-plans').catch(() => ({ items: [] }));
  return items.map(({ name }) => name);
}
