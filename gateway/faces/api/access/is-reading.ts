import type { Request } from 'express';

/** Whether a request changes nothing (RFC 9110 section 9.2.1, safe methods). */
export function isReading({ method }: Pick<Request, 'method'>): boolean {
  return method === 'GET' || method === 'HEAD';
}
