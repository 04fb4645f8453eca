import { ApiFailure } from '../../admin/console/browser/api-failure.ts';

/** Says to a person why something failed. */
export function failureText(error: unknown): string {
  if (error instanceof ApiFailure) return error.message;
  return `Something went wrong in this page: ${error instanceof Error ? error.message : String(error)}`;
}
