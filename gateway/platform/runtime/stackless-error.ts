/**
 * An error without a stack trace. Nobody reads the stack of an expected refusal, and capturing it is the largest part of
 * the cost of a refused request (test/bench/README.md).
 */
export class StacklessError extends Error {
  constructor(message: string, options: ErrorOptions = {}) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, options);
    Error.stackTraceLimit = stackTraceLimit;
  }
}
