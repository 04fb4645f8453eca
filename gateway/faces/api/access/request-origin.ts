import type { Request } from 'express';

/** Whether the console is reached only at ADMIN_URL, behind a proxy that ends TLS. */
export function isHttpsOnly(adminUrl: string | undefined): adminUrl is string {
  return adminUrl?.startsWith('https:') === true;
}

/** Origin of the page itself if it is reached without a proxy; undefined without a valid Host. */
export function directOrigin({ headers }: Pick<Request, 'headers'>): string | undefined {
  const { host } = headers;
  if (host === undefined || /[/?#@\\\s]/.test(host)) return undefined;
  return URL.parse(`http://${host}`)?.origin;
}
