import type { ZodError } from 'zod';

/** What is wrong with a value, fault by fault, each beginning with the field. */
export function faultsOf(error: ZodError): string[] {
  return error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`.trim());
}
