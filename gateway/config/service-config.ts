/** A service behind the gateway, with everything that its file leaves to defaults. Plain data: workers get it in a message. */
export interface ServiceConfig {
  name: string;
  /** Audience of the tokens that the service accepts. */
  audience: string;
  /** Origins of its instances. */
  urls: readonly string[];
  timeoutMs: number;
  /** Connections to each instance. */
  connections: number;
  /** Path that is 503 while an instance is not ready. */
  readiness: string;
  description: DescriptionText;
}

/** An OpenAPI file as it was read at the start, so that a worker that starts later serves the same. */
export interface DescriptionText {
  /** What messages call the file. */
  file: string;
  text: string;
}
