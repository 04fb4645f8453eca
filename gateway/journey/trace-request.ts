import type { RequestHandler } from 'express';
import { addressGroup } from '../http/address-group.ts';
import { peerAddress } from '../http/peer-address.ts';
import type { RequestSpans } from '../observability/request-spans.ts';
import { clientAddress } from './request-context.ts';

interface TraceRequestDependencies {
  /** Undefined if no traces are exported. */
  spans: RequestSpans | undefined;
  /** Whether an address belongs to a trusted proxy. */
  isProxy: (address: string) => boolean;
}

/** Records the span of each request. No step at all if no traces are exported. */
export function traceRequest({ spans, isProxy }: TraceRequestDependencies): RequestHandler[] {
  if (spans === undefined) return [];
  return [
    function traceRequest(req, res, next) {
      const { requestId, route } = res.locals;
      const span = spans.startRequest({
        req,
        path: req.path,
        route: route?.pattern,
        service: route?.service?.name,
        scheme: req.protocol,
        requestId,
        clientAddress: () => addressGroup(clientAddress(req)),
        peerIsTrusted: isProxy(peerAddress(req)),
      });
      res.locals.span = span;
      res.on('close', () => {
        const { caller, decision, errorCode } = res.locals;
        spans.endRequest(span, res, { caller, decision, errorCode });
      });
      spans.run(span, next);
    },
  ];
}
