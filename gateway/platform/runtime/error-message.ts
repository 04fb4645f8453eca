import { inspect } from 'node:util';
import type { ZodError } from 'zod';

/** Message of anything that was thrown. */
export function errorMessage(error: unknown): string {
  if (error instanceof Error) return error.message;
  return typeof error === 'string' ? error : inspect(error);
}

/** Anything that was thrown, as an error. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** The same text in one line, whatever a library or a value contains. */
export function oneLine(text: string): string {
  const lines = text.split(/[\r\n]/).map((line) => line.trim());
  return lines.filter((line) => line !== '').join(' ');
}

/** Describes what is wrong with a value, one text for each issue, which begins with the field. */
export function describeIssues(error: ZodError): string[] {
  return error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`.trim());
}
