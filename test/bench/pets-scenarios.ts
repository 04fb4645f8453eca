import { formatCursor, type NewPet } from '../../pets-service/pets/pet.ts';

/** Call that the service and Prisma both execute. */
export type PetsCall =
  | { kind: 'list'; limit: number; status?: NewPet['status']; after?: number }
  | { kind: 'list-random-page'; limit: number; upTo: number }
  | { kind: 'get'; upTo: number }
  | { kind: 'create' };

export const newPet: NewPet = { name: 'Luna', categoryId: 7n, status: 'available' };

/** Returns Lua for wrk that sends the call as an HTTP request. */
export function requestScript(call: PetsCall, token: string): string {
  const headers = `authorization = 'Bearer ${token}'`;
  switch (call.kind) {
    case 'list': {
      const { limit, status, after } = call;
      const query = new URLSearchParams({ limit: String(limit) });
      if (status !== undefined) query.set('status', status);
      if (after !== undefined) query.set('cursor', formatCursor(BigInt(after)));
      return `local request_text
function init() request_text = wrk.format('GET', '/v1/pets?${query.toString()}', { ${headers} }) end
function request() return request_text end`;
    }
    case 'list-random-page': {
      const cursors = Array.from({ length: randomPageCount }, () => `'${formatCursor(randomId(call))}'`);
      return `local headers, cursors = { ${headers} }, { ${cursors.join(', ')} }
function request()
  return wrk.format('GET', '/v1/pets?limit=${call.limit}&cursor=' .. cursors[math.random(#cursors)], headers)
end`;
    }
    case 'get':
      return `local headers = { ${headers} }
function request() return wrk.format('GET', '/v1/pets/' .. math.random(${call.upTo}), headers) end`;
    case 'create': {
      const body = JSON.stringify({ ...newPet, categoryId: Number(newPet.categoryId) });
      return `local request_text
function init()
  request_text = wrk.format('POST', '/v1/pets', { ${headers}, ['content-type'] = 'application/json' }, '${body}')
end
function request() return request_text end`;
    }
  }
}

/** Enough pages that concurrent requests rarely ask for the same one. */
const randomPageCount = 2000;

export const randomId = ({ upTo }: { upTo: number }): bigint => BigInt(1 + Math.floor(Math.random() * upTo));

/** Refused and failed requests are fast, so every response must have this status. */
export const expectedStatus = ({ kind }: PetsCall): string => (kind === 'create' ? '201' : '200');
