import type { NeighbourParts } from '../app.ts';
import { loadDocs, serveDocs } from '../faces/docs/docs.ts';
import { createPortal } from '../faces/portal/portal.ts';
import type { InstanceConfig } from '../platform/config/instance-config.ts';
import type { Neighbour } from '../request/begin.ts';
import { defaultPortalColor } from '../upstream/services-file-schema.ts';

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
