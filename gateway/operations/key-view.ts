import { z } from 'zod';
import { apiKeyState, type ApiKeyRecord, type OwnFields } from '../api-keys/api-key-record.ts';
import type { Limits } from '../limits/limits.ts';
import { forAll, type WindowName } from '../limits/windows.ts';

export const keyStates = ['valid', 'suspended', 'expired', 'revoked'] as const;

/** Own limits as JSON shows them: null for a window without one. */
export function limitsView(limits: Limits): Record<WindowName, number | null> {
  return forAll((name) => limits[name] ?? null);
}

const textOrNull = z.string().nullable();

/** A key as operators see it. Every field is present, with null for what a key does not have. */
export const keyViewSchema = z.object({
  id: z.string(),
  customerId: z.string().describe('Its customer, whose plan and limits these are'),
  plan: z.string(),
  name: z.string(),
  hint: z.string().describe('First characters of the key'),
  ...forAll(() => z.int().nullable().describe('Own limit; null for that of the plan')),
  state: z.enum(keyStates),
  createdAt: z.string(),
  expiresAt: textOrNull,
  scopes: z.array(z.string()).nullable().describe('Scopes of the operations that it may call; null for all'),
  revokedAt: textOrNull,
  replaces: textOrNull.describe('Id of the key that this one replaces'),
  replacedBy: textOrNull,
  rev: z.int().describe('Raised by every change'),
} satisfies Record<keyof OwnFields, z.ZodType> & Record<string, z.ZodType>);

export type KeyView = z.infer<typeof keyViewSchema>;

export function recordView(record: ApiKeyRecord, nowMs: number): KeyView {
  const { id, customerId, plan, name, hint, createdAt, scopes, rev } = record;
  return {
    id,
    customerId,
    plan,
    name,
    hint,
    ...limitsView(record),
    state: apiKeyState(record, nowMs),
    createdAt,
    expiresAt: record.expiresAt ?? null,
    scopes: scopes === undefined ? null : [...scopes],
    revokedAt: record.revokedAt ?? null,
    replaces: record.replaces ?? null,
    replacedBy: record.replacedBy ?? null,
    rev,
  };
}
