import type { Request } from 'express';
import { invalidText } from '../../control/keys/key-input.ts';
import { ApiError } from './api-error.ts';

const header = 'X-Change-Reason';

/**
 * Why the person makes the change, for the audit log. A header can only have ASCII, so the text is percent-encoded.
 * @throws ApiError bad_request
 */
export function changeReason(req: Pick<Request, 'get'>): string | undefined {
  const encoded = req.get(header) ?? '';
  if (encoded.trim() === '') return undefined;
  const reason = decode(encoded)?.trim();
  const issue = reason === undefined ? 'is not percent-encoded UTF-8' : invalidText(reason);
  if (issue !== undefined) throw new ApiError('bad_request', { message: `${header} ${issue}.` });
  return reason;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
