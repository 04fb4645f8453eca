import { IncomingMessage, ServerResponse } from 'node:http';
import type { Express } from 'express';

export interface MessageClasses {
  IncomingMessage: typeof IncomingMessage;
  ServerResponse: typeof ServerResponse;
}

/**
 * Classes for Node's HTTP server, whose objects have the prototypes of the Express app from the start. Express otherwise
 * replaces the prototypes of each request and response, after which V8 looks up all their properties again: as much time
 * as half of the journey's steps.
 */
export function createMessageClasses(app: Express): MessageClasses {
  class ExpressRequest extends IncomingMessage {}
  class ExpressResponse<Request extends IncomingMessage> extends ServerResponse<Request> {}
  const prototypes = { request: ExpressRequest.prototype, response: ExpressResponse.prototype };
  Object.setPrototypeOf(prototypes.request, app.request);
  Object.setPrototypeOf(prototypes.response, app.response);
  Object.assign(app, prototypes);
  return { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse };
}
