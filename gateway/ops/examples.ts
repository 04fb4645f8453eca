import type { Command } from 'commander';

const id = 'key_282dd48c706990d481';
const customer = 'cus_282dd48c706990d481';
const webhook = 'wh_282dd48c706990d4';

/** What is typed after `ops`, by the command. */
export const examples: Readonly<Record<string, readonly string[]>> = {
  status: ['status', 'status --json'],
  'customers list': ['customers list --plan pro', 'customers list --output csv > customers.csv'],
  'customers show': [`customers show ${customer}`],
  'customers create': ['customers create --plan pro --name Acme --reference C-4711'],
  'customers set': [
    `customers set ${customer} --plan business`,
    `customers set ${customer} --day 5000 --reason "import of their stock"`,
  ],
  'customers link': [`customers link ${customer}`],
  'customers sign-out': [`customers sign-out ${customer} --reason "a laptop was stolen"`],
  'customers reset-usage': [`customers reset-usage ${customer} --reason "their retry loop, ticket 813"`],
  'customers suspend': [`customers suspend ${customer} --reason "unpaid since May"`],
  'customers resume': [`customers resume ${customer}`],
  'customers remove': [`customers remove ${customer}`],
  'keys issue': [
    'keys issue --plan free --name Acme',
    `keys issue --customer ${customer} --name "Acme, mobile app"`,
    'keys issue --plan enterprise --name Acme --minute 5000 --day 1000000',
  ],
  'keys list': [
    'keys list --plan pro --state valid',
    'keys list --state valid --unused-since 90d',
    'keys list --search acme',
    'keys list --output csv > keys.csv',
  ],
  'keys show': [`keys show ${id}`, 'keys show api_GQ4x'],
  'keys set': [
    `keys set ${id} --plan pro`,
    `keys set ${id} --day 5000 --reason "import of their stock"`,
    `keys set ${id} --minute plan`,
  ],
  'keys rotate': [`keys rotate ${id} --grace 7d`, `keys rotate ${id} --grace 0s`],
  'keys revoke': [`keys revoke ${id} --reason "leaked, ticket 812"`],
  'keys export': ['keys export > keys.jsonl'],
  'keys import': ['keys import keys.jsonl'],
  'usage show': [`usage show ${id}`, `usage show ${id} --days 30`],
  'usage export': ['usage export --from 2026-11-01 --to 2026-11-30 --output csv > use.csv'],
  top: ['top --count 20'],
  'bans list': ['bans list'],
  'bans add': [`bans add ${id} --for 2h --reason "scraping"`],
  'bans lift': [`bans lift ${id}`],
  'plans list': ['plans list'],
  'plans set': ['plans set pro --minute 600', 'plans set gold --create --minute 500 --day 20000'],
  'plans remove': ['plans remove gold'],
  'plans export': ['plans export plans.yaml'],
  'plans diff': ['plans diff plans.yaml'],
  'plans apply': ['plans apply plans.yaml'],
  'policy set': ['policy set --strikes 120 --ban-seconds 30', 'policy set --retention-days 90'],
  'webhooks list': ['webhooks list'],
  'webhooks add': [
    `webhooks add https://example.com/hook --customer ${customer}`,
    'webhooks add https://billing.example.com/usage --types ban.began,plan.changed',
  ],
  'webhooks set': [`webhooks set ${webhook} --off`, `webhooks set ${webhook} --on`],
  'webhooks remove': [`webhooks remove ${webhook}`],
  'webhooks test': [`webhooks test ${webhook}`],
  'webhooks deliveries': [`webhooks deliveries ${webhook}`],
  audit: ['audit --since 2h', `audit --target ${id}`],
  console: ['console', 'console --viewer'],
  'sessions list': ['sessions list'],
  'sessions end': ['sessions end console_5b1f0c9ad2e4', 'sessions end --all'],
  'api-tokens issue': [
    'api-tokens issue --name billing --scopes customers:write,keys:write,links:write,usage:read --expires 90d',
  ],
  'api-tokens list': ['api-tokens list'],
  'api-tokens revoke': ['api-tokens revoke token_5b1f0c9ad2e4'],
  'services check': ['services check services.yaml'],
  'tokens issue': ['tokens issue billing'],
};

/** Ends the help of a command with its examples. @param words that lead to it */
export function addExamples(command: Command, words: readonly string[]): void {
  const lines = examples[words.join(' ')] ?? [];
  if (lines.length === 0) return;
  command.addHelpText('after', `\nExamples:\n${lines.map((line) => `  $ ops ${line}`).join('\n')}`);
}
