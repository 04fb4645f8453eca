import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readDatabaseUrl } from '../../../prisma/database-url.ts';
import { temporaryDirectory } from '../../support/kits/temporary-directory.ts';

const url = 'postgresql://pets:hunter2@postgres:5432/pets';

test('the address of the database is in the environment or in a file', async () => {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, 'url');
  writeFileSync(path, `${url}\n`);
  expect(readDatabaseUrl({})).toBeUndefined();
  expect(readDatabaseUrl({ DATABASE_URL: '', DATABASE_URL_FILE: '' })).toBeUndefined();
  expect(readDatabaseUrl({ DATABASE_URL: url })).toBe(url);
  expect(readDatabaseUrl({ DATABASE_URL_FILE: path })).toBe(url);
  expect(() => readDatabaseUrl({ DATABASE_URL: url, DATABASE_URL_FILE: path })).toThrow(
    /^DATABASE_URL_FILE and DATABASE_URL are both set: set one$/,
  );
});

test('a file without the address of the database is named, and no password is shown', async () => {
  await using directory = await temporaryDirectory();
  const empty = join(directory.path, 'empty');
  writeFileSync(empty, '\n');
  expect(() => readDatabaseUrl({ DATABASE_URL_FILE: empty })).toThrow(
    `DATABASE_URL_FILE="${empty}" is empty`,
  );
  writeFileSync(empty, `${url}\n${url}\n`);
  expect(() => readDatabaseUrl({ DATABASE_URL_FILE: empty })).toThrow(
    `DATABASE_URL_FILE="${empty}" has more than one line`,
  );
  expect(() => readDatabaseUrl({ DATABASE_URL_FILE: '/missing' })).toThrow(
    `DATABASE_URL_FILE="/missing" can't be read (ENOENT)`,
  );
  expect(() => readDatabaseUrl({ DATABASE_URL_FILE: url })).toThrow(
    /^DATABASE_URL_FILE is a URL: (?!.*hunter2)/,
  );
});
