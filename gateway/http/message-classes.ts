import { IncomingMessage, ServerResponse, type ServerOptions } from 'node:http';
import type { Express } from 'express';

export type MessageClasses = Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'>;

/**
 * What Node's HTTP server is to make its requests and responses of, so that they are those of an Express app from the
 * start. Express gives each of them its prototypes otherwise, and V8 then looks up every property of theirs anew, which
 * takes as long as half of the steps of the journey.
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
