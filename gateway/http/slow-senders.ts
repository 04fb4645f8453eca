import type { IncomingMessage } from 'node:http';

/** Of a body, in each timeout. With the default one 2 kB a second: a slower client would occupy its connection for hours. */
const minBytes = 64 * 1024;

/**
 * Watches how a request's body arrives. Node has a timeout for a request as a whole, which would end large uploads.
 * @param onSlow called once, if neither the body is complete nor enough of it has arrived within a timeout
 */
export function watchBody(req: IncomingMessage, timeoutMs: number, onSlow: () => void): void {
  const { socket } = req;
  let before = socket.bytesRead;
  const timer = setInterval(() => {
    // A service that does not read has a timeout of its own.
    const isReading = !req.isPaused() && !socket.isPaused();
    if (isReading && !req.complete && socket.bytesRead - before < minBytes) {
      clearInterval(timer);
      onSlow();
    }
    before = socket.bytesRead;
  }, timeoutMs);
  req.once('close', () => clearInterval(timer));
}
