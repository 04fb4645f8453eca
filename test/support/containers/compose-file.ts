import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

export interface ComposeService {
  image?: string;
  user?: string;
  build?: { dockerfile: string; args: Record<string, string> };
  command?: string[];
  environment?: Record<string, string>;
  secrets?: string[];
  networks: string[];
  volumes?: string[];
  ports?: string[];
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: { test: string[] };
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  logging?: { options: Record<string, string> };
  cpus?: number;
  mem_limit?: string;
  pids_limit?: number;
  stop_grace_period?: string;
}

interface ComposeFile {
  services: Record<string, ComposeService>;
  networks: Record<string, { internal?: boolean } | null>;
  secrets: Record<string, { file: string }>;
}

export const composeFile = parse(
  readFileSync(new URL('../../../docker-compose.yml', import.meta.url), 'utf8'),
  { merge: true },
) as ComposeFile;

export function composeService(name: string): ComposeService {
  const found = composeFile.services[name];
  if (found === undefined) throw new Error(`docker-compose.yml has no service ${name}`);
  return found;
}
