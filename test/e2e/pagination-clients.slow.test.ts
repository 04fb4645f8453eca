import { Octokit } from '@octokit/core';
import { paginateRest } from '@octokit/plugin-paginate-rest';
import axios from 'axios';
import got from 'got';
import ky from 'ky';
import parseLinkHeader from 'parse-link-header';
import { beforeAll, expect, test } from 'vitest';
import { postJson } from '../support/http/http.ts';
import { startBothServices } from '../support/kits/both-services.ts';
import { shared } from '../support/kits/shared.ts';

interface Pet {
  id: number;
}

let firstPage: string;
let authorization: string;
let ids: number[];

const services = shared(startBothServices);
beforeAll(async () => {
  const pets = `${services.gateway.url}/v1/pets`;
  firstPage = `${pets}?limit=4&status=pending`;
  authorization = `Bearer ${services.key}`;
  const created: number[] = [];
  for (let index = 0; index < 14; index += 1) {
    const { json } = await postJson(pets, services.key, { name: 'Rex', categoryId: 1, status: 'pending' });
    created.push((json as Pet).id);
  }
  const bubbles = 3;
  ids = [bubbles, ...created];
});

/** Four pages of at most four pets. */
const expectEachOnce = (pets: Pet[]) => expect(pets.map(({ id }) => id)).toEqual(ids);

/** Gets pages until one has no next link. */
async function followLinks(
  get: (url: string) => Promise<{ pets: Pet[]; link: string | null }>,
): Promise<void> {
  const found: Pet[] = [];
  let url: string | undefined = firstPage;
  while (url !== undefined) {
    const { pets, link } = await get(url);
    found.push(...pets);
    url = parseLinkHeader(link)?.['next']?.url;
  }
  expectEachOnce(found);
}

test('got.paginate gets every pet once', async () => {
  const headers = { authorization };
  expectEachOnce(await got.paginate.all<Pet>(firstPage, { headers, responseType: 'json' }));
});

test('octokit.paginate gets every pet once', async () => {
  const octokit = new (Octokit.plugin(paginateRest))({ baseUrl: services.gateway.url });
  const options = { limit: 4, status: 'pending', headers: { authorization } };
  expectEachOnce(await octokit.paginate<Pet>('GET /v1/pets', options));
});

test('axios with parse-link-header gets every pet once', async () => {
  await followLinks(async (url) => {
    const { data, headers } = await axios.get<Pet[]>(url, { headers: { authorization } });
    return { pets: data, link: String(headers['link'] ?? '') };
  });
});

test('ky with parse-link-header gets every pet once', async () => {
  await followLinks(async (url) => {
    const response = await ky.get(url, { headers: { authorization } });
    return { pets: await response.json<Pet[]>(), link: response.headers.get('link') };
  });
});
