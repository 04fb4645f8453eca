import type { LivePoint, LiveState } from './responses.ts';
import { session } from './session.ts';

/** An event of /api/live: points of the last minutes, and the state once a second. */
type LiveEvent = { name: 'history'; content: LivePoint[] } | { name: 'state'; content: LiveState };

const names = ['history', 'state'] as const;
const firstRetryMs = 1000;
const maxRetryMs = 5000;

const listeners: Set<(event: LiveEvent) => void> = new Set();
const connectionListeners: Set<() => void> = new Set();
/** The newest event of each name, for those who come later. */
const latest: Map<string, LiveEvent> = new Map();
let source: EventSource | undefined;
let retryTimer: ReturnType<typeof setTimeout> | undefined;
let retryMs = firstRetryMs;
let started = false;
let connected = false;

/** One stream of events for all of this tab. It is closed while the tab is hidden: a browser has few connections. */
export const live = {
  get isConnected() {
    return connected;
  },

  /** To be called once, when there is a session. */
  start() {
    if (started) return;
    started = true;
    document.addEventListener('visibilitychange', () => (document.hidden ? disconnect() : connect()));
    // After the person has closed the dialog, and has signed in later.
    session.subscribe(() => {
      if (!session.isAsking && !session.hasGivenUp) connect();
    });
    addEventListener('pagehide', disconnect);
    addEventListener('pageshow', connect);
    connect();
  },

  /**
   * @param listener gets the newest event of each name at once
   * @returns ends it
   */
  subscribe(listener: (event: LiveEvent) => void): () => void {
    listeners.add(listener);
    for (const event of latest.values()) listener(event);
    return () => listeners.delete(listener);
  },

  /**
   * @param listener called when the connection is lost or made
   * @returns ends it
   */
  onConnection(listener: () => void): () => void {
    connectionListeners.add(listener);
    return () => connectionListeners.delete(listener);
  },
};

function connect() {
  if (source !== undefined || document.hidden) return;
  clearTimeout(retryTimer);
  const opened = new EventSource('/api/live');
  source = opened;
  opened.addEventListener('open', () => {
    retryMs = firstRetryMs;
    setConnected(true);
  });
  opened.addEventListener('error', () => {
    // Not the browser's own retries: some give up, and none asks whether the session has ended.
    disconnect();
    setConnected(false);
    retryTimer = setTimeout(() => void reconnect(), retryMs);
    retryMs = Math.min(2 * retryMs, maxRetryMs);
  });
  for (const name of names) {
    opened.addEventListener(name, (message) => {
      const event = { name, content: JSON.parse(message.data) };
      latest.set(name, event);
      for (const listener of listeners) listener(event);
    });
  }
}

function disconnect() {
  clearTimeout(retryTimer);
  source?.close();
  source = undefined;
}

async function reconnect() {
  // It connects when there is a session again.
  if (session.hasGivenUp) return;
  const response = await fetch('/api/session').catch(() => undefined);
  if (response?.status === 401 && (session.hasGivenUp || !(await session.signInAgain()))) return;
  connect();
}

function setConnected(value: boolean) {
  if (connected === value) return;
  connected = value;
  for (const listener of connectionListeners) listener();
}
