/** Client behaviour, run by wrk. */
export interface Scenario {
  name: string;
  title: string;
  /** Names of contenders; undefined means all, and an empty list that only bench:compare has the scenario. */
  contenders: readonly string[] | undefined;
  /** Returns Lua for wrk. `keys` and `exhausted` are files with one API key per line. */
  script: (files: { hotKey: string; keys: string; exhausted: string; banned: string }) => string;
  /** Expected share of each status in percent. Other shares mean that the scenario did not run as intended. */
  expected: Readonly<Record<string, readonly [from: number, to: number]>>;
}

const readKeys = (file: string, name: string) => `
local ${name} = {}
for line in io.lines('${file}') do ${name}[#${name} + 1] = 'Bearer ' .. line end
`;
const get = (key: string) => `return wrk.format('GET', '/v1/pets?limit=2', { authorization = ${key} })`;
const all200 = { 200: [99.9, 100] } as const;

export const scenarios: readonly Scenario[] = [
  {
    name: 'hot-key',
    title: 'one hot key',
    contenders: undefined,
    script: ({ hotKey }) => `function request() ${get(`'Bearer ${hotKey}'`)} end`,
    expected: all200,
  },
  {
    name: 'many-keys',
    title: '10,000 keys, round-robin',
    contenders: ['direct', 'gateway', 'nginx-lua'],
    script: ({ keys }) => `${readKeys(keys, 'keys')} local turn = 0
function request() turn = turn % #keys + 1 ${get('keys[turn]')} end`,
    expected: all200,
  },
  {
    name: 'refused',
    title: '20 % of requests over their limit',
    contenders: ['gateway'],
    script: ({
      keys,
      exhausted,
    }) => `${readKeys(keys, 'keys')}${readKeys(exhausted, 'exhausted')} local turn = 0
function request()
  turn = turn + 1
  local from = turn % 5 == 0 and exhausted or keys
  ${get('from[turn % #from + 1]')}
end`,
    expected: { 200: [79, 81], 429: [19, 21] },
  },
  {
    name: 'banned',
    title: 'requests from a banned client',
    contenders: ['gateway'],
    script: ({ banned }) => `function request() ${get(`'Bearer ${banned}'`)} end`,
    expected: { 429: [99.9, 100] },
  },
  {
    name: 'forwarded',
    title: 'one hot key, through a load balancer (with the setting TRUST_PROXY)',
    contenders: [],
    script: ({ hotKey }) => `function request()
  return wrk.format('GET', '/v1/pets?limit=2', {
    authorization = 'Bearer ${hotKey}',
    ['x-forwarded-for'] = '203.0.113.7', ['x-forwarded-proto'] = 'https', ['x-forwarded-host'] = 'api.example.com'
  })
end`,
    expected: all200,
  },
];

/** @throws Error if there is no such scenario */
export function scenarioNamed(name: string): Scenario {
  const scenario = scenarios.find((each) => each.name === name);
  if (scenario === undefined) throw new Error(`unknown scenario ${name}`);
  return scenario;
}
