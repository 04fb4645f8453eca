/** Headers of each response that the gateway sets, as the description has them. */
export const ownResponseHeaders = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit-Policy',
  'RateLimit',
  'X-Request-Id',
  'Cache-Control',
  'Content-Security-Policy',
  'X-Content-Type-Options',
];

/** The gateway's own, those of a connection, and those that command a browser or a proxy before the gateway. */
const reservedResponses = new Set([
  ...ownResponseHeaders.map((name) => name.toLowerCase()),
  'x-ratelimit-window',
  'x-ratelimit-ban-after',
  'www-authenticate',
  'date',
  'server',
  'x-powered-by',
  'via',
  'strict-transport-security',
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'set-cookie',
  'set-cookie2',
  'alt-svc',
  'clear-site-data',
  'refresh',
  'service-worker-allowed',
  'nel',
  'report-to',
  'reporting-endpoints',
  'content-security-policy-report-only',
  'age',
  'expires',
  'pragma',
  'cdn-cache-control',
  'surrogate-control',
  'x-sendfile',
  'x-lighttpd-send-file',
  'x-reproxy-url',
]);

/** Whether a service cannot send this header to a client, whatever it describes. */
export function isReservedInResponse(name: string): boolean {
  const lower = name.toLowerCase();
  return reservedResponses.has(lower) || /^(?:proxy-|access-control-|x-accel-|cross-origin-)/.test(lower);
}

/**
 * Those that the gateway sets, those of a connection, and those that a server behind the gateway may take for the method or
 * the path, which the gateway has not checked then.
 */
const reservedRequests = new Set([
  'authorization',
  'cookie',
  'host',
  'x-request-id',
  'forwarded',
  'x-real-ip',
  'x-forwarded',
  'x-client-ip',
  'x-cluster-client-ip',
  'true-client-ip',
  'cf-connecting-ip',
  'fastly-client-ip',
  'expect',
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'content-length',
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-original-url',
  'x-rewrite-url',
  'traceparent',
  'tracestate',
  'baggage',
]);

/** Whether a client cannot send this header to a service, whatever that describes. */
export function isReservedInRequest(name: string): boolean {
  const lower = name.toLowerCase();
  // Many servers read an underscore as a dash.
  return reservedRequests.has(lower) || lower.includes('_') || /^(?:proxy-|x-forwarded-)/.test(lower);
}
