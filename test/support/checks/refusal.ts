import { expect } from 'vitest';
import type { ClientResponse } from '../http/http.ts';

/** Fails unless a response has this status and the body of every error. */
export function expectRefusal(response: ClientResponse, status: number, code: string): void {
  expect(response.json).toEqual({ code, message: expect.any(String) as string, status });
  expect(response.status).toBe(status);
}
