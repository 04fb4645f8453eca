import type { Request } from 'express';

/** Origin of the page itself if it is reached without a proxy; undefined without a valid Host. */
export function directOrigin({ headers }: Pick<Request, 'headers'>): string | undefined {
  const { host } = headers;
  if (host === undefined || /[/?#@\\\s]/.test(host)) return undefined;
  return URL.parse(`http://${host}`)?.origin;
}

/** Whether the request comes from a page at ADMIN_URL, behind the proxy that ends TLS. Browsers set Origin on every POST. */
export function isFromAdminUrl({ headers }: Pick<Request, 'headers'>, adminUrl: string | undefined): boolean {
  return adminUrl !== undefined && headers.origin === adminUrl;
}
