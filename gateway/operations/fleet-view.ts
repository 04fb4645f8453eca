import type { FleetGateway, FleetProcess } from './fleet-status.ts';

/** A gateway as operators see it. */
export type GatewayView = Omit<FleetGateway, 'processes'> & { processes: ProcessView[] };

/** A process without what the rest of the state of the fleet has of it. */
export type ProcessView = Omit<
  FleetProcess,
  | 'counts'
  | 'keysInUse'
  | 'invalidSettings'
  | 'lostKeys'
  | 'seenAtMs'
  | 'upstreams'
  | 'services'
  | 'earlierLocalModes'
  | 'recent'
> & {
  /** ISO 8601. */
  seenAt: string;
};

export function viewGateway({ processes, ...gateway }: FleetGateway): GatewayView {
  return { ...gateway, processes: processes.map(viewProcess) };
}

function viewProcess(process: FleetProcess): ProcessView {
  const {
    counts: _,
    keysInUse: _k,
    invalidSettings: _i,
    lostKeys: _l,
    upstreams: _u,
    services: _s,
    earlierLocalModes: _e,
    recent: _r,
    seenAtMs,
    ...shown
  } = process;
  return { ...shown, seenAt: new Date(seenAtMs).toISOString() };
}
