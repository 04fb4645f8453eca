import { IncomingMessage, ServerResponse, type ServerOptions } from 'node:http';
import type { Express } from 'express';

export interface MessageClasses {
  /** For Node's HTTP server. */
  classes: Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'>;
  /** From here on what is made of them belongs to the app. */
  adoptBy(app: Express): void;
}

/**
 * What Node's HTTP server is to make its requests and responses of, so that they are those of the Express app from the
 * start. Express gives each of them its prototypes otherwise, and V8 then looks up every property of theirs anew. The
 * gateway has the like; they share no code, and here the server is there before the app.
 */
export function createMessageClasses(): MessageClasses {
  class ExpressRequest extends IncomingMessage {}
  class ExpressResponse<Request extends IncomingMessage> extends ServerResponse<Request> {}
  return {
    classes: { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse },
    adoptBy(app) {
      const prototypes = { request: ExpressRequest.prototype, response: ExpressResponse.prototype };
      Object.setPrototypeOf(prototypes.request, app.request);
      Object.setPrototypeOf(prototypes.response, app.response);
      Object.assign(app, prototypes);
    },
  };
}
