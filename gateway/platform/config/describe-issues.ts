import type { ZodError } from 'zod';

/** Describes what is wrong with a value, one text for each issue, which begins with the field. */
export function describeIssues(error: ZodError): string[] {
  return error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`.trim());
}
