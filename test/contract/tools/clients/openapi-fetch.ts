import createClient from 'openapi-fetch';
import { nextCursor, type ClientApi, type ClientOptions } from './client-api.ts';
import { fetchWithStringIds } from './fetch-with-string-ids.ts';
import type { paths } from './generated/schema.ts';

export function createApi({ url, key }: ClientOptions): ClientApi {
  const client = createClient<paths>({
    baseUrl: url,
    headers: { Authorization: `Bearer ${key}` },
    fetch: fetchWithStringIds,
  });
  return {
    async list(query) {
      const { data, error, response } = await client.GET('/pets', { params: { query } });
      const { status, headers } = response;
      return data === undefined
        ? { status, error: error ?? { code: '' } }
        : { status, data: { pets: data, next: nextCursor(headers) } };
    },
    async create(body, idempotencyKey) {
      const header = idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey };
      const { data, error, response } = await client.POST('/pets', { params: { header }, body });
      const { status } = response;
      return data === undefined ? { status, error } : { status, data };
    },
    async get(petId) {
      const { data, error, response } = await client.GET('/pets/{petId}', { params: { path: { petId } } });
      const { status } = response;
      return data === undefined ? { status, error: error ?? { code: '' } } : { status, data };
    },
  };
}
