import type { NeighbourParts } from './app.ts';
import type { InstanceConfig } from './config/instance-config.ts';
import { loadDocs, serveDocs } from './docs/docs.ts';
import type { Neighbour } from './journey/answer-without-key.ts';
import { createPortal } from './portal/portal.ts';
import { defaultPortalColor } from './services/services-file-schema.ts';

/** Creates what the public port serves beside the API: the documentation, and the customers' page. */
export function createNeighbours(config: InstanceConfig): (parts: NeighbourParts) => Neighbour[] {
  const { publicUrl, supportUrl } = config;
  return ({ api, ...parts }) => {
    const { title = api.document.title, color = defaultPortalColor } = config.api.portal ?? {};
    const look = { title, color, supportUrl };
    return [
      serveDocs(loadDocs(api, publicUrl, config.api), api),
      createPortal({ ...config, ...parts, scopes: api.access.scopes, look }),
    ];
  };
}
