/** Size of a request's body, where no setting says another one. */
export const defaultMaxBodyBytes = 1024 * 1024;

/** The largest that a setting may allow. */
export const largestBodyBytes = 999_999_999_999;

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
  /** Size of a request's body. */
  maxBodyBytes: number;
  /** Path that is 503 while an instance is not ready. */
  readiness: string;
  /** Its OpenAPI description; undefined: it is known by its paths only. */
  description: DescriptionText | undefined;
  /** What is under them and not described leads to it, whatever its method. */
  paths: readonly string[];
  /** Whether it has WebSockets under its paths. */
  upgrade?: boolean | undefined;
  /** Whether its responses may set cookies. */
  setCookie?: boolean | undefined;
}

/** An OpenAPI file as it was read at the start, so that a worker that starts later serves the same. */
export interface DescriptionText {
  /** What messages call the file. */
  file: string;
  text: string;
}

/** What the gateway says of the API as a whole. Plain data, too. */
export interface ApiConfig {
  /** Undefined: that of the first description. */
  title?: string | undefined;
  /** Path that the gateway's own operations are under; undefined: that of the first service. */
  basePath?: string | undefined;
  /** Markdown of the guide; undefined: what the gateway itself knows. */
  guide?: string | undefined;
  /** Markdown of further pages of the documentation, which exist only if they have one. */
  clients?: string | undefined;
  changelog?: string | undefined;
  keyPrefix: string;
  /** Header in lower case that may hold the API key as well as Authorization. */
  keyHeader?: string | undefined;
  /** Environment variable that holds the API key in samples. */
  keyVariable: string;
  /** How the customers' page looks; by default the title of the API, and a colour of the gateway's own. */
  portal?: { title?: string | undefined; color?: string | undefined } | undefined;
  /** Name of the gateway in the console. */
  productName: string;
}
