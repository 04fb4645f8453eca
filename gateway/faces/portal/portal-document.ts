import { describeApi } from '../api/document.ts';
import { portalRoutes } from './portal-routes.ts';
import { portalSessionRoutes } from './portal-session-routes.ts';

export const portalApiPath = '/portal/api';

const description = `What the page /portal shows and does for one customer, for those who build a page of their own.

A link that works once, from \`POST /api/customers/{customer}/link\` of the operators' API, \`ops customers link\` or the console,
has a code behind \`#code=\`. \`POST /portal/api/session\` exchanges it for a session of an hour, whose cookie every other call needs.
A change needs two headers as well: \`Origin\`, with the address of the gateway itself, and \`X-CSRF-Token\`.
Another customer's keys are as unknown as those that do not exist.
`;

/** Builds the OpenAPI document of the portal's API from its routes. @param title of the API whose customers use the portal */
export function describePortal(title: string): object {
  return describeApi([...portalSessionRoutes, ...portalRoutes], {
    info: { title: `Portal of the ${title}`, version: '1.0.0', description },
    basePath: portalApiPath,
    hasTokens: false,
    cookie: {
      name: 'portal-session',
      description: 'With https: `__Host-portal-session`. Otherwise the name ends with the port.',
    },
  });
}
