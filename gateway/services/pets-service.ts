import { readFileSync } from 'node:fs';
import type { DescriptionText } from '../config/service-config.ts';

/** The service behind a gateway without SERVICES_FILE. */
export const petsServiceName = 'pets-service';

export function petsDescription(): DescriptionText {
  return { file: 'pets.yaml', text: readFileSync(new URL('pets.yaml', import.meta.url), 'utf8') };
}
