import type { Page } from 'playwright-core';
import { beforeEach, describe, expect, test } from 'vitest';
import { createConsoleSessions } from '../../gateway/control/access/console-sessions.ts';
import { readAudit } from '../../gateway/control/audit/audit-log.ts';
import { expectAccessible } from '../support/checks/console-page.ts';
import { tabTo } from '../support/checks/keyboard.ts';
import { startConsole } from '../support/kits/console-kit.ts';
import { sessionOf } from '../support/kits/keys.ts';
import { shared } from '../support/kits/shared.ts';

describe('the page of sessions', { tags: ['chromium'], timeout: 120_000 }, () => {
  const started = shared(startConsole);

  const sessions = () => createConsoleSessions(sessionOf(started.kit.redis));
  beforeEach(() => sessions().endAll());

  const rowOf = (page: Page, name: string) => page.getByRole('row', { name: new RegExp(`^${name}`) });
  const lastEntries = async (count: number) => readAudit(started.kit.redis, count);

  test('lists who is signed in, and an operator ends one session, with the keyboard alone', async () => {
    const grace = await started.signIn({ name: 'Grace', role: 'viewer' });
    const { page } = await started.open('/console', { name: 'Ada' });
    await page.locator('[popovertarget=session-menu]').focus();
    await page.keyboard.press('Enter');
    await tabTo(page, 'Who is signed in');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Sessions' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/console/sessions');
    await expect
      .poll(() => rowOf(page, 'Grace').textContent())
      .toMatch(/viewer\s+.*(?:second|now).*Grace\s+in 11 hours/s);
    expect(await rowOf(page, 'Ada').textContent()).toMatch(/Ada\s+this session\s+operator/);
    await expectAccessible(page, 'sessions');

    await tabTo(page, 'End…');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'End the session of Grace?' }).waitFor();
    await tabTo(page, 'End the session');
    await page.keyboard.press('Enter');
    await page.getByText('Grace is signed out.').waitFor();
    await rowOf(page, 'Grace').waitFor({ state: 'detached' });
    expect((await grace.send('GET', '/api/session')).status).toBe(401);
    expect(await lastEntries(1)).toMatchObject([
      { who: 'Ada', action: 'console.end', before: { name: 'Grace', role: 'viewer' } },
    ]);
  });
});
