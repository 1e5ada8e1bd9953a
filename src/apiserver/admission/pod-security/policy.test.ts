import { describe, expect, test } from 'vitest';

import {
  compareLevels,
  equivalentPolicies,
  levelVersionText,
  MODES,
  type Policy,
  policyOf,
  PRIVILEGED_POLICY,
} from './policy.ts';

const PREFIX = 'pod-security.kubernetes.io/';
const labels = (short: Record<string, string>) =>
  Object.fromEntries(Object.entries(short).map(([key, value]) => [PREFIX + key, value]));
const text = (policy: Policy) => MODES.map((mode) => levelVersionText(policy[mode])).join(' ');
const parsed = (short: Record<string, string>, defaults = PRIVILEGED_POLICY) => {
  const { policy, errors } = policyOf(labels(short), defaults);
  return [text(policy), ...errors.map(({ message }) => message)];
};
const problem = (label: string, value: string, detail: string) =>
  `metadata.labels[${PREFIX}${label}]: Invalid value: "${value}": ${detail}`;
const NO_LEVEL = 'must be one of privileged, baseline, restricted';
const NO_VERSION = 'must be "latest" or "v1.x"';

const STRICT: Policy = {
  enforce: { level: 'baseline', version: 'v1.20' },
  audit: { level: 'restricted', version: 'v1.21' },
  warn: { level: 'restricted', version: 'v1.22' },
};

describe('the policy of labels', () => {
  test.each<[Record<string, string>, string]>([
    [{}, 'privileged:latest privileged:latest privileged:latest'],
    [{ enforce: 'baseline' }, 'baseline:latest privileged:latest baseline:latest'],
    [
      { enforce: 'baseline', 'enforce-version': 'v1.25' },
      'baseline:v1.25 privileged:latest baseline:v1.25',
    ],
    [
      { enforce: 'restricted', 'enforce-version': 'v1.25', 'warn-version': 'v1.0' },
      'restricted:v1.25 privileged:latest restricted:v1.0',
    ],
    [
      { enforce: 'restricted', warn: 'baseline' },
      'restricted:latest privileged:latest baseline:latest',
    ],
    [
      { enforce: 'restricted', warn: 'privileged' },
      'restricted:latest privileged:latest privileged:latest',
    ],
    [
      { 'enforce-version': 'v1.3', audit: 'baseline' },
      'privileged:v1.3 baseline:latest privileged:latest',
    ],
    [
      { warn: 'restricted', 'warn-version': 'latest' },
      'privileged:latest privileged:latest restricted:latest',
    ],
    [
      { enforce: 'baseline', 'enforce-version': 'v1.4711' },
      'baseline:v1.4711 privileged:latest baseline:v1.4711',
    ],
  ])('%j', (short, policy) => {
    expect(parsed(short)).toEqual([policy]);
  });

  test('missing labels mean the default', () => {
    expect(parsed({}, STRICT)).toEqual(['baseline:v1.20 restricted:v1.21 restricted:v1.22']);
    expect(parsed({ enforce: 'restricted' }, STRICT)).toEqual([
      'restricted:v1.20 restricted:v1.21 restricted:v1.22',
    ]);
    expect(parsed({ enforce: 'privileged' }, STRICT)).toEqual([
      'privileged:v1.20 restricted:v1.21 restricted:v1.22',
    ]);
  });

  test.each<[Record<string, string>, string, string[]]>([
    [
      { enforce: 'Baseline' },
      'restricted:latest privileged:latest privileged:latest',
      [problem('enforce', 'Baseline', NO_LEVEL)],
    ],
    [
      { audit: '', warn: 'x' },
      'privileged:latest privileged:latest privileged:latest',
      [problem('audit', '', NO_LEVEL), problem('warn', 'x', NO_LEVEL)],
    ],
    [
      {
        enforce: 'baseline',
        'enforce-version': '1.25',
        'audit-version': 'v1.01',
        'warn-version': 'v2.0',
      },
      'baseline:latest privileged:latest baseline:latest',
      [
        problem('enforce-version', '1.25', NO_VERSION),
        problem('audit-version', 'v1.01', NO_VERSION),
        problem('warn-version', 'v2.0', NO_VERSION),
      ],
    ],
    [
      { 'enforce-version': 'v1.9223372036854775808' },
      'privileged:latest privileged:latest privileged:latest',
      [problem('enforce-version', 'v1.9223372036854775808', NO_VERSION)],
    ],
  ])('%j is wrong', (short, policy, problems) => {
    expect(parsed(short)).toEqual([policy, ...problems]);
  });
});

test('levels are ordered', () => {
  expect(compareLevels('privileged', 'baseline')).toBeLessThan(0);
  expect(compareLevels('restricted', 'baseline')).toBeGreaterThan(0);
  expect(compareLevels('baseline', 'baseline')).toBe(0);
});

test('privileged is the same in all versions, other levels are not', () => {
  const old: Policy = { ...PRIVILEGED_POLICY, warn: { level: 'privileged', version: 'v1.0' } };
  expect(equivalentPolicies(PRIVILEGED_POLICY, old)).toBe(true);
  expect(
    equivalentPolicies(STRICT, { ...STRICT, warn: { level: 'restricted', version: 'v1.23' } }),
  ).toBe(false);
});
