import { nextCursor, type ClientApi, type ClientOptions, type NewPet, type Result } from './client-api.ts';
import { fetchWithStringIds } from './fetch-with-string-ids.ts';
import { Api, type HttpResponse } from './generated/client.ts';

export function createApi({ url, key }: ClientOptions): ClientApi {
  const { pets } = new Api({
    baseUrl: url,
    baseApiParams: { headers: { Authorization: `Bearer ${key}` } },
    customFetch: fetchWithStringIds,
  });
  return {
    async list(query) {
      const result = await settle(pets.listPets(query));
      if ('error' in result) return result;
      const { status, data, headers } = result;
      return { status, data: { pets: data, next: nextCursor(headers) } };
    },
    create(pet: NewPet, idempotencyKey) {
      const headers: Record<string, string> =
        idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey };
      return settle(pets.createPet(pet, { headers }));
    },
    get: (petId) => settle(pets.getPet(petId)),
  };
}

/** The generated functions throw the response of a refused request. */
async function settle<T>(
  request: Promise<HttpResponse<T, { code: string }>>,
): Promise<(Extract<Result<T>, { data: T }> & { headers: Headers }) | Extract<Result<T>, { error: object }>> {
  try {
    const { status, data, headers } = await request;
    return { status, data, headers };
  } catch (thrown) {
    const { status, error } = thrown as HttpResponse<T, { code: string }>;
    return { status, error };
  }
}
