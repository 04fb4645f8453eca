import { readFileSync } from 'node:fs';
import type { ApiConfig, DescriptionText } from '../platform/config/service-config.ts';

/** The service behind a gateway without SERVICES_FILE. */
export const petsServiceName = 'pets-service';

export const petsKeyPrefix = 'pets_';
const petsKeyVariable = 'ANIMAL_STORE_KEY';

export function petsDescription(): DescriptionText {
  return { file: 'pets.yaml', text: readFileSync(new URL('pets.yaml', import.meta.url), 'utf8') };
}

/** The API of the pets service, to which other services may be added. */
export function petsApi({
  keyPrefix = petsKeyPrefix,
  keyVariable = petsKeyVariable,
}: { keyPrefix?: string | undefined; keyVariable?: string | undefined } = {}): ApiConfig {
  const readDocument = (name: string) =>
    // The Dockerfile names the files.
    readFileSync(new URL(name, import.meta.url), 'utf8')
      .replaceAll(petsKeyPrefix, keyPrefix)
      .replaceAll(petsKeyVariable, keyVariable);
  return {
    guide: readDocument('../faces/docs/guide.md'),
    // A document of the repository, whose links lead to other documents of it.
    clients: readDocument('../CLIENTS.md')
      .replaceAll('](faces/docs/guide.md', '](/docs')
      .replaceAll('](CHANGELOG.md', '](/docs/changelog'),
    changelog: readDocument('../CHANGELOG.md'),
    keyPrefix,
    keyVariable,
    productName: 'Animal store gateway',
  };
}
