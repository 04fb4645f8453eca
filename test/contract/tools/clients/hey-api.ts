import { nextCursor, type ClientApi, type ClientOptions } from './client-api.ts';
import { fetchWithStringIds } from './fetch-with-string-ids.ts';
import { createClient } from './generated/client/index.ts';
import { createPet, getPet, listPets } from './generated/index.ts';

export function createApi({ url, key }: ClientOptions): ClientApi {
  const client = createClient({ baseUrl: url, auth: key, fetch: fetchWithStringIds });
  return {
    async list(query) {
      const { data, error, response } = await listPets({ client, query });
      const { status, headers } = responseOf(response);
      return data === undefined
        ? { status, error: error ?? { code: '' } }
        : { status, data: { pets: data, next: nextCursor(headers) } };
    },
    async create(body, idempotencyKey) {
      const headers = idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey };
      const { data, error, response } = await createPet({ client, body, headers });
      const { status } = responseOf(response);
      return data === undefined ? { status, error } : { status, data };
    },
    async get(petId) {
      const { data, error, response } = await getPet({ client, path: { petId } });
      const { status } = responseOf(response);
      return data === undefined ? { status, error: error ?? { code: '' } } : { status, data };
    },
  };
}

/** The generated types allow for a request that got no response. */
function responseOf(response: Response | undefined): Response {
  if (response === undefined) throw new Error('no response');
  return response;
}
