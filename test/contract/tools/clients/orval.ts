import { nextCursor, type ClientApi, type ClientOptions, type Result } from './client-api.ts';
import { createPet, getPet, listPets, type Error as ErrorBody } from './generated/client.ts';
import { configure } from './orval-fetch.ts';

export function createApi(options: ClientOptions): ClientApi {
  configure(options);
  return {
    async list(query) {
      const response = await listPets(query);
      if (response.status !== 200) return failure(response);
      const { status, data, headers } = response;
      return { status, data: { pets: data, next: nextCursor(headers) } };
    },
    async create(pet, idempotencyKey) {
      const headers: Record<string, string> =
        idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey };
      const response = await createPet(pet, { headers });
      return response.status === 201 ? response : failure(response);
    },
    async get(petId) {
      const response = await getPet(petId);
      return response.status === 200 ? response : failure(response);
    },
  };
}

function failure({ status, data }: { status: number; data: unknown }): Result<never> {
  return { status, error: data as ErrorBody };
}
